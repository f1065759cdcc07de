// Lowers loops and branches.
#pragma once

#include "cpu/context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cpu {

llvm::LogicalResult lowerFor(Context &ctx, mlir::scf::ForOp op);
llvm::LogicalResult lowerIf(Context &ctx, mlir::scf::IfOp op);
llvm::LogicalResult lowerWhile(Context &ctx, mlir::scf::WhileOp op);

/// Returns the number (i64, from 0) of the iteration that is being emitted. The loop's step is a positive constant.
Value iterationNumber(Context &ctx, mlir::scf::ForOp loop);
/// Returns whether the iteration that is being emitted is the last one (i1).
Value isLastIteration(Context &ctx, mlir::scf::ForOp loop);

} // namespace tilewright::cpu
