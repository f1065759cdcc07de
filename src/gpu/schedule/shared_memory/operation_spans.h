// Positions of operations in the text of a kernel, for live ranges.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

/// The numbers of an operation's begin and end. What stands in its regions is between them.
struct OperationSpan {
  int64_t first = 0, last = 0;
};
using OperationSpans = llvm::DenseMap<mlir::Operation *, OperationSpan>;

/// Numbers the operations of a region from `next` on, in the order of the text. Returns the number after the last one.
inline int64_t numberOperations(mlir::Region &region, OperationSpans &spans, int64_t next = 0) {
  for (mlir::Block &block : region)
    for (mlir::Operation &op : block) {
      int64_t first = next++;
      for (mlir::Region &inner : op.getRegions())
        next = numberOperations(inner, spans, next);
      spans[&op] = {first, next++};
    }
  return next;
}

} // namespace tilewright::gpu
