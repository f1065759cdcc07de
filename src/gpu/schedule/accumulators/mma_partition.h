// A warp of its own for the MMAs of loops that only accumulate.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Gives the MMAs of a warp-specialized kernel to a partition, if its loops do nothing but MMAs that accumulate in place from zero, of
/// operands that a producer copies. Sets `ttg.partition` on the operations. The inner failure says why they get none: nothing has changed.
mlir::FailureOr<Result<void>> partitionMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
