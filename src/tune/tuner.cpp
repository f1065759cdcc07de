// A winner is looked for in three places: the file that TILEWRIGHT_TUNED names, the cache folder, and measurements.
//
// Medians decide. Other work on the machine only makes a run slower, so where the measurements of the fastest configurations scatter and
// overlap, these few are measured a second time, and the faster of two medians counts.

#include "tune/tuner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>

namespace tilewright {

static constexpr double scatter = 0.1;    // of the median, from the 20th to the 80th percentile: a quiet machine stays below
static constexpr size_t mostRepeated = 3; // the others lost by more than chance

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

/// The configurations that may be the fastest, and of which chance may have decided: best first.
static std::vector<size_t> inDoubt(llvm::ArrayRef<Measured> results) {
  const Measured &best = results[fastest(results)];
  std::vector<size_t> close;
  bool noisy = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].milliseconds.size() < 3) continue;
    auto [median, low, high] = std::array{results[i].milliseconds[0], results[i].milliseconds[1], results[i].milliseconds[2]};
    if (low > best.milliseconds.back()) continue; // even its fast runs are slower than the winner's slow ones
    close.push_back(i);
    noisy |= high - low > scatter * median;
  }
  if (!noisy || close.size() < 2) return {};
  std::sort(close.begin(), close.end(),
            [&](size_t a, size_t b) { return std::tie(results[a].milliseconds, a) < std::tie(results[b].milliseconds, b); });
  if (close.size() > mostRepeated) close.resize(mostRepeated);
  return close;
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
  if (!best || !door.mayRepeat) return true;
  for (size_t i : inDoubt(results)) {
    std::optional<Measured> again = door.measure(i, std::nullopt);
    if (!again) return false;
    if (isFaster(*again, results[i])) results[i] = std::move(*again);
  }
  return true;
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
