// Reductions that select one pair of a value and its index: argmax, argmin and their equivalents in user libraries. The order of lanes does
// not change their result, so threads need not exchange pairs. A warp reduces the values first, then the indices of the lanes that hold the
// best value.
//   wins = v1 > v2 or (v1 == v2 and i1 < i2);   return where(wins, v1, v2), where(wins, i1, i2)     -> the largest, the first of equal ones
#pragma once

#include "ir/tt.h"

#include <optional>

namespace tilewright::gpu {

struct ArgReduction {
  bool largest = true;        ///< true: selects the largest value; false: the smallest
  bool isNanBest = false;     ///< true: a NaN wins against every number; false: it loses
  bool firstIndex = true;     ///< true: the smallest index of equal values wins; false: the largest
  bool unsignedValue = false; ///< compares integer values as unsigned
  bool unsignedIndex = false;
  /// True if the region gives the same answer for the same two pairs in either order.
  bool isSymmetric = true;
};

/// Returns which pair the reduction selects. Its region may only compare its arguments and choose among them. So its answer for two pairs
/// follows from how the values and the indices compare, and this function tries all these cases. If the answer depends on the order of the
/// two pairs (equal values, or a NaN), either is valid. Returns nothing for other reductions. Supported types are f16, f32 and integers of
/// at most 32 bits for values, and i32 for indices.
std::optional<ArgReduction> argReduction(tt::ReduceOp op);

} // namespace tilewright::gpu
