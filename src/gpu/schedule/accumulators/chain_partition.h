// A warp of its own for the MMAs of loops in which threads compute between dots.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Gives the MMAs of a warp-specialized kernel to a partition, if some of them need what threads compute in the same iteration, as in
/// attention. Sets `ttg.partition` on the operations. False if the kernel has MMAs outside of such loops, MMAs of
/// scaled operands, operands that are neither copied by a producer nor written in their loop or before it, or too many columns of tensor
/// memory: nothing has changed.
mlir::FailureOr<bool> partitionChainedMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
