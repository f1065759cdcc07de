// Whether a CTA gains if it executes programs of others (cluster launch control). Copies and MMAs of the next program overlap with the
// store of a tile, for which the store needs shared memory of its own: stages that are lost for that must not be missed.
#pragma once

#include "gpu/cost_model/cta_pairs.h"

#include "llvm/ADT/SmallVector.h"

namespace tilewright::gpu {

/// The loop over K of a kernel.
struct PipelinedLoop {
  llvm::SmallVector<DotShape> dots; ///< of an iteration
  int64_t stages = 0;               ///< without a program loop
  int64_t stagesInLoop = 0;         ///< with one
};

/// True if the stages in a program loop cover the latency of a copy, or if they are as many as without one.
bool programLoopPays(const PipelinedLoop &loop);

} // namespace tilewright::gpu
