// The accesses of a buffer in shared memory, through its stages and views.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns the alloc that stages and views refer to; null for anything else.
ttg::AllocOp allocOf(mlir::Value buffer);
/// Returns the stage of a circular buffer that a buffer, or a view of it, is; null for anything else.
ttg::StageOp stageOf(mlir::Value buffer);
/// Returns every operation that reads or writes the buffer.
llvm::SmallVector<mlir::Operation *> accessesOf(ttg::AllocOp alloc);
/// True if an operation, an access of a buffer, writes it.
bool writesBuffer(mlir::Operation *access);
/// Returns every operation in `within` that writes the buffer.
llvm::SmallVector<mlir::Operation *> writersIn(mlir::Operation *within, ttg::AllocOp alloc);

} // namespace tilewright::gpu
