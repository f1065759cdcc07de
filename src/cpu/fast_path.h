// Quotients and exponentials of f32 need fewer operations if nothing underflows or overflows. All bodies of an unrolled loop share one
// range check: one or two operations per vector, and one branch.
//
//   before: a = exp(x0), b = exp(x1), c = exp(x2), d = exp(x3)
//   after:  if every lane of x0, x1, x2, x3 is in range: a, b, c, d by the fast path
//           else: by the slow path
//
// Both paths return the same bits, so no result depends on adjacent elements.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// Computes the operations in `tile` that have a fast path, at all indices; evaluate() then finds the results. Does nothing if the fast
/// path does not pay off on this CPU.
void evaluateFastPaths(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices);

} // namespace tilewright::cpu
