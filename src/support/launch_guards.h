// What compiled code takes for granted about its launch, in a form that the launch can check.
//
// A tensor map is right only if a stride is not negative, and 32-bit index arithmetic equals its 64-bit form only where it does not wrap.
// The compiler cannot know either: both depend on arguments and on the grid. So an analysis that needs such a fact writes it down:
//     stride_am >= 0                            the interval of slot 5 lies in [0, 2^63)
//     program_id(0)*128 + 127 fits 32 bits      the interval of (programs of axis 0)*128 + 127 lies in [-2^31, 2^31)
//     a and c lie apart                         the memory behind slots 0 and 2 does not overlap
// and each launch evaluates it by interval arithmetic on the real numbers. Where a fact does not hold, the launcher takes a version of the
// kernel that was compiled without it.
//
// A fact may also be preferred only: the code is right without it, but for launches that break it there is a faster version.
//     stride_am is no multiple of 8             the interval of (slot 5) % 8 does not lie in [0, 0]
#pragma once

#include "support/slots.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// All integers from `least` to `most`. Far from 0 (beyond 2^100) the ends stay where they are, so that nothing overflows.
struct Interval {
  __extension__ typedef __int128 Wide;
  Wide least = 0, most = 0;
  bool isWithin(int64_t low, int64_t high) const { return least >= low && most <= high; }
};

/// One step of an interval computation; operands are the indices of earlier steps.
struct BoundNode {
  enum class Kind : uint8_t {
    between,   // [first, second], given
    slot,      // the integer in slot `first` of the launch
    programs,  // how many programs the grid has along axis `first`
    program,   // the number of a program along axis `first`
    sum,       // of steps `first` and `second`; so are all that follow
    product,   //
    quotient,  // as in C: rounded towards 0
    remainder, // as in C: with the sign of the dividend
    least,     // the smaller one
    most,      // the larger one
    either,    // one of the two
    both,      // a number that is in both
    counter,   // from step `first` up to step `second`, which is excluded; `first` alone where the range is empty
  };
  Kind kind = Kind::between;
  int64_t first = 0, second = 0;
  bool operator==(const BoundNode &) const = default;
};

/// What is known about slots and grid: everything at a launch, little at compile time.
struct BoundContext {
  llvm::SmallVector<Interval, 32> slots;
  std::array<Interval, 3> programs;
};

/// The numbers that the last of `nodes` can be.
Interval evaluate(llvm::ArrayRef<BoundNode> nodes, const BoundContext &context);

struct LaunchGuard {
  std::string name;             // for people, and to tell facts apart
  std::vector<BoundNode> nodes; // the last one is in [least, most]; empty: the tensors in two slots do not overlap
  int64_t least = 0, most = 0;
  int64_t slot = -1, otherSlot = -1;
  bool isVersioningRequest = false; // the last node is not in [least, most], or there is better code
  bool operator==(const LaunchGuard &) const = default;
};

/// A fact without its name, as numbers; and back, if the numbers make a fact about `slots` slots.
std::vector<int64_t> numbersOf(const LaunchGuard &guard);
std::optional<LaunchGuard> guardOf(std::string name, llvm::ArrayRef<int64_t> numbers, int64_t slots);

/// Whether all the named facts are only preferred: code that has them is right even for launches that break them.
bool areVersioningRequests(llvm::ArrayRef<LaunchGuard> guards, llvm::ArrayRef<std::string> names);

/// In a list of refuted facts this name stands for all of them: the version that takes nothing for granted.
constexpr const char *everyGuard = "*";

/// The integers of a launch as its kernel reads them: signed, and as wide as their types.
llvm::SmallVector<uint64_t, 32> signedSlots(llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds);

/// One launch. `bytes`: the size of the tensor that starts at each slot's address; 0 where it is not known, or the slot is not a pointer.
struct LaunchValues {
  llvm::ArrayRef<uint64_t> slots; // as signedSlots gives them
  llvm::ArrayRef<int64_t> bytes;
  std::array<int64_t, 3> grid{1, 1, 1};
};
/// Tensors whose sizes are not known count as overlapping.
bool holds(const LaunchGuard &guard, const LaunchValues &launch);
/// The values in this launch that the fact is about: "stride is -8, and the grid 4 x 1 x 1". `names`: of the slots.
std::string describe(const LaunchGuard &guard, const LaunchValues &launch, llvm::ArrayRef<std::string> names);

} // namespace tilewright
