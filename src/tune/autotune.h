// Chooses the constexpr parameters that a kernel leaves open: by rules (@triton.heuristics) or by measuring (@triton.autotune).
//
// A configuration is right for a problem, not for a kernel, so the choice is kept for each value of the declared key and the types of
// the arguments: in memory, and on disk unless TILEWRIGHT_CACHE_AUTOTUNING=0.
#pragma once

#include "runtime/kernel.h"

namespace tilewright {

/// The grid for arguments that are all known by now. Nothing after an error.
using GridFunction = std::function<std::optional<Grid>(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics)>;

struct ConfigTiming {
  const Config *config = nullptr;
  std::optional<Timing> timing; // nothing: it failed
  std::string failure;          // why
};

/// What the last call of `choose` did.
struct TuneReport {
  std::string key; // as text: "(1024, 1024), *fp32, *fp32, i32"
  const Config *best = nullptr;
  bool measured = false;             // false: remembered
  double seconds = 0;                // spent on measuring
  std::vector<ConfigTiming> timings; // of this measurement
};

/// A kernel with the choices that its decorators leave to the tuner. Without decorators it adds nothing to a launch.
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
  };
  std::optional<Choice> choose(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                               const LaunchOptions &options, Diagnostics &diagnostics);
  const TuneReport &lastReport() const { return report; }

private:
  /// A configuration with its parameters looked up.
  struct Candidate {
    const Config *config = nullptr;
    std::vector<std::pair<size_t, Argument>> values; // parameter, value
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  bool readConfigs(Diagnostics &diagnostics);
  std::optional<Choice> apply(const Candidate &candidate, const BoundArguments &known, const LaunchOptions &options,
                              Diagnostics &diagnostics) const;
  int64_t select(const GridFunction &grid, const BoundArguments &known, const LaunchOptions &options, Diagnostics &diagnostics);
  int64_t measure(const GridFunction &grid, const BoundArguments &known, const LaunchOptions &options, Diagnostics &diagnostics);
  std::string diskKey(std::string_view key, const LaunchOptions &options) const;
  void keyText(llvm::ArrayRef<Argument> known, std::string &text) const;

  Kernel plain;
  std::mutex lock; // held while measuring, so that measurements do not disturb each other
  std::vector<Candidate> candidates;
  std::vector<bool> isKey; // by parameter
  std::vector<size_t> resetParameters, restoreParameters;
  std::unordered_map<std::string, int64_t, KeyHash, std::equal_to<>> chosen; // key -> candidate
  TuneReport report;
};

/// Fills parameters by the kernel's heuristics, in order of application. False after an error.
bool applyHeuristics(const JitFunction &kernel, BoundArguments &arguments, Diagnostics &diagnostics);

/// "BLOCK_SIZE=1024, num_warps=4, num_stages=3"
std::string configText(const Config &config);

} // namespace tilewright
