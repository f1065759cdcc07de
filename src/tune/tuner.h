// The tuner of all front ends (the C and C++ interface, the command line, Python's @autotune). A front end describes the problem and
// measures one configuration; the tuner decides which one wins, and stores the result.
#pragma once

#include "tune/agreement.h"
#include "tune/background_compiler.h"
#include "tune/store.h"

namespace tilewright {

/// The callbacks of a front end.
struct TunerCallbacks {
  /// Measures one configuration. `best`: the best median so far; a configuration that is far slower need not be measured precisely. Without
  /// it, this time decides. Null ends the tuning, for a reason that the front end knows.
  std::function<std::optional<Measured>(size_t config, std::optional<double> best)> measure;
  /// Runs one configuration to compare its results. Returns its group, or null if it fails. Called if other processes measure some of the
  /// configurations; otherwise `measure` compares.
  std::function<std::optional<size_t>(size_t config)> tryOut;
  /// Distinguishes groups of results. Not needed if all results are of one group.
  GroupCallbacks groups;
  /// Compiles one configuration before it is measured. Several threads call it at once.
  CompileConfig compile;
  /// The number of concurrent compilations. Below two, each configuration is compiled when it is measured; so it is if there is a budget.
  int64_t compileThreads = 0;
  /// True if compiling disturbs measuring, as on a CPU. Then everything is compiled before the first measurement.
  bool needsQuiet = true;
  /// True if results are stored in the cache folder, and looked up there.
  bool usesCache = true;
  /// True to measure everything even if a winner is stored; the new winner replaces it.
  bool remeasure = false;
  /// Seconds after which no further configuration is started; not positive: no limit. A limit turns off compiling in the background.
  double budget = 0;
  /// For each configuration, the first one with the same meaning here (firstAlike), which is measured for all of them. Empty: all differ.
  std::vector<size_t> sameAs;
  /// True if a configuration may be measured a second time. A benchmark of the user is called once for each.
  bool mayRepeat = true;
};

struct TuneOutcome {
  size_t best = 0;
  std::vector<Measured> results; // one for each configuration; empty if the winner is pinned
  bool worked = false;           // at least one configuration worked; otherwise `best` is the first one, whose launch reports the error
  bool measured = false;         // false: the choice was stored
  double seconds = 0;            // spent on measuring
  Decision decision = Decision::agreed;
};

/// Chooses among `configs` (configText of each; there is at least one). `problem`: the key of the stored choice; null: it is neither stored
/// nor pinned. Null if a callback ended the tuning.
std::optional<TuneOutcome> tune(const TuneProblem *problem, llvm::ArrayRef<std::string> configs, const TunerCallbacks &callbacks,
                                Diagnostics &diagnostics);

} // namespace tilewright
