#include "runtime/version_search.h"

#include "support/launch_guards.h"

#include <algorithm>

namespace tilewright {

bool VersionSearch::add(llvm::ArrayRef<std::string> broken) {
  constexpr int patience = 3;
  if (steps > patience) return false;
  failedGuards.insert(failedGuards.end(), broken.begin(), broken.end());
  std::sort(failedGuards.begin(), failedGuards.end());
  failedGuards.erase(std::unique(failedGuards.begin(), failedGuards.end()), failedGuards.end());
  if (steps++ == patience) failedGuards = {everyGuard};
  return true;
}

} // namespace tilewright
