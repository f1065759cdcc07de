// From structured control flow and arithmetic to the LLVM dialect, for CPUs and GPUs alike:
//   before: scf.for %i = %low to %high step %step { ... }     after: llvm.br ^test   ^test: llvm.cond_br %less, ^body, ^end
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
class DialectRegistry;
} // namespace mlir

namespace tilewright {

/// Converts scf, arith, cf and ub (on scalars and 1-D vectors) to the LLVM dialect, inside llvm.func bodies. There must be no index
/// types.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);
/// Registers the dialects and translations that lowering and code generation need.
void registerCodegenDialects(mlir::DialectRegistry &registry);

} // namespace tilewright
