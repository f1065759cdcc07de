// The numbers (ttg.id) by which schedules name operations of a loop.
#pragma once

#include "gpu/schedule/mma_waits.h"

#include <map>

namespace tilewright::gpu {

/// Returns the number of an operation that has one.
int64_t idOf(mlir::Operation *op);
void setId(mlir::Operation *op, int64_t id);

/// The operations of a block by number. A number may be any integer: a user may have written it.
class OperationsById {
public:
  explicit OperationsById(mlir::Block *block);
  /// Null if no operation has the number, or several, as clones do.
  mlir::Operation *lookup(int64_t id) const;

private:
  std::map<int64_t, mlir::Operation *> operations;
};

/// Returns the edges as attributes. Their operations have numbers.
llvm::SmallVector<ttg::AsyncEdgeAttr> attributesOf(llvm::ArrayRef<MmaEdge> edges);

} // namespace tilewright::gpu
