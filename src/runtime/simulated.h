// A kernel compiled for a GPU and run on the simulator, with the host's memory as the GPU's: how the GPU back end is tested where there is
// no GPU.
#pragma once

#include "ir/interpret/interpret.h"
#include "pipeline/compile.h"
#include "runtime/kernel.h"
#include "support/launch_facts.h"

namespace tilewright {

class ThreadProgram; // pipeline/program.h

/// How a launch runs on the simulator, or on the interpreter.
struct SimulateLaunch {
  /// Accesses through an argument outside of its memory are errors, where this is known; so are races between programs.
  bool checkBounds = false;
  /// Receives what the kernel prints, in whole lines.
  std::function<void(llvm::StringRef)> print;
  /// Called where a program on the interpreter comes to breakpoint(), as InterpretOptions::onBreakpoint is.
  std::function<bool(llvm::StringRef, int64_t, std::array<int64_t, 3>, llvm::ArrayRef<InterpretLocal>)> onBreakpoint;
  /// Called where NumPy would warn of a result, as InterpretOptions::onWarning is.
  std::function<void(llvm::StringRef, int64_t, llvm::StringRef)> onWarning;
  /// Where another thread sets it to true, the run ends with an error.
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
  /// Runs the grid. The text of what went wrong, or empty.
  std::string run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const;

private:
  SimulatedKernel();
  /// The program that takes nothing for granted which this launch breaks; compiled now, if need be.
  const ThreadProgram *versionFor(const LaunchValues &launch, std::string &problem) const;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
