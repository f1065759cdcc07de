// A loop of which one part runs an iteration late.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// True if an iteration of the loop, from its first MMA `firstMma` on,
/// can be cut into two parts, the second of which runs one iteration late.
bool canPipelineTwoStages(mlir::scf::ForOp loop, ttg::MmaAsyncOp firstMma);
/// Cuts it: the loop has one iteration less, and the missing parts stand before and after it. Returns the new loop.
/// Reports a bug if a barrier wait has no reader after it.
mlir::FailureOr<mlir::scf::ForOp> pipelineTwoStages(mlir::scf::ForOp loop, ttg::MmaAsyncOp firstMma);

} // namespace tilewright::gpu
