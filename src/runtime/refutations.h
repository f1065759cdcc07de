// The way from a version of a kernel that a launch may not run to one that it may: each version that is tried takes less for granted.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace tilewright {

/// The facts that a launch has refuted so far, by their names (support/launch_facts.h).
class Refutations {
public:
  /// Adds what the last version takes for granted and the launch breaks. Each step refutes at least one more fact, and after a few of them
  /// the version that takes nothing for granted is asked for. False where that one was broken, too.
  bool add(llvm::ArrayRef<std::string> broken);
  /// Sorted, each once.
  const std::vector<std::string> &names() const { return refuted; }

private:
  std::vector<std::string> refuted;
  int steps = 0;
};

} // namespace tilewright
