#include "tune/shared_search.h"

#include "support/hash.h"
#include "support/settings.h"

#include <cstdlib>

namespace tilewright {

bool tuningIsShared() {
  const char *workers = std::getenv("WORLD_SIZE");
  return isSwitchedOn("TILEWRIGHT_SHARED_TUNING", workers && std::atoi(workers) > 1);
}

SharedSearch::SharedSearch(const TuneProblem &problem, llvm::ArrayRef<std::string> configs) {
  std::string search = tunedKey(problem, configs);
  for (const std::string &config : configs)
    keys.push_back(Hasher().add(search).add(config).hex());
  end = Hasher().add(search).add("the end").hex();
}

std::optional<Measured> SharedSearch::result(size_t config, Diagnostics &diagnostics) const {
  std::optional<std::string> bytes = loadCached(keys[config], CacheKind::measured, diagnostics);
  return bytes ? readMeasured(*bytes) : std::nullopt;
}

void SharedSearch::store(size_t config, const Measured &result, Diagnostics &diagnostics) const {
  storeCached(keys[config], CacheKind::measured, measuredText(result), diagnostics);
}

void SharedSearch::remove() const {
  for (const std::string &key : keys)
    removeCached(key, CacheKind::measured);
  for (const std::string &key : keys)
    removeCached(key, CacheKind::claim);
  removeCached(end, CacheKind::claim);
}

} // namespace tilewright
