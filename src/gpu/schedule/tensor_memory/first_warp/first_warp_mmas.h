// MMAs without a partition: the first warp of the threads issues them.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Gives the accumulators of tcgen05.mma their columns of tensor memory. Refuses the kernel if they do not fit.
mlir::LogicalResult issueInFirstWarp(tt::FuncOp function, const GpuTarget &target);

} // namespace tilewright::gpu
