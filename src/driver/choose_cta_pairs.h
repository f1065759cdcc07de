#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Splits the program of a kernel over two CTAs (num_ctas = 2), if its launch asks for one and the two multiply together (pair-ctas) and
/// take less time. The steps up to schedule-loops try it on a copy of the kernel. Fails if that shows a bug.
mlir::LogicalResult chooseCtaPairs(mlir::ModuleOp module);

} // namespace tilewright
