// Finds the launch guards that a launch fails. Nearly every launch fails none and repeats an earlier one, so the last results are cached: a
// warm launch compares a few numbers and allocates nothing.
#pragma once

#include "support/inline_vector.h"
#include "support/launch_guards.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <mutex>
#include <optional>

namespace tilewright {

/// The names of the guards that a launch fails; null if it fails none.
using FailedGuardNames = std::shared_ptr<const std::vector<std::string>>;

/// Checks the guards of one compiled kernel. It is thread-safe; equal lists of names are one object.
class GuardChecks {
public:
  struct Question {
    llvm::ArrayRef<LaunchGuard> guards;
    llvm::ArrayRef<SlotKind> kinds;
    std::array<int64_t, 3> grid;
    llvm::ArrayRef<uint64_t> slots; // the launch's values
    llvm::ArrayRef<int64_t> bytes;  // sizes of tensors, as in LaunchValues; may be empty
  };
  /// Returns the failed guards. `findBytes` may fill in sizes that are 0. `breakMore` adds other guards that a launch with these integers
  /// fails.
  FailedGuardNames failedBy(const Question &launch, llvm::function_ref<void(llvm::MutableArrayRef<int64_t> bytes)> findBytes,
                            llvm::function_ref<void(llvm::ArrayRef<uint64_t> integers, std::vector<std::string> &names)> breakMore);

private:
  /// The last few of something.
  template <typename T> class Recent {
  public:
    template <typename Predicate> const T *find(Predicate predicate) const {
      for (const std::optional<T> &each : items)
        if (each && predicate(*each)) return &*each;
      return nullptr;
    }
    const T &add(T item) { return items[next++ % items.size()].emplace(std::move(item)); }

  private:
    std::array<std::optional<T>, 4> items; // some kernels alternate between two or three tensors
    size_t next = 0;
  };

  /// A launch whose values decide all guards. Sizes that were found are not among them: the next launch may find others.
  struct Launch {
    std::array<int64_t, 3> grid;
    InlineVector<uint64_t, 16> slots;
    InlineVector<int64_t, 16> bytes;
    FailedGuardNames failed;
  };
  /// The grid and slots of launches in which all guards that do not depend on tensors hold, whatever the tensors are.
  struct Numbers {
    std::array<int64_t, 3> grid;
    InlineVector<uint64_t, 16> slots;
  };

  std::mutex lock;
  Recent<Launch> launches;
  Recent<Numbers> numbers;
  Recent<FailedGuardNames> names;
};

} // namespace tilewright
