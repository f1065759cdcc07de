// Values at a kernel's entry, which everything in it may use.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns a constant as an i32.
mlir::Value entryConstant(tt::FuncOp function, int64_t value);
/// Allocates `count` mbarriers; `arrivals` complete a phase of each.
mlir::Value allocBarriers(tt::FuncOp function, int64_t count, int64_t arrivals);

} // namespace tilewright::gpu
