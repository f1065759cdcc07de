#include "runtime/refutations.h"

#include "support/launch_facts.h"

#include <algorithm>

namespace tilewright {

bool Refutations::add(llvm::ArrayRef<std::string> broken) {
  constexpr int patience = 3;
  if (steps > patience) return false;
  refuted.insert(refuted.end(), broken.begin(), broken.end());
  std::sort(refuted.begin(), refuted.end());
  refuted.erase(std::unique(refuted.begin(), refuted.end()), refuted.end());
  if (steps++ == patience) refuted = {everyFact};
  return true;
}

} // namespace tilewright
