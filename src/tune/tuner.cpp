// The tuner looks for a winner in the file that TILEWRIGHT_TUNED names and in the cache folder, and then measures.
//
// Medians decide. But a machine changes during a tuning: other programs disturb it, and after a second of dots a GPU runs at a lower clock
// than for its first kernel. So the few configurations close to the fastest one are measured again, interleaved, and the medians of these
// rounds decide. (Without this, an H100 chose an attention kernel of 407 TFLOP/s where another configuration reaches 500.)

#include "tune/tuner.h"

#include "support/work_control.h"

#include "tune/measure.h"
#include "tune/shared_search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>
#include <tuple>

namespace tilewright {

static constexpr double close = 1.3; // factor over the fastest median: the effect of clocks and other programs
static constexpr size_t maxFinalists = 3, rounds = 3;

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool worked(const Measured &result) {
  return !result.milliseconds.empty();
}

/// True if a is faster; of equal ones, the first one in the list wins.
static bool isFaster(const Measured &a, const Measured &b) {
  if (!worked(a) || !worked(b)) return worked(a) && !worked(b);
  return a.milliseconds < b.milliseconds;
}

static size_t fastest(llvm::ArrayRef<Measured> results) {
  return static_cast<size_t>(std::min_element(results.begin(), results.end(), isFaster) - results.begin());
}

/// Returns the configuration whose measurement counts for this one.
static size_t firstOf(const TunerCallbacks &callbacks, size_t config) {
  return callbacks.sameAs.empty() ? config : callbacks.sameAs[config];
}

/// Returns the configurations that may be the fastest, best first; none if the winner is clear.
static std::vector<size_t> finalists(const TunerCallbacks &callbacks, llvm::ArrayRef<Measured> results) {
  double limit = close * results[fastest(results)].milliseconds.front();
  std::vector<size_t> found;
  for (size_t i = 0; i < results.size(); ++i) // skips configurations whose fast runs are slow, too
    if (firstOf(callbacks, i) == i && worked(results[i]) &&
        *std::min_element(results[i].milliseconds.begin(), results[i].milliseconds.end()) <= limit)
      found.push_back(i);
  if (found.size() < 2) return {};
  std::sort(found.begin(), found.end(),
            [&](size_t a, size_t b) { return std::tie(results[a].milliseconds, a) < std::tie(results[b].milliseconds, b); });
  if (found.size() > maxFinalists) found.resize(maxFinalists);
  return found;
}

/// The group with the largest number of configurations so far, and the best of their medians.
struct Leading {
  size_t group;
  double best;
};
static std::optional<Leading> leading(llvm::ArrayRef<Measured> results) {
  std::map<size_t, std::pair<size_t, double>> groups; // size and best median
  for (const Measured &result : results) {
    if (!worked(result)) continue;
    auto &[count, best] = groups.try_emplace(result.group, 0, HUGE_VAL).first->second;
    ++count, best = std::min(best, result.milliseconds.front());
  }
  auto hasFewer = [](const auto &a, const auto &b) { return a.second.first < b.second.first; };
  auto largest = std::max_element(groups.begin(), groups.end(), hasFewer);
  return largest == groups.end() ? std::nullopt : std::optional(Leading{largest->first, largest->second.second});
}

/// Decides which results are right, if they differ. `comparedWith`: the group of the best time that each measurement was compared with. A
/// measurement that was compared with a wrong result is repeated. False if a callback ended the tuning.
static bool settle(llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks, llvm::ArrayRef<std::optional<size_t>> comparedWith,
                   std::vector<Measured> &results, Decision &decision) {
  Agreement agreement = agreementOf(results, callbacks.groups);
  decision = agreement.decision;
  if (decision == Decision::agreed) return true;
  rejectDisagreeing(configs, agreement, callbacks.groups, results);
  for (size_t i = 0; callbacks.mayRepeat && i < comparedWith.size(); ++i) {
    if (firstOf(callbacks, i) != i || !worked(results[i]) || comparedWith[i].value_or(agreement.right) == agreement.right) continue;
    std::optional<Measured> result = callbacks.measure(i, leading(results)->best);
    if (!result) return false;
    if (worked(*result)) results[i].milliseconds = std::move(result->milliseconds);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t first = firstOf(callbacks, i); first != i) results[i] = results[first];
  return true;
}

/// Measures the finalists, interleaved. False if a callback ended the tuning.
static bool measureAgain(const TunerCallbacks &callbacks, std::vector<Measured> &results) {
  if (results[fastest(results)].milliseconds.front() > 1e3 * longRun) return true; // disturbances are small compared with such a long run
  std::vector<size_t> among = finalists(callbacks, results);
  std::vector<std::vector<Measured>> again(among.size());
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < among.size(); ++i) {
      std::optional<Measured> result = callbacks.measure(among[i], std::nullopt);
      if (!result) return false;
      if (worked(*result)) again[i].push_back(std::move(*result));
    }
  for (size_t i = 0; i < among.size(); ++i) {
    if (again[i].empty()) continue;
    std::sort(again[i].begin(), again[i].end(), isFaster);
    results[among[i]] = again[i][again[i].size() / 2];
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t first = firstOf(callbacks, i); first != i) results[i] = results[first];
  return true;
}

/// Measures all configurations. False if a callback ended the tuning.
static bool measureAll(llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks, TuneOutcome &outcome) {
  std::vector<Measured> &results = outcome.results;
  std::vector<std::optional<size_t>> comparedWith(configs.size());
  double start = secondsNow();
  bool hasEnd = callbacks.budget > 0;
  BackgroundCompiler ahead(configs.size(), hasEnd ? 0 : callbacks.compileThreads,
                           [&](size_t i) { return firstOf(callbacks, i) == i ? callbacks.compile(i) : std::nullopt; });
  for (size_t i = 0; callbacks.needsQuiet && i < configs.size(); ++i)
    ahead.wait(i);
  for (size_t i = 0; i < configs.size(); ++i) {
    if (size_t first = firstOf(callbacks, i); first != i) {
      results.push_back(results[first]);
      continue;
    }
    std::optional<Leading> leader = leading(results);
    if (hasEnd && leader && secondsNow() - start > callbacks.budget) {
      results.push_back({{}, "not measured: the time limit was reached"});
      continue;
    }
    std::optional<std::string> failure = ahead.wait(i);
    std::optional<double> best = leader ? std::optional(leader->best) : std::nullopt;
    std::optional<Measured> result = failure ? Measured{{}, std::move(*failure)} : callbacks.measure(i, best);
    if (!result) return false;
    if (leader) comparedWith[i] = leader->group;
    results.push_back(std::move(*result));
  }
  if (llvm::none_of(results, worked)) return true;
  if (!settle(configs, callbacks, comparedWith, results, outcome.decision)) return false;
  bool isLate = hasEnd && secondsNow() - start > callbacks.budget;
  return !callbacks.mayRepeat || isLate || measureAgain(callbacks, results);
}

// ---- a search that several processes share

static constexpr double patience = 300; // seconds without progress after which a process that holds a claim counts as stopped
static constexpr std::chrono::milliseconds pause(5);

/// False after an error: the call was ended, so configurations may have failed for that reason, and no choice may be stored.
static bool mayStillChoose(Diagnostics &diagnostics) {
  const WorkControl *control = currentControl();
  if (!control || control->mayContinue()) return true;
  diagnostics.error({}, Diag::invalidOption, {"the tuning stops: " + control->describe(), ""});
  return false;
}

namespace {
/// The part of one process in a search that several processes share.
class SharedSearchWorker {
public:
  SharedSearchWorker(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks,
                     Diagnostics &diagnostics)
      : problem(problem), configs(configs), callbacks(callbacks), diagnostics(diagnostics), search(problem, configs), before(winner()),
        found(configs.size()) {}

  /// Runs the search. All processes end with one winner: the first process that has all results measures the finalists again and stores the
  /// winner, which the other processes load. Null if a callback ended the tuning.
  std::optional<TuneOutcome> tune() {
    for (size_t i = 0; i < configs.size() && !callbacks.tryOut(i);)
      ++i;
    if (!measure()) return std::nullopt;
    std::optional<TunedEntry> entry;
    for (double start = secondsNow(); !(entry = newWinner()); std::this_thread::sleep_for(pause)) {
      std::optional<CacheClaim> claim = search.claimEnd();
      if (!claim && secondsNow() - start < patience) continue;
      if (!(entry = newWinner())) return choose(); // no other process has chosen meanwhile
      search.remove();
      break;
    }
    bool disagree = llvm::any_of(entry->results, [](const Measured &result) { return isOtherResults(result.failure); });
    Decision decision = disagree ? Decision::majority : Decision::agreed; // only a proven choice is stored
    return TuneOutcome{.best = entry->best, .results = std::move(entry->results), .worked = true, .measured = true, .decision = decision};
  }

private:
  std::optional<TunedEntry> winner() const { return loadTuned(problem, configs, diagnostics); }

  /// Returns the winner of this search, not an older one.
  std::optional<TunedEntry> newWinner() const {
    std::optional<TunedEntry> entry = winner();
    bool isNew = entry && !(before && tunedText(*before) == tunedText(*entry)) && !callbacks.compile(entry->best);
    return isNew ? std::move(entry) : std::nullopt;
  }

  /// Measures the configurations that no process has measured or is measuring, until there is a winner or all results are known. False if a
  /// callback ended it.
  bool measure() {
    auto isMissing = [](const std::optional<Measured> &result) { return !result; };
    for (double news = secondsNow(); !newWinner(); std::this_thread::sleep_for(pause)) {
      for (size_t i = 0; i < configs.size(); ++i) {
        if (size_t first = firstOf(callbacks, i); first != i) {
          found[i] = found[first];
          continue;
        }
        if (found[i] || (found[i] = search.result(i, diagnostics))) continue;
        std::optional<CacheClaim> claim = search.claim(i);
        if (!claim && secondsNow() - news < patience) continue;
        if ((found[i] = search.result(i, diagnostics))) continue; // another process has finished it meanwhile
        if (newWinner()) return search.remove(), true;
        if (!measure(i)) return false;
        news = secondsNow();
      }
      if (llvm::none_of(found, isMissing)) return true;
    }
    return true;
  }

  bool measure(size_t config) {
    bool isLate = callbacks.budget > 0 && best && secondsNow() - start > callbacks.budget;
    std::optional<std::string> failure = callbacks.compileThreads > 1 && !isLate ? callbacks.compile(config) : std::nullopt;
    found[config] = isLate    ? Measured{{}, "not measured: the time limit was reached"}
                    : failure ? Measured{{}, std::move(*failure)}
                              : callbacks.measure(config, best);
    if (!found[config]) return false;
    if (!isLate) search.store(config, *found[config], diagnostics);
    if (worked(*found[config])) best = std::min(best.value_or(HUGE_VAL), found[config]->milliseconds.front());
    return true;
  }

  /// Groups of another process have other numbers. If any result differs from the first, this process tries all configurations itself.
  bool settleAll(TuneOutcome &outcome) {
    if (llvm::none_of(outcome.results, [](const Measured &result) { return result.group != 0; })) return true;
    for (size_t i = 0; i < configs.size(); ++i) {
      Measured &result = outcome.results[i];
      if (size_t first = firstOf(callbacks, i); first != i) {
        result = outcome.results[first];
        continue;
      }
      std::optional<size_t> group = worked(result) ? callbacks.tryOut(i) : std::nullopt;
      if (worked(result) && !group) result = {{}, "it worked in one process but not in another"};
      result.group = group.value_or(0);
    }
    return settle(configs, callbacks, {}, outcome.results, outcome.decision);
  }

  std::optional<TuneOutcome> choose() {
    TuneOutcome outcome;
    outcome.measured = true;
    for (std::optional<Measured> &result : found)
      outcome.results.push_back(std::move(*result));
    if (!settleAll(outcome)) return std::nullopt;
    bool mayRepeat = callbacks.mayRepeat && callbacks.budget <= 0 && llvm::any_of(outcome.results, worked);
    if (mayRepeat && !measureAgain(callbacks, outcome.results)) return std::nullopt;
    if (!mayStillChoose(diagnostics)) return std::nullopt;
    outcome.best = fastest(outcome.results);
    outcome.worked = worked(outcome.results[outcome.best]);
    if (outcome.worked && isProven(outcome.decision)) storeTuned({problem, configs.vec(), outcome.results, outcome.best}, diagnostics);
    search.remove();
    return outcome;
  }

  const TuneProblem &problem;
  llvm::ArrayRef<std::string> configs;
  const TunerCallbacks &callbacks;
  Diagnostics &diagnostics;
  SharedSearch search;
  std::optional<TunedEntry> before; // the stored entry, if `remeasure`
  std::vector<std::optional<Measured>> found;
  std::optional<double> best;
  double start = secondsNow();
};
} // namespace

static std::optional<TuneOutcome> remembered(const TuneProblem &problem, llvm::ArrayRef<std::string> configs,
                                             const TunerCallbacks &callbacks, Diagnostics &diagnostics) {
  TuneOutcome outcome;
  outcome.worked = true;
  if (std::optional<size_t> pinned = pinnedConfig(problem, configs, diagnostics)) {
    outcome.best = *pinned;
    return outcome;
  }
  std::optional<TunedEntry> entry = callbacks.usesCache ? loadTuned(problem, configs, diagnostics) : std::nullopt;
  // The entry may come from a build that supports more.
  if (!entry || callbacks.compile(entry->best)) return std::nullopt;
  outcome.best = entry->best;
  outcome.results = std::move(entry->results);
  return outcome;
}

std::optional<TuneOutcome> tune(const TuneProblem *problem, llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks,
                                Diagnostics &diagnostics) {
  if (problem && !callbacks.remeasure)
    if (std::optional<TuneOutcome> known = remembered(*problem, configs, callbacks, diagnostics)) return known;
  notePreparation();
  double start = secondsNow();
  if (problem && callbacks.usesCache && callbacks.tryOut && tuningIsShared() && cacheTakesEntries(diagnostics)) {
    std::optional<TuneOutcome> outcome = SharedSearchWorker(*problem, configs, callbacks, diagnostics).tune();
    if (outcome) outcome->seconds = secondsNow() - start;
    return outcome;
  }
  TuneOutcome outcome;
  if (!measureAll(configs, callbacks, outcome) || !mayStillChoose(diagnostics)) return std::nullopt;
  outcome.best = fastest(outcome.results);
  outcome.worked = worked(outcome.results[outcome.best]);
  outcome.measured = true;
  outcome.seconds = secondsNow() - start;
  if (!problem || !callbacks.usesCache || !outcome.worked || !isProven(outcome.decision)) return outcome;
  // Another process may have stored its winner first; all processes that run the kernel use that one.
  std::optional<TunedEntry> other = callbacks.remeasure ? std::nullopt : loadTuned(*problem, configs, diagnostics);
  if (other && !callbacks.compile(other->best)) {
    outcome.best = other->best;
    outcome.results = std::move(other->results);
  } else {
    storeTuned({*problem, configs.vec(), outcome.results, outcome.best}, diagnostics);
  }
  return outcome;
}

} // namespace tilewright
