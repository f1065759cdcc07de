// Lowers loops and branches.
#pragma once

#include "cpu/context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cpu {

llvm::LogicalResult lowerFor(Context &ctx, mlir::scf::ForOp op);
llvm::LogicalResult lowerIf(Context &ctx, mlir::scf::IfOp op);
llvm::LogicalResult lowerWhile(Context &ctx, mlir::scf::WhileOp op);

/// Return the number (i64, from 0) of the iteration that is being emitted, for a loop whose step is a positive constant, and whether it is
/// the last one (i1).
Value iterationNumber(Context &ctx, mlir::scf::ForOp loop);
Value isLastIteration(Context &ctx, mlir::scf::ForOp loop);

} // namespace tilewright::cpu
