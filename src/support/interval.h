// Intervals of integers, and computations with them. The index analysis (ir/address) builds a computation for a number. It is evaluated
// with what the compiler knows about all launches, which proves bounds of the number, and with the values of one launch, as a launch guard.
//
// The numbers have no width and never wrap around. So an interval within the range of a type shows that the arithmetic of that type is
// exact. llvm::ConstantRange has one width for all its numbers and wraps around; besides, the runtime library is built without LLVM.
//
// Divisions by 0 are those of the language (docs/language.md): the quotient is -1 and the remainder is the dividend.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>

namespace tilewright {

/// All integers from `min` to `max`. A minimum of -infinity, or a maximum of infinity, is no bound. All other ends are bounds, also a
/// minimum of infinity.
struct Interval {
  __extension__ typedef __int128 Wide;
  /// Larger than a product of two 32-bit numbers and a third. Sums of two such numbers do not overflow.
  static constexpr Wide infinity = Wide(1) << 100;
  Wide min = 0, max = 0;
  bool isWithin(int64_t low, int64_t high) const { return min >= low && max <= high; }
};

/// One step of an interval computation; operands are the indices of earlier steps.
struct BoundNode {
  enum class Kind : uint8_t {
    range,        // the constants [first, second]
    slot,         // the integer in slot `first` of the launch
    programs,     // the number of programs along axis `first`
    program,      // the program ID along axis `first`
    sum,          // of steps `first` and `second`, as in all kinds below but the last
    product,      //
    quotient,     // rounded towards 0; -1 for a divisor of 0
    remainder,    // with the sign of the dividend; the dividend for a divisor of 0
    min,          // the minimum
    max,          // the maximum
    hull,         // the smallest interval that contains both
    intersection, // all numbers that are in both
    induction,    // from step `first` up to step `second`, which is excluded; `first` alone if the range is empty
    shift,        // step `first`, shifted right arithmetically by the constant `second`
  };
  Kind kind = Kind::range;
  int64_t first = 0, second = 0;
  bool operator==(const BoundNode &) const = default;
};

/// True if `node` may have this position in a computation about `slots` slots.
bool isValid(const BoundNode &node, size_t position, int64_t slots);

/// Returns the interval of the last of `nodes`. It contains each number that the last step can be, and may be wider.
Interval evaluate(llvm::ArrayRef<BoundNode> nodes, llvm::ArrayRef<Interval> slots, const std::array<Interval, 3> &programs);

} // namespace tilewright
