// A warp of its own for the MMAs of loops in which threads compute between dots.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Gives the MMAs of a warp-specialized kernel to a partition, if some of them need what threads compute in the same iteration, as in
/// attention. Sets `ttg.partition` on the operations. Returns why not, and changes nothing, if the kernel has MMAs outside of such loops,
/// MMAs of scaled operands, operands that are neither copied by a producer nor written in their loop or before it, or too many columns of
/// tensor memory.
mlir::FailureOr<Result<void>> partitionChainedMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
