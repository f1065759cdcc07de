// Assumptions of compiled code about its launch, in a form that the launch can check.
//
// A tensor map is valid only if no stride is negative, and 32-bit index arithmetic equals 64-bit arithmetic only if it does not wrap. The
// compiler cannot know either: both depend on arguments and on the grid. So an analysis that needs such an assumption records a launch
// guard:
//     stride_am >= 0                            the interval of slot 5 lies in [0, 2^63)
//     program_id(0)*128 + 127 fits 32 bits      the interval of (programs of axis 0)*128 + 127 lies in [-2^31, 2^31)
//     a and c are disjoint                      the memory at slots 0 and 2 does not overlap
// Each launch evaluates the guards by interval arithmetic on the actual values. If a guard fails, the launcher uses a version of the kernel
// that was compiled without it.
//
// A guard may also be a versioning request: the code is right without it, but for launches that fail it there is a faster version.
//     stride_am is not a multiple of 8          the interval of (slot 5) % 8 does not lie in [0, 0]
#pragma once

#include "support/interval.h"
#include "support/slots.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The maximum number of programs along each axis of a grid. CUDA limits y and z further.
using GridLimits = std::array<int64_t, 3>;
constexpr GridLimits gridLimits{INT32_MAX, INT32_MAX, INT32_MAX}, cudaGridLimits{INT32_MAX, UINT16_MAX, UINT16_MAX};

/// The known values of slots and grid: all of them at a launch, few at compile time.
struct BoundContext {
  llvm::SmallVector<Interval, 32> slots;
  std::array<Interval, 3> programs;
};

/// Returns the interval of the last of `nodes`.
Interval evaluate(llvm::ArrayRef<BoundNode> nodes, const BoundContext &context);

struct LaunchGuard {
  std::string name;             // for messages; also the identity of the guard
  std::vector<BoundNode> nodes; // the last one is in [min, max]; empty: the tensors in two slots do not overlap
  int64_t min = 0, max = 0;
  int64_t slot = -1, otherSlot = -1;
  bool isVersioningRequest = false; // asks for better code if the last node is not in [min, max]
  bool operator==(const LaunchGuard &) const = default;
};

/// Converts a guard without its name to numbers, and back, if the numbers are a guard about `slots` slots.
std::vector<int64_t> numbersOf(const LaunchGuard &guard);
std::optional<LaunchGuard> guardOf(std::string name, llvm::ArrayRef<int64_t> numbers, int64_t slots);

/// True if all named guards are versioning requests: then code that has them is right even for launches that fail them.
bool areVersioningRequests(llvm::ArrayRef<LaunchGuard> guards, llvm::ArrayRef<std::string> names);

/// In a list of failed guards this name stands for all of them: the version without any assumptions.
constexpr const char *everyGuard = "*";

/// Returns the integers of a launch as its kernel reads them: signed, and as wide as their types.
llvm::SmallVector<uint64_t, 32> signedSlots(llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds);

/// The values of one launch. `bytes`: the size of the tensor at each slot's address; 0 if it is not known, or the slot is not a pointer.
struct LaunchValues {
  llvm::ArrayRef<uint64_t> slots; // from signedSlots
  llvm::ArrayRef<int64_t> bytes;
  std::array<int64_t, 3> grid{1, 1, 1};
};
/// True if the launch passes the guard. Tensors of unknown size count as overlapping.
bool holds(const LaunchGuard &guard, const LaunchValues &launch);
/// Describes the values in the guard: "stride is -8, and the grid 4 x 1 x 1". `names`: of the slots.
std::string describe(const LaunchGuard &guard, const LaunchValues &launch, llvm::ArrayRef<std::string> names);

} // namespace tilewright
