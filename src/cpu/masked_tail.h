// Elements of a row that lie beyond all masks.
//
//   %x = tt.load %p, %offsets < %n, -inf       1025 elements of a block of 2048
//   %e = math.exp (%x - %max)
//   %s = tt.reduce %e                          the last 1023 elements are one and the same number, here 0
//
// Masked-off loads give `other`, and what is computed from them is one number for all such elements. A reduction for which one of
// them is as good as many (a maximum; a sum of zeros) need not visit them: one element more than a block costs one vector more.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// The masks that decide from where on along an axis the elements of a tile are all equal.
struct MaskedTail {
  llvm::SmallVector<Value> masks; // each has a bound along the axis
};

/// Whether the elements of `tile` are equal along `axis` wherever all the masks are false.
std::optional<MaskedTail> maskedTail(Context &ctx, Value tile, int64_t axis);
/// From this index of the axis on (i64), no mask of the tail holds.
Value beginOfTail(Context &ctx, const MaskedTail &tail, int64_t axis, int64_t size);

} // namespace tilewright::cpu
