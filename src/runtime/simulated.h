// A kernel compiled for a GPU and run on the simulator, with the host's memory as the GPU's. It tests the GPU back end without a GPU.
#pragma once

#include "driver/compile.h"
#include "ir/interpret/interpret.h"
#include "runtime/kernel.h"
#include "support/launch_guards.h"

namespace tilewright {

class ThreadProgram; // driver/program.h

/// The options of a launch on the simulator, or on the interpreter.
struct SimulateLaunch {
  /// Makes an access outside of its argument's memory an error, if that is known; so is a race between programs.
  bool checkBounds = false;
  /// Receives the kernel's output, in whole lines.
  std::function<void(llvm::StringRef)> print;
  /// Called when a program on the interpreter reaches breakpoint(), like InterpretOptions::onBreakpoint.
  std::function<bool(llvm::StringRef, int64_t, std::array<int64_t, 3>, llvm::ArrayRef<InterpretLocal>)> onBreakpoint;
  /// Called when NumPy would warn about a result, like InterpretOptions::onWarning.
  std::function<void(llvm::StringRef, int64_t, llvm::StringRef)> onWarning;
  /// Another thread sets it to true to end the run with an error.
  const std::atomic<bool> *stop = nullptr;
};

/// One specialization. One thread at a time runs it.
class SimulatedKernel {
public:
  /// Compiles for request.gpu, which must be set. Null after an error.
  static std::shared_ptr<SimulatedKernel> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~SimulatedKernel();
  /// Returns for each run-time value whether the kernel may write to its memory.
  const std::vector<bool> &writes() const;
  /// Runs the grid. Returns the error as text, or an empty text.
  std::string run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const;

private:
  SimulatedKernel();
  /// Returns the program whose guards this launch passes; compiled now if necessary.
  const ThreadProgram *versionFor(const LaunchValues &launch, std::string &problem) const;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
