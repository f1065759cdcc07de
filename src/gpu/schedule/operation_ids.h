// The numbers (ttg.id) by which schedules name operations of a loop.
#pragma once

#include "gpu/schedule/mma_waits.h"

namespace tilewright::gpu {

/// Returns the number of an operation that has one.
int64_t idOf(mlir::Operation *op);
void setId(mlir::Operation *op, int64_t id);
/// Returns the operations of the block by number. Of several with the same number, as of clones, none is found: their entry is null.
llvm::DenseMap<int64_t, mlir::Operation *> operationsById(mlir::Block *block);
/// Returns the edges as attributes. Their operations have numbers.
llvm::SmallVector<ttg::AsyncEdgeAttr> attributesOf(llvm::ArrayRef<MmaEdge> edges);

} // namespace tilewright::gpu
