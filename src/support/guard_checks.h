// Which facts does a launch break? Nearly every launch breaks none and is like one before it, so the last answers are remembered: a warm
// launch compares a few numbers and allocates nothing.
#pragma once

#include "support/launch_guards.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <mutex>

namespace tilewright {

/// The names of the facts that a launch breaks; null where it breaks none.
using FailedGuardNames = std::shared_ptr<const std::vector<std::string>>;

/// The checks of one compiled kernel. Any thread may ask; equal lists of names are one object.
class GuardChecks {
public:
  struct Question {
    llvm::ArrayRef<LaunchGuard> guards;
    llvm::ArrayRef<SlotKind> kinds;
    std::array<int64_t, 3> grid;
    llvm::ArrayRef<uint64_t> slots; // as they are launched with
    llvm::ArrayRef<int64_t> bytes;  // of tensors, as in LaunchValues; may be empty
  };
  /// `findBytes` may fill in sizes that are 0. `breakMore` names what else a launch with these integers breaks.
  FailedGuardNames failedBy(const Question &launch, llvm::function_ref<void(llvm::MutableArrayRef<int64_t> bytes)> findBytes,
                       llvm::function_ref<void(llvm::ArrayRef<uint64_t> integers, std::vector<std::string> &names)> breakMore);

private:
  /// A launch that was checked. Some kernels are launched with two or three tensors in turn.
  struct Checked {
    std::array<int64_t, 3> grid{};
    llvm::SmallVector<uint64_t, 16> slots;
    llvm::SmallVector<int64_t, 16> bytes;
    bool numbersHold = false; // the facts about grid and integers: not about tensors
    FailedGuardNames broken;
  };
  std::mutex lock;
  std::array<Checked, 4> checked;
  size_t next = 0;
};

} // namespace tilewright
