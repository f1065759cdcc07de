// What lies beyond all masks of a row.
//
//   %x = tt.load %p, %offsets < %n, -inf       1025 elements of a block of 2048
//   %e = math.exp (%x - %max)
//   %s = tt.reduce %e                          the last 1023 elements are one and the same number, here 0
//
// Where loads are masked away they give `other`, and what is computed from them is the same for all such elements. A reduction for which
// one of them is as good as many (a maximum; a sum of zeros) need not walk over them: one element more than a block costs one vector more.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// The masks that decide where along an axis the elements of a tile become all the same.
struct MaskedTail {
  llvm::SmallVector<Value> masks; // each has a bound along the axis
};

/// Whether the elements of `tile` are equal along `axis` wherever all the masks are false.
std::optional<MaskedTail> maskedTail(Context &ctx, Value tile, int64_t axis);
/// From this index of the axis on (i64) no mask of the tail holds.
Value beginOfTail(Context &ctx, const MaskedTail &tail, int64_t axis, int64_t size);

} // namespace tilewright::cpu
