// The first operand in registers, by halves of its rows: two MMAs of half as many rows, of which one runs while the other one's rows are
// dequantized.
//   before: dequantize all rows    store    fence    start the MMA    wait
//   after:  dequantize rows 0    start MMA 0    wait for the last MMA 1    dequantize rows 1    start MMA 1    wait for MMA 0
#pragma once

#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/schedule/dequantize/relayout.h"

namespace tilewright::gpu {

/// Splits the candidate's MMA, and erases the buffer of its first operand. `layout`: in which the consumers compute that operand.
/// `evenOddInterleave`: the order of K in their registers (k_order.h). Replaces the candidate's loop.
void multiplyByHalves(DequantizeCandidate &candidate, Relayout &byConsumers, const Layout &layout, bool evenOddInterleave);

} // namespace tilewright::gpu
