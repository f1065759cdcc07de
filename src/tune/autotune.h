// The tuner's door for C++ (and C, and the command line): a kernel with the choices that its decorators
// leave open. Rules (@triton.heuristics) or measurements (@triton.autotune) make these choices.
//
// A configuration is right for a problem, not for a kernel, so the choice is kept for each value of the declared key and the types of the
// tensors: in memory, and on disk unless TILEWRIGHT_CACHE_AUTOTUNING=0.
#pragma once

#include "tune/initial_config.h"
#include "tune/tuner.h"

#include <deque>
#include <map>
#include <set>

namespace tilewright {

class LaunchMeter;
class ResultCheck;

/// The grid for arguments that are all known. Null after an error.
using GridFunction = std::function<std::optional<Grid>(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics)>;

/// What was done for one problem.
struct TuneReport {
  TuneProblem problem;
  std::vector<const Config *> configs; // those that were left after pruning
  TuneOutcome outcome;
  const Config *best() const { return configs[outcome.best]; }
};

/// Whether choices are kept on disk: unless TILEWRIGHT_CACHE_AUTOTUNING is off.
bool tunedAreKept();

/// A kernel with the choices that its decorators leave to the tuner. Without decorators it adds nothing to a launch.
/// Any thread may launch it; one thread tunes at a time, and the others wait for the results that they need.
class TunedKernel {
public:
  explicit TunedKernel(std::shared_ptr<const JitFunction> function);
  /// IR text leaves no choice.
  explicit TunedKernel(std::shared_ptr<const IrKernel> text);

  Kernel &kernel() { return plain; }
  const JitFunction &function() const { return plain.function(); }

  /// Binds, chooses, computes the grid, compiles and runs.
  bool launch(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
              const LaunchOptions &options, Diagnostics &diagnostics);
  /// The same without running: arguments with all choices made, and the options that go with them.
  struct Choice {
    BoundArguments arguments;
    LaunchOptions options;
    std::shared_ptr<const TuneReport> report; // null where there was no choice
  };
  std::optional<Choice> choose(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                               const LaunchOptions &options, Diagnostics &diagnostics);
  // Set before the first launch:
  std::function<void(const Config &config, const Measured &result)> progress; // called with each configuration as it is measured
  bool triesInitialFirst = false; // measures in the order of the estimates (tune/estimate.h), not of the list
  double budget = 0;         // seconds of measuring, see TunerCallbacks
  bool remeasures = false; // although a winner is known on disk

private:
  /// A configuration with its parameters looked up.
  struct Candidate {
    Config config;
    std::vector<std::pair<size_t, Argument>> values; // parameter, value
  };
  /// What a launch contributes to the tuning.
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
  /// What configurations are measured with; made before the first measurement.
  struct Bench {
    std::unique_ptr<LaunchMeter> meter;
    std::unique_ptr<ResultCheck> check;
    std::map<const Candidate *, size_t> groups; // of those whose results have been compared
  };
  std::optional<std::string> rehearse(const Candidate &candidate, const Call &call, const std::optional<Grid> &grid);
  Measured measure(const Candidate &candidate, const Call &call, Bench &bench, std::optional<double> best);
  /// Prepares the comparison of results, if they are compared. Returns why the configuration does not work, or null.
  std::optional<std::string> prepareCheck(const Choice &choice, Bench &bench);
  /// Runs it once, from the state that all configurations start from. Returns the group of its results; a failure says why it cannot win.
  Result<size_t> tryOut(const Candidate &candidate, const Choice &choice, const Grid &grid, Bench &bench);
  /// See GroupCallbacks::isConfirmed.
  std::optional<bool> isConfirmed(const Candidate &candidate, const Call &call, Bench &bench, size_t group);
  GroupCallbacks groupCallbacks(llvm::ArrayRef<const Candidate *> kept, const Call &call, Bench &bench);
  std::optional<TuneOutcome> tuneAmong(llvm::ArrayRef<const Candidate *> kept, const Call &call, const TuneProblem &problem,
                                       Diagnostics &diagnostics);
  void reportDifferences(const TuneOutcome &outcome, Diagnostics &diagnostics) const;
  void reportFailures(const TuneOutcome &outcome, Diagnostics &diagnostics) const;
  /// The candidates that prune_configs_by leaves. Null after an error.
  std::optional<std::vector<const Candidate *>> prune(const BoundArguments &known, Diagnostics &diagnostics) const;
  Candidate candidateOf(llvm::ArrayRef<OpenSize> open, llvm::ArrayRef<int64_t> sizes) const;
  std::string whyNoneWorks(llvm::ArrayRef<OpenSize> open, const Call &call);
  std::optional<std::string> differenceBetween(const Candidate &guessed, const Candidate &other, const Call &call,
                                               Diagnostics &diagnostics);
  /// For configs="auto": the configuration that is guessed. Null after an error.
  std::optional<Selected> guess(const Call &call, Diagnostics &diagnostics);
  double estimate(const Candidate &candidate, const Call &call) const;
  void sortByEstimate(std::vector<const Candidate *> &kept, const Call &call) const;

  Kernel plain;
  std::vector<bool> isKey; // by parameter
  std::vector<Candidate> candidates;
  std::deque<Candidate> guesses; // those that launches have taken
  std::vector<size_t> resetParameters, restoreParameters;

  /// What the rules of @heuristics last gave, and for which arguments.
  struct RuleResults {
    SpecializationKey key; // empty: for none
    std::vector<std::pair<size_t, Argument>> given;
  };
  mutable RuleResults lastRules;
  mutable std::mutex lock; // of `chosen` and `lastRules`, for a moment
  std::unordered_map<std::string, Selected, KeyHash, std::equal_to<>> chosen;
  // Held while measuring, so that measurements do not disturb one another. A grid function may launch the kernel with another key.
  std::recursive_mutex tuning;
  std::set<std::string, std::less<>> underWay; // keys that are being tuned, by the thread that holds `tuning`
};

/// Fills parameters by the kernel's heuristics, in order of application. False after an error.
bool applyHeuristics(const JitFunction &kernel, BoundArguments &arguments, Diagnostics &diagnostics);

} // namespace tilewright
