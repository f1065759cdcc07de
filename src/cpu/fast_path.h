// Quotients and exponentials of f32 take fewer operations where nothing underflows or overflows. The bodies of an unrolled loop are
// asked together whether something does: one or two operations a vector, and one branch.
//
//   before: a = exp(x0), b = exp(x1), c = exp(x2), d = exp(x3)
//   after:  if every lane of x0, x1, x2, x3 is in range: a, b, c, d by the short form
//           else: by the long form
//
// Both give the same bits, so no result depends on its neighbors.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// Computes the operations in `tile` that have a short form, at all places; evaluate() then finds them there. Does
/// nothing where a short form does not pay on this processor.
void evaluateFastPaths(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices);

} // namespace tilewright::cpu
