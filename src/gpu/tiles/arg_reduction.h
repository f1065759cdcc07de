// Reductions that pick one pair of a number and its index: argmax and argmin, and what libraries write for them. Any order of lanes gives
// their answer, so threads need not carry pairs from lane to lane: the best number of a warp first, then the best index of those that hold
// it.
//   wins = v1 > v2 or (v1 == v2 and i1 < i2);   return where(wins, v1, v2), where(wins, i1, i2)     -> the largest, the first of equal ones
#pragma once

#include "ir/tt.h"

#include <optional>

namespace tilewright::gpu {

struct ArgReduction {
  bool largest = true;        ///< of the numbers; otherwise the smallest
  bool isNanBest = false;     ///< a NaN is picked before every number; otherwise where there is nothing else
  bool firstIndex = true;     ///< of equal numbers the smallest index; otherwise the largest
  bool unsignedValue = false; ///< how integers are compared
  bool unsignedIndex = false;
  /// Whether the region itself gives the same answer for the same two pairs in either order.
  bool isSymmetric = true;
};

/// What the reduction picks. Its region may only compare, and choose among its arguments; then its answer for two pairs follows from how
/// the numbers and the indices compare, and all these cases are tried. Where the answer depends on the order of the two pairs (of equal
/// numbers, or with a NaN), either is right. Nothing if it is another reduction, or of other types than f16, f32 or at most i32, and i32.
std::optional<ArgReduction> argReduction(tt::ReduceOp op);

} // namespace tilewright::gpu
