// A kernel of an artifact, loaded: it selects a variant and a code for each launch, and runs it.
#pragma once

#include "aot_runtime/bundle.h"
#include "api/error.h"
#include "runtime/cuda/kernel.h"
#include "support/guard_checks.h"
#include "support/inline_vector.h"
#include "tilewright/runtime.h"

#include <atomic>
#include <memory>

namespace tilewright::aot {

/// The reason why a call fails.
struct Problem {
  TwErrorCode code = TW_ERROR_NONE;
  std::string text;
  explicit operator bool() const { return code != TW_ERROR_NONE; }
};

/// The reason as one text for people: the diagnostics with their advice.
Problem problemOf(const Diagnostics &diagnostics);

class Kernel {
public:
  /// Returns the kernel of an artifact. The first call decodes it; an invalid one is a problem at each call.
  static Kernel *of(TwArtifact *artifact, Problem &problem);

  const Bundle &bundle() const { return content; }
  /// See twArtifactLaunch and twArtifactLoad.
  Problem launch(const TwLaunchOptions &options, const int64_t *grid, llvm::ArrayRef<uint64_t> arguments);
  Problem load(const TwLaunchOptions &options);
  std::string describe() const;

private:
  using Grid = std::array<int64_t, 3>;
  using Slots = InlineVector<uint64_t, 32>;
  using Sizes = InlineVector<int64_t, 32>;
  /// A code for CPUs, and what its launches have measured.
  struct OnCpu {
    const CpuCode *code = nullptr;
    TwEntry entry = nullptr;
    GuardChecks checks;
    std::atomic<float> programNanoseconds{-1};
  };
  struct Loaded {
    const Variant *variant = nullptr;
    std::vector<std::unique_ptr<OnCpu>> cpu; // those that this CPU runs, the best first
    std::vector<std::unique_ptr<gpu::GpuKernel>> gpu;
    /// How well the best code fits the machine: a larger number is better. Null if no code runs. `device`: null for the CPU.
    std::optional<int64_t> rank(const gpu::CudaDevice *device) const;
  };
  Kernel(Bundle bundle, llvm::ArrayRef<TwEntry> entries);
  /// Returns the variant for a launch. Null, with the problem, if there is none, or none with code for the machine.
  Loaded *select(llvm::ArrayRef<uint64_t> arguments, const TwLaunchOptions &options, Problem &problem);
  Problem gridOf(const Variant &variant, const int64_t *given, llvm::ArrayRef<uint64_t> arguments, Grid &grid) const;
  Problem noCodeHere(const std::string &machine) const;
  /// Says which pointer leads to memory that the kernel cannot use.
  Problem pointerProblem(const Variant &variant, const std::vector<SlotKind> &kinds, const Slots &slots, const Sizes &sizes) const;
  Problem launchOnCpu(Loaded &loaded, const TwLaunchOptions &options, const Grid &grid, const Slots &slots, const Sizes &sizes);
  Problem launchOnGpu(Loaded &loaded, const TwLaunchOptions &options, const Grid &grid, const Slots &slots, const Sizes &sizes);

  Bundle content;
  std::vector<Loaded> variants;
};

/// Reads the options of a call; null stands for the default.
Problem readOptions(const TwLaunchOptions *given, TwLaunchOptions &options);

} // namespace tilewright::aot
