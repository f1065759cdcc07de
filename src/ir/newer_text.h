// Converts parsed operations of Triton versions after 3.6 to the operations of this compiler.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class Location;
class ModuleOp;
class OpBuilder;
class Operation;
} // namespace mlir

namespace tilewright::tt {

/// Replaces operations and attributes of newer versions in a parsed module that is not verified yet. Reports errors on the operation.
llvm::LogicalResult upgrade(mlir::ModuleOp module);

/// Creates PTX that waits for the previous kernel, or lets the next kernel start. Needs sm_90.
mlir::Operation *createGridDependency(mlir::OpBuilder &builder, mlir::Location loc, bool waits);

/// Replaces tt.grid_dependency_*. If kernels do not overlap (`exist` is false), removes them.
void expandGridDependencies(mlir::ModuleOp module, bool exist);

} // namespace tilewright::tt
