// One search that several processes share: the workers that torchrun or Ray start, on one machine or on several with one cache folder.
//
// Nobody hands out work, and nobody is waited for who does nothing. For each configuration there are two files in the cache folder:
//
//   what was measured   written aside and renamed as all entries are, read by everybody
//   a claim             locked by the process that measures it; the system unlocks it when that process ends, however it ends
//
// So whoever finds neither a result nor a locked claim measures. A worker's death costs the measurement that it was busy with, and
// the death of all of them costs no more: the next process goes on where they ended.
#pragma once

#include "runtime/cache.h"
#include "tune/store.h"

namespace tilewright {

/// TILEWRIGHT_SHARED_TUNING; without it, where torchrun says that it started several workers (WORLD_SIZE).
bool tuningIsShared();

class SharedSearch {
public:
  SharedSearch(const TuneProblem &problem, llvm::ArrayRef<std::string> configs);

  /// What some process has measured of a configuration.
  std::optional<Measured> result(size_t config, Diagnostics &diagnostics) const;
  void store(size_t config, const Measured &result, Diagnostics &diagnostics) const;
  /// The right to measure a configuration; nothing while another process has it.
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
