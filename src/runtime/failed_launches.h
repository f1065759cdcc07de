// The way from a version of a kernel that a launch must not run to one that it may run: each version on the way assumes less.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace tilewright {

/// The names of the facts that a launch has refuted so far (support/launch_guards.h).
class FailedLaunches {
public:
  /// Adds the facts that the last version assumes and the launch breaks. Each step refutes at least one more fact;
  /// after a few steps the version that assumes nothing is requested. False if the launch broke even that one.
  bool add(llvm::ArrayRef<std::string> broken);
  /// Sorted, without duplicates.
  const std::vector<std::string> &names() const { return failedGuards; }

private:
  std::vector<std::string> failedGuards;
  int steps = 0;
};

} // namespace tilewright
