// The tuner for C++, C and the command line: a kernel with the choices that its decorators leave open. Rules (@triton.heuristics) or
// measurements (@triton.autotune) make these choices.
//
// A configuration fits a problem, not a kernel. So the choice is stored for each value of the declared key and the types of the tensors: in
// memory, and on disk unless TILEWRIGHT_CACHE_AUTOTUNING=0.
#pragma once

#include "tune/initial_config.h"
#include "tune/tuner.h"

#include <deque>
#include <map>
#include <set>

namespace tilewright {

class LaunchMeter;
class ResultCheck;

/// Returns the grid for complete arguments. Null after an error.
using GridFunction = std::function<std::optional<Grid>(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics)>;

/// The tuning of one problem.
struct TuneReport {
  TuneProblem problem;
  std::vector<const Config *> configs; // the configurations that remain after pruning
  TuneOutcome outcome;
  const Config *best() const { return configs[outcome.best]; }
};

/// True if choices are stored on disk: unless TILEWRIGHT_CACHE_AUTOTUNING is off.
bool cachesTunedConfigs();

/// A kernel with the choices that its decorators leave to the tuner. Without decorators it adds nothing to a launch. Any thread may launch
/// it. One thread tunes at a time, and other threads wait for the results that they need.
class TunedKernel {
public:
  explicit TunedKernel(std::shared_ptr<const JitFunction> function);
  /// Wraps IR text, which has no open choices.
  explicit TunedKernel(std::shared_ptr<const IrKernel> text);

  Kernel &kernel() { return plain; }
  const JitFunction &function() const { return plain.function(); }

  /// Binds arguments, chooses a configuration, computes the grid, compiles and runs.
  bool launch(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
              const LaunchOptions &options, Diagnostics &diagnostics);
  /// A launch with all choices made: its arguments and options.
  struct Choice {
    BoundArguments arguments;
    LaunchOptions options;
    std::shared_ptr<const TuneReport> report; // null if there was no choice
  };
  std::optional<Choice> choose(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                               const LaunchOptions &options, Diagnostics &diagnostics);
  /// Compiles what a launch with these arguments needs, and runs nothing. If the tuner has not chosen yet, it compiles all configurations,
  /// and the first launch only measures them. `grid` may be empty: then versions that depend on the grid are left to the launch. False
  /// after an error: nothing compiles.
  bool prepare(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
               const LaunchOptions &options, Diagnostics &diagnostics);
  // Options, set before the first launch.
  std::function<void(const Config &config, const Measured &result)> progress; // called with each configuration as it is measured
  bool triesInitialFirst = false; // measures in the order of the estimates (tune/estimate.h), not of the list
  double budget = 0;              // seconds of measuring, see TunerCallbacks
  bool remeasures = false;        // measures even if a winner is stored on disk

private:
  /// A configuration with its parameters looked up.
  struct Candidate {
    Config config;
    std::vector<std::pair<size_t, Argument>> values; // parameter, value
  };
  /// The properties of a launch that tuning needs.
  struct Call {
    const GridFunction &grid;
    const BoundArguments &known;
    const LaunchOptions &options;
  };
  struct Selected {
    const Candidate *candidate = nullptr;
    std::shared_ptr<const TuneReport> report;
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  bool readConfigs(Diagnostics &diagnostics);
  bool readTensorNames(Diagnostics &diagnostics);
  std::optional<Choice> apply(const Candidate &candidate, const BoundArguments &known, const LaunchOptions &options,
                              Diagnostics &diagnostics) const;
  std::optional<Choice> complete(const Candidate &candidate, const Call &call, Diagnostics &diagnostics) const;
  bool applyRules(BoundArguments &arguments, Diagnostics &diagnostics) const;
  std::optional<Selected> select(const Call &call, Diagnostics &diagnostics);
  std::optional<Selected> selectByMeasuring(const Call &call, std::string_view key, Diagnostics &diagnostics);
  /// The state of a measurement, made before the first one.
  struct Bench {
    std::unique_ptr<LaunchMeter> meter;
    std::unique_ptr<ResultCheck> check;
    std::map<const Candidate *, size_t> groups; // of the configurations whose results have been compared
  };
  std::optional<std::string> compileConfig(const Candidate &candidate, const Call &call, const std::optional<Grid> &grid);
  Measured measure(const Candidate &candidate, const Call &call, Bench &bench, std::optional<double> best);
  /// Prepares the comparison of results, if results are compared. Returns the reason why the configuration fails, or null.
  std::optional<std::string> prepareCheck(const Choice &choice, Bench &bench);
  /// Runs a configuration once, from the common initial state. Returns the group of its results, or the reason why it cannot win.
  Result<size_t> tryOut(const Candidate &candidate, const Choice &choice, const Grid &grid, Bench &bench);
  /// See GroupCallbacks::isConfirmed.
  std::optional<bool> isConfirmed(const Candidate &candidate, const Call &call, Bench &bench, size_t group);
  GroupCallbacks groupCallbacks(llvm::ArrayRef<const Candidate *> selected, const Call &call, Bench &bench);
  std::optional<TuneOutcome> tuneAmong(llvm::ArrayRef<const Candidate *> selected, const Call &call, const TuneProblem &problem,
                                       Diagnostics &diagnostics);
  void reportDifferences(const TuneOutcome &outcome, Diagnostics &diagnostics) const;
  void reportFailures(const TuneOutcome &outcome, Diagnostics &diagnostics) const;
  /// Returns the candidates that prune_configs_by selects. Null after an error.
  std::optional<std::vector<const Candidate *>> prune(const BoundArguments &known, Diagnostics &diagnostics) const;
  Candidate candidateOf(llvm::ArrayRef<OpenSize> open, llvm::ArrayRef<int64_t> sizes) const;
  std::string reasonNoneWorks(llvm::ArrayRef<OpenSize> open, const Call &call);
  std::optional<std::string> differenceBetween(const Candidate &initial, const Candidate &other, const Call &call,
                                               Diagnostics &diagnostics);
  /// Returns the initial configuration for configs="auto". Null after an error.
  std::optional<Selected> chooseInitial(const Call &call, Diagnostics &diagnostics);
  double estimate(const Candidate &candidate, const Call &call) const;
  SpecializationKey chosenKey(const Call &call) const;
  std::optional<Selected> chosenFor(std::string_view key) const;
  bool prepareAll(const Call &call, bool hasGrid, Diagnostics &diagnostics);
  bool prepareChoice(const Choice &choice, const std::optional<Grid> &grid, Diagnostics &diagnostics);
  void sortByEstimate(std::vector<const Candidate *> &selected, const Call &call) const;

  Kernel plain;
  std::vector<bool> isKey; // by parameter
  std::vector<Candidate> candidates;
  std::deque<Candidate> initialChoices; // the initial configurations that launches use
  std::vector<size_t> resetParameters, restoreParameters;

  /// The last results of the rules of @heuristics, and their arguments.
  struct RuleResults {
    SpecializationKey key; // empty: no results yet
    std::vector<std::pair<size_t, Argument>> given;
  };
  mutable RuleResults lastRules;
  mutable std::mutex lock; // of `chosen` and `lastRules`, held only briefly
  std::unordered_map<std::string, Selected, KeyHash, std::equal_to<>> chosen;
  // Held while measuring, so that measurements do not disturb each other. A grid function may launch the kernel with another key.
  std::recursive_mutex tuning;
  std::set<std::string, std::less<>> underWay; // the keys that the thread that holds `tuning` is tuning
};

/// Fills parameters by the kernel's heuristics, in order of application. False after an error.
bool applyHeuristics(const JitFunction &kernel, BoundArguments &arguments, Diagnostics &diagnostics);

} // namespace tilewright
