// The accumulators of a kernel's dots before tiles have layouts, for split-ctas and choose-warps. cost_model/accumulators.h counts those of
// MMAs.
#pragma once

#include "mlir/IR/Operation.h"

#include <cstdint>

namespace tilewright::gpu {

/// Returns the maximum number of accumulator bits that are live at one time in a loop of the function.
int64_t accumulatorBits(mlir::Operation *function);

} // namespace tilewright::gpu
