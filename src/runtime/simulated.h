// A kernel compiled for a GPU and run on the simulator, with the host's memory as
// the GPU's memory: this is how the GPU back end is tested where there is no GPU.
#pragma once

#include "ir/interpret/interpret.h"
#include "driver/compile.h"
#include "runtime/kernel.h"
#include "support/launch_guards.h"

namespace tilewright {

class ThreadProgram; // driver/program.h

/// How a launch runs on the simulator, or on the interpreter.
struct SimulateLaunch {
  /// An access through an argument that is outside the argument's memory is an error, where that is known; so is a race between programs.
  bool checkBounds = false;
  /// Receives what the kernel prints, in whole lines.
  std::function<void(llvm::StringRef)> print;
  /// Called where a program on the interpreter reaches breakpoint(), like InterpretOptions::onBreakpoint.
  std::function<bool(llvm::StringRef, int64_t, std::array<int64_t, 3>, llvm::ArrayRef<InterpretLocal>)> onBreakpoint;
  /// Called where NumPy would warn about a result, like InterpretOptions::onWarning.
  std::function<void(llvm::StringRef, int64_t, llvm::StringRef)> onWarning;
  /// Set to true by another thread, it ends the run with an error.
  const std::atomic<bool> *stop = nullptr;
};

/// One specialisation. Two threads that run it take turns.
class SimulatedKernel {
public:
  /// For request.gpu, which must be set. Null after an error.
  static std::shared_ptr<SimulatedKernel> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~SimulatedKernel();
  /// For each run-time value, whether the kernel may write to the memory that it points to.
  const std::vector<bool> &writes() const;
  /// Runs the grid. Returns what went wrong, as text, or an empty text.
  std::string run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const;

private:
  SimulatedKernel();
  /// The program that assumes nothing which this launch breaks; compiled now if necessary.
  const ThreadProgram *versionFor(const LaunchValues &launch, std::string &problem) const;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
