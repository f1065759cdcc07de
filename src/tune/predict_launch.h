// Predicts the time of a GPU launch with the static model of an SM (gpu/sm_model), for the version of the kernel that the launch would use.
#pragma once

#include "driver/compile.h"
#include "gpu/sm_model/sm_model.h"
#include "runtime/argument.h"

namespace tilewright {

/// Compiles the request and predicts its launch. `launch.arguments` and `launch.tensorBytes`: one entry for each argument of the kernel in
/// IR; `launch.registers` is taken from the assembler where it is 0 and one is found. Null after an error.
std::optional<gpu::LaunchPrediction> predictGpuLaunch(CompileRequest request, gpu::ModeledLaunch launch, const gpu::SmRates &rates,
                                                      Diagnostics &diagnostics);

/// Describes a launch with these arguments of a kernel that is compiled for `specs`.
gpu::ModeledLaunch modeledLaunch(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, std::array<int64_t, 3> grid);

} // namespace tilewright
