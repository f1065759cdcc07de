// A stage of one iteration outside the loop, which runs that stage for another iteration than the rest (prefetch_mma.cpp,
// two_stage_pipeline.cpp).
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::gpu {

/// Clones the operations of a stage at the insertion point, in a branch that is taken if the iteration `exists`. `map` has the iteration's
/// values. The branch returns what the clones make of `results`; otherwise `substitutes`, which it calls in the other block.
mlir::scf::IfOp peelStage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value exists, llvm::ArrayRef<mlir::Operation *> stage,
                          mlir::IRMapping map, mlir::ValueRange results, llvm::function_ref<llvm::SmallVector<mlir::Value>()> substitutes);

} // namespace tilewright::gpu
