// A kernel compiled for a GPU and run on the simulator, with the host's memory as the GPU's: how the GPU back end is tested where there is
// no GPU.
#pragma once

#include "pipeline/compile.h"
#include "runtime/kernel.h"

namespace tilewright {

struct SimulateLaunch {
  /// Accesses through an argument outside of its memory are errors, where this is known; so are races between programs.
  bool checkBounds = false;
  /// Receives what the kernel prints, in whole lines.
  std::function<void(llvm::StringRef)> print;
};

/// One specialisation. Not safe to run on two threads at once; it lives as long as the thread that made it.
class SimulatedKernel {
public:
  /// For request.gpu, which must be set. Null after an error.
  static std::shared_ptr<SimulatedKernel> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~SimulatedKernel();
  /// Runs the grid. The text of what went wrong, or empty.
  std::string run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const;

private:
  SimulatedKernel();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
