// Text of Triton versions after 3.6: what the dialect's parser has admitted becomes the operations that this compiler works on.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class Location;
class ModuleOp;
class OpBuilder;
class Operation;
} // namespace mlir

namespace tilewright::tt {

/// Replaces operations and attributes of newer versions in a module that has just been parsed and is not verified yet. Errors are
/// reported on the operation.
llvm::LogicalResult upgrade(mlir::ModuleOp module);

/// Waits for the kernel before this one, or lets the next kernel start: PTX of GPUs from sm_90 on.
mlir::Operation *createGridDependency(mlir::OpBuilder &builder, mlir::Location loc, bool waits);

/// Replaces tt.grid_dependency_*. Where kernels do not overlap (`exist` is false), there is nothing to wait for.
void expandGridDependencies(mlir::ModuleOp module, bool exist);

} // namespace tilewright::tt
