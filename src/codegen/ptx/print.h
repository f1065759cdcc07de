// Part of the lowering of the ptx dialect: one operation -> inline assembly or an intrinsic.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace tilewright {

struct GpuTarget;

/// Replaces every ptx operation inside `function`. Arguments of type !ptx.tensor_map are already !llvm.ptr.
llvm::LogicalResult lowerPtx(mlir::ModuleOp module, mlir::Operation *function, const GpuTarget &target);

} // namespace tilewright
