// Lowers operations in program order.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

llvm::LogicalResult lowerBlock(Context &ctx, mlir::Block &block);
llvm::LogicalResult lowerOp(Context &ctx, mlir::Operation *op);
Type lowered(Context &ctx, Type type); // scalars: pointers become !llvm.ptr

} // namespace tilewright::cpu
