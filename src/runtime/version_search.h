// The search for a version of a kernel whose guards a launch passes: each version on the way assumes less.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace tilewright {

/// Collects the guards that a launch has failed so far (support/launch_guards.h). The next version must not assume them.
class VersionSearch {
public:
  /// Adds the guards of the last version that the launch fails, at least one in each step. After a few steps it requests the version
  /// without any assumptions. False if the launch failed even that one.
  bool add(llvm::ArrayRef<std::string> broken);
  /// The names of these guards, sorted, without duplicates.
  const std::vector<std::string> &failed() const { return failedGuards; }

private:
  std::vector<std::string> failedGuards;
  int steps = 0;
};

} // namespace tilewright
