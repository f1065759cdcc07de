// Whether a CTA gains if it executes programs of others (cluster launch control). Copies and MMAs of the next program overlap with the
// store of a tile, for which the store needs shared memory of its own: stages that are lost for that must not be missed.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tilewright::gpu {

/// The MMA of one dot in one CTA: [rows, depth] * [depth, columns].
struct DotShape {
  int64_t rows = 0, columns = 0;
  int64_t depthBytes = 0; ///< of a row of the first operand
};

/// Returns the cycles in which the tensor cores of an SM multiply these dots.
int64_t tensorCoreCycles(llvm::ArrayRef<DotShape> dots);

/// True if so many stages cover the latency of a copy: while these dots of the other stages are multiplied, it arrives.
bool coverCopies(int64_t stages, llvm::ArrayRef<DotShape> dots);

/// The loop over K of a kernel.
struct PipelinedLoop {
  llvm::SmallVector<DotShape> dots; ///< of an iteration
  int64_t stages = 0;               ///< without a program loop
  int64_t stagesInLoop = 0;         ///< with one
};

/// True if the stages in a program loop cover the latency of a copy, or if they are as many as without one.
bool programLoopPays(const PipelinedLoop &loop);

} // namespace tilewright::gpu
