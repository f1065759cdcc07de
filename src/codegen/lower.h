#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
class DialectRegistry;
} // namespace mlir

namespace tilewright {

/// scf, arith, cf, ub (on scalars and 1-D vectors) -> the LLVM dialect, inside llvm.func bodies. No index type occurs.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);
/// The dialects and translations that lowering and code generation need.
void registerCodegenDialects(mlir::DialectRegistry &registry);

} // namespace tilewright
