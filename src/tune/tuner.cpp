// A winner is looked for in three places: the file that TILEWRIGHT_TUNED names, the cache folder, and measurements.
//
// Medians decide. But a machine is not the same throughout a tuning: others disturb it, and a GPU that has just multiplied for a second
// runs at a lower clock than one that waited for its first kernel. So the few that came close to the fastest are measured again, in turn,
// and the medians of these rounds decide among them. (An H100 took 407 TFLOP/s of attention for the best, where another configuration gives
// 500.)

#include "tune/tuner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace tilewright {

static constexpr double close = 1.3; // times the fastest median: what clocks and neighbours change
static constexpr size_t mostFinalists = 3, rounds = 3;

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool worked(const Measured &result) {
  return !result.milliseconds.empty();
}

/// Whether a is better; of equals, the first one in the list is kept.
static bool isFaster(const Measured &a, const Measured &b) {
  if (!worked(a) || !worked(b)) return worked(a) && !worked(b);
  return a.milliseconds < b.milliseconds;
}

static size_t fastest(llvm::ArrayRef<Measured> results) {
  return static_cast<size_t>(std::min_element(results.begin(), results.end(), isFaster) - results.begin());
}

/// The configurations that may be the fastest, best first; none where there is no doubt.
static std::vector<size_t> finalists(llvm::ArrayRef<Measured> results) {
  double most = close * results[fastest(results)].milliseconds.front();
  std::vector<size_t> found;
  for (size_t i = 0; i < results.size(); ++i) // even the fast runs of the others are slow
    if (worked(results[i]) && *std::min_element(results[i].milliseconds.begin(), results[i].milliseconds.end()) <= most) found.push_back(i);
  if (found.size() < 2) return {};
  std::sort(found.begin(), found.end(),
            [&](size_t a, size_t b) { return std::tie(results[a].milliseconds, a) < std::tie(results[b].milliseconds, b); });
  if (found.size() > mostFinalists) found.resize(mostFinalists);
  return found;
}

/// Measures the finalists in turn. False where the door ended it.
static bool measureAgain(const TuneDoor &door, std::vector<Measured> &results) {
  std::vector<size_t> among = finalists(results);
  std::vector<std::vector<Measured>> again(among.size());
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < among.size(); ++i) {
      std::optional<Measured> result = door.measure(among[i], std::nullopt);
      if (!result) return false;
      if (worked(*result)) again[i].push_back(std::move(*result));
    }
  for (size_t i = 0; i < among.size(); ++i) {
    if (again[i].empty()) continue;
    std::sort(again[i].begin(), again[i].end(), isFaster);
    results[among[i]] = again[i][again[i].size() / 2];
  }
  return true;
}

/// False where the door ended it.
static bool measureAll(llvm::ArrayRef<std::string> configs, const TuneDoor &door, std::vector<Measured> &results) {
  std::optional<double> best;
  double start = secondsNow();
  bool hasEnd = door.budget > 0;
  CompileAhead ahead(configs.size(), hasEnd ? 0 : door.compileThreads, door.compile);
  for (size_t i = 0; door.needsQuiet && i < configs.size(); ++i)
    ahead.wait(i);
  for (size_t i = 0; i < configs.size(); ++i) {
    if (hasEnd && best && secondsNow() - start > door.budget) {
      results.push_back({{}, "not measured: the time was up"});
      continue;
    }
    std::optional<std::string> failure = ahead.wait(i);
    std::optional<Measured> result = failure ? Measured{{}, std::move(*failure)} : door.measure(i, best);
    if (!result) return false;
    if (worked(*result) && (!best || result->milliseconds.front() < *best)) best = result->milliseconds.front();
    results.push_back(std::move(*result));
  }
  bool isLate = hasEnd && secondsNow() - start > door.budget;
  return !best || !door.mayRepeat || isLate || measureAgain(door, results);
}

static std::optional<TuneOutcome> remembered(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, const TuneDoor &door,
                                             Diagnostics &diagnostics) {
  TuneOutcome outcome;
  outcome.worked = true;
  if (std::optional<size_t> pinned = pinnedConfig(problem, configs, diagnostics)) {
    outcome.best = *pinned;
    return outcome;
  }
  std::optional<TunedEntry> entry = door.keeps ? loadTuned(problem, configs, diagnostics) : std::nullopt;
  // The entry may be of a compiler that was more able.
  if (!entry || door.compile(entry->best)) return std::nullopt;
  outcome.best = entry->best;
  outcome.results = std::move(entry->results);
  return outcome;
}

std::optional<TuneOutcome> tune(const TuneProblem *problem, llvm::ArrayRef<std::string> configs, const TuneDoor &door,
                                Diagnostics &diagnostics) {
  if (problem && !door.anew)
    if (std::optional<TuneOutcome> known = remembered(*problem, configs, door, diagnostics)) return known;
  TuneOutcome outcome;
  double start = secondsNow();
  if (!measureAll(configs, door, outcome.results)) return std::nullopt;
  outcome.best = fastest(outcome.results);
  outcome.worked = worked(outcome.results[outcome.best]);
  outcome.measured = true;
  outcome.seconds = secondsNow() - start;
  if (!problem || !door.keeps || !outcome.worked) return outcome;
  // Another process may have been faster to store its winner: all that run the kernel agree on that one.
  std::optional<TunedEntry> other = door.anew ? std::nullopt : loadTuned(*problem, configs, diagnostics);
  if (other && !door.compile(other->best)) {
    outcome.best = other->best;
    outcome.results = std::move(other->results);
  } else {
    storeTuned({*problem, configs.vec(), outcome.results, outcome.best}, diagnostics);
  }
  return outcome;
}

} // namespace tilewright
