// One search that several processes share: the workers that torchrun or Ray start, on one machine or on several with one cache folder.
//
// There is no coordinator, and nobody waits for an idle process. For each configuration there are two files in the cache folder:
//
//   what was measured   written aside and renamed as all entries are, read by everybody
//   a claim             locked by the process that measures it; the system unlocks it when that process ends, however it ends
//
// So a process that finds neither a result nor a locked claim measures. If a worker dies, only its current
// measurement is lost; and if all of them die, no more than that: the next process continues where they ended.
#pragma once

#include "runtime/cache.h"
#include "tune/store.h"

namespace tilewright {

/// TILEWRIGHT_SHARED_TUNING; if that is not set, whether torchrun says that it has started several workers (WORLD_SIZE).
bool tuningIsShared();

class SharedSearch {
public:
  SharedSearch(const TuneProblem &problem, llvm::ArrayRef<std::string> configs);

  /// What some process has measured for a configuration.
  std::optional<Measured> result(size_t config, Diagnostics &diagnostics) const;
  void store(size_t config, const Measured &result, Diagnostics &diagnostics) const;
  /// The right to measure a configuration; null while another process has it.
  std::optional<CacheClaim> claim(size_t config) const { return CacheClaim::take(keys[config]); }
  /// The right to choose the winner.
  std::optional<CacheClaim> claimEnd() const { return CacheClaim::take(end); }
  /// Removes all of it: the winner is kept as an entry of its own.
  void remove() const;

private:
  std::vector<std::string> keys; // of each configuration
  std::string end;
};

} // namespace tilewright
