// The tuner: one for all doors (the C and C++ interface, the command line, Python's @autotune). A door says what is tuned and how one
// configuration is measured; which one wins, and what is remembered, is decided here.
#pragma once

#include "tune/compile_ahead.h"
#include "tune/store.h"

namespace tilewright {

/// How a door measures.
struct TuneDoor {
  /// Measures one configuration. `best`: the best median so far; one that is far behind need not be measured well. None: this time is to
  /// decide. Nothing ends the tuning: the door knows why.
  std::function<std::optional<Measured>(size_t config, std::optional<double> best)> measure;
  /// Runs one configuration, so that the results of those that are measured afterwards are compared with its. False where it does not work.
  /// Asked for where other processes measure a part of the configurations; else the first that is measured is what the others are
  /// compared with.
  std::function<bool(size_t config)> compareWith;
  /// Compiles one configuration, so that measuring it need not; it is called by several threads at once.
  CompileConfig compile;
  /// How many may be compiled at once. Less than two: none is compiled before it is measured; else each is, unless there is a budget.
  int64_t compileThreads = 0;
  /// Whether compiling disturbs measuring, as it does on a CPU: all is compiled before the first is measured.
  bool needsQuiet = true;
  /// Whether what is found is kept in the cache folder, and looked for there.
  bool keeps = true;
  /// Whether all is measured although a winner is known, which the new one replaces.
  bool anew = false;
  /// Seconds after which no other configuration is begun; not positive: no such end. None is compiled before it is measured, then.
  double budget = 0;
  /// By configuration, the first one that means the same on this machine (firstAlike): one of them is measured for all. Empty: all differ.
  std::vector<size_t> sameAs;
  /// Whether measuring a configuration a second time is allowed. A benchmark that the user wrote is called once for each.
  bool mayRepeat = true;
};

struct TuneOutcome {
  size_t best = 0;
  std::vector<Measured> results; // by configuration; empty where the winner is pinned
  bool worked = false;           // at least one configuration did; else `best` is the first, whose launch says what is wrong
  bool measured = false;         // false: remembered
  double seconds = 0;            // spent on measuring
};

/// Chooses among `configs` (configText of each; there is at least one). `problem`: what the choice is remembered for; null: it is
/// not, and none is pinned. Nothing where the door ended it.
std::optional<TuneOutcome> tune(const TuneProblem *problem, llvm::ArrayRef<std::string> configs, const TuneDoor &door,
                                Diagnostics &diagnostics);

} // namespace tilewright
