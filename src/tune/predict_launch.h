// Predicts the time of a GPU launch with the static model of an SM (gpu/sm_model), for the version of the kernel that the launch would use.
#pragma once

#include "driver/compile.h"
#include "gpu/sm_model/sm_model.h"
#include "runtime/argument.h"

namespace tilewright {

/// A compiled version of a kernel, as the model of an SM takes it.
struct ModeledVersion {
  std::unique_ptr<GpuArtifact> artifact;
  std::string threads; ///< IR text: the program of one thread

  /// Keeps the text, when the compilation has come to it. For CompileRequest::onStep.
  void see(const StepDone &done);
};

/// Predicts a launch of the request's kernel. `launch.arguments` and `launch.tensorBytes`: one entry for each argument of the kernel in IR;
/// `launch.registers` is taken from the assembler where it is not known and one is found. `compiled`: what compiling the request has made;
/// null, or without an artifact: nothing. The kernel is compiled only for that, and if the launch fails guards of a version. Null after an
/// error.
std::optional<gpu::LaunchPrediction> predictGpuLaunch(CompileRequest request, gpu::ModeledLaunch launch, const gpu::SmRates &rates,
                                                      const ModeledVersion *compiled, Diagnostics &diagnostics);

/// Describes a launch with these arguments of a kernel that is compiled for `specs`.
gpu::ModeledLaunch modeledLaunch(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, std::array<int64_t, 3> grid);

} // namespace tilewright
