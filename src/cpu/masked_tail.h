// Skips the elements of a row that all masks exclude.
//
//   %x = tt.load %p, %offsets < %n, -inf       1025 elements of a block of 2048
//   %e = math.exp (%x - %max)
//   %s = tt.reduce %e                          the last 1023 elements are equal, here 0
//
// Masked-off loads return `other`, so all elements computed from them are equal. A reduction that needs only one of them (a maximum; a sum
// of zeros) skips the rest: one element more than a block costs one more vector.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// The masks that decide from which index of an axis on the elements of a tile are all equal.
struct MaskedTail {
  llvm::SmallVector<Value> masks; // each has a bound along the axis
};

/// Returns the masks such that the elements of `tile` are equal along `axis` wherever all of them are false.
std::optional<MaskedTail> maskedTail(Context &ctx, Value tile, int64_t axis);
/// Returns the index of the axis (i64) from which on no mask of the tail holds.
Value beginOfTail(Context &ctx, const MaskedTail &tail, int64_t axis, int64_t size);

} // namespace tilewright::cpu
