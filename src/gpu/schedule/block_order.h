// The operations of a block in an order that is being decided. The block itself stays as it is.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cassert>

namespace tilewright::gpu {

class BlockOrder {
public:
  explicit BlockOrder(mlir::Block &block) {
    for (mlir::Operation &op : block) {
      positions[&op] = ops.size();
      ops.push_back(&op);
    }
  }

  llvm::ArrayRef<mlir::Operation *> all() const { return ops; }
  /// Null after the last and before the first operation.
  mlir::Operation *next(mlir::Operation *op) const {
    size_t at = positionOf(op) + 1;
    return at == ops.size() ? nullptr : ops[at];
  }
  mlir::Operation *previous(mlir::Operation *op) const {
    size_t at = positionOf(op);
    return at == 0 ? nullptr : ops[at - 1];
  }
  /// True also if both are the same.
  bool isBefore(mlir::Operation *first, mlir::Operation *second) const { return positionOf(first) <= positionOf(second); }

  void moveBefore(mlir::Operation *op, mlir::Operation *position) { move(positionOf(op), positionOf(position)); }
  void moveAfter(mlir::Operation *op, mlir::Operation *position) { move(positionOf(op), positionOf(position) + 1); }
  bool hasMoved(mlir::Operation *op) const { return moved.contains(op); }

private:
  /// Of an operation of this block.
  size_t positionOf(mlir::Operation *op) const {
    auto found = positions.find(op);
    assert(found != positions.end() && "the operation is in another block");
    return found->second;
  }
  /// Moves an operation before what stands at `to`.
  void move(size_t from, size_t to) {
    if (to == from || to == from + 1) return;
    moved.insert(ops[from]);
    auto at = [&](size_t position) { return ops.begin() + static_cast<ptrdiff_t>(position); };
    size_t first = std::min(from, to), last = std::max(from + 1, to);
    std::rotate(at(first), to < from ? at(from) : at(from + 1), at(last));
    for (size_t i = first; i < last; ++i)
      positions[ops[i]] = i;
  }

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  llvm::SmallPtrSet<mlir::Operation *, 8> moved;
};

} // namespace tilewright::gpu
