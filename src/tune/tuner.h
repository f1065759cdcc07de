// The tuner: one for all doors (the C and C++ interface, the command line, Python's @autotune). A door says what
// is tuned and how one configuration is measured; the tuner decides which one wins, and what is remembered.
#pragma once

#include "tune/agreement.h"
#include "tune/background_compiler.h"
#include "tune/store.h"

namespace tilewright {

/// How a door measures.
struct TunerCallbacks {
  /// Measures one configuration. `best`: the best median so far; one that is far behind need not be measured
  /// precisely. Without it, this time will decide. Null ends the tuning, for a reason that the door knows.
  std::function<std::optional<Measured>(size_t config, std::optional<double> best)> measure;
  /// Runs one configuration to compare its results: its group, or null if it does not work. Used if other processes measure some of the
  /// configurations; otherwise `measure` compares.
  std::function<std::optional<size_t>(size_t config)> tryOut;
  /// How groups of results are told apart. Not needed if all results are of one group.
  GroupCallbacks groups;
  /// Compiles one configuration, so that measuring it need not; several threads call it at once.
  CompileConfig compile;
  /// How many may be compiled at once. Fewer than two: each is compiled when it is measured; otherwise ahead, unless there is a budget.
  int64_t compileThreads = 0;
  /// Whether compiling disturbs measuring, as it does on a CPU: then everything is compiled before the first measurement.
  bool needsQuiet = true;
  /// Whether what is found is kept in the cache folder, and looked for there.
  bool keeps = true;
  /// Whether everything is measured although a winner is known, which the new one replaces.
  bool anew = false;
  /// Seconds after which no further configuration is begun; not positive: no limit. A limit precludes compiling ahead.
  double budget = 0;
  /// For each configuration, the first one with the same meaning here (firstAlike): that one is measured for all. Empty: all differ.
  std::vector<size_t> sameAs;
  /// Whether a configuration may be measured a second time. A benchmark that the user wrote is called once for each.
  bool mayRepeat = true;
};

struct TuneOutcome {
  size_t best = 0;
  std::vector<Measured> results; // by configuration; empty where the winner is pinned
  bool worked = false;           // at least one configuration worked; otherwise `best` is the first, whose launch reports what is wrong
  bool measured = false;         // false: the choice was remembered
  double seconds = 0;            // spent on measuring
  Decision decision = Decision::agreed;
};

/// Chooses among `configs` (configText of each; there is at least one). `problem`: what the choice
/// is remembered for; null: it is neither remembered nor pinned. Null if the door ended the tuning.
std::optional<TuneOutcome> tune(const TuneProblem *problem, llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks,
                                Diagnostics &diagnostics);

} // namespace tilewright
