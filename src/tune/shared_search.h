// Shares one search among several processes: workers of torchrun or Ray, on one machine or on several with one cache folder.
//
// There is no coordinator, and no process waits for an idle one. For each configuration there are two files in the cache folder:
//
//   a result            written to a temporary file and renamed, as all entries are; every process reads it
//   a claim             locked by the process that measures it; the system unlocks it when that process ends for any reason
//
// So a process that finds neither a result nor a locked claim measures. If a worker dies, only its current measurement is lost. Even if
// all of them die, the next process continues with the stored results.
#pragma once

#include "runtime/cache.h"
#include "tune/store.h"

namespace tilewright {

/// True if TILEWRIGHT_SHARED_TUNING is on; if it is not set, if torchrun has started several workers (WORLD_SIZE).
bool tuningIsShared();

class SharedSearch {
public:
  SharedSearch(const TuneProblem &problem, llvm::ArrayRef<std::string> configs);

  /// Returns the result of a configuration that any process has measured.
  std::optional<Measured> result(size_t config, Diagnostics &diagnostics) const;
  void store(size_t config, const Measured &result, Diagnostics &diagnostics) const;
  /// Claims the measurement of a configuration; null while another process has it.
  std::optional<CacheClaim> claim(size_t config) const { return CacheClaim::take(keys[config]); }
  /// Claims the choice of the winner.
  std::optional<CacheClaim> claimEnd() const { return CacheClaim::take(end); }
  /// Removes all files of the search. The winner has its own entry.
  void remove() const;

private:
  std::vector<std::string> keys; // one for each configuration
  std::string end;
};

} // namespace tilewright
