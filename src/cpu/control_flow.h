// This lowers loops and branches.
#pragma once

#include "cpu/context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cpu {

llvm::LogicalResult lowerFor(Context &ctx, mlir::scf::ForOp op);
llvm::LogicalResult lowerIf(Context &ctx, mlir::scf::IfOp op);
llvm::LogicalResult lowerWhile(Context &ctx, mlir::scf::WhileOp op);

} // namespace tilewright::cpu
