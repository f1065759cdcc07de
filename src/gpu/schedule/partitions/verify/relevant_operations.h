// The operations that decide about events: those of the table (barrier_operations.h), what is around them, and the scalars that both depend
// on. Few of a kernel's operations are, and loops execute them many times.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

class RelevantOperations {
public:
  RelevantOperations(tt::FuncOp function, const Resources &resources);

  llvm::ArrayRef<mlir::Operation *> operator[](mlir::Block &block) const;
  bool contains(mlir::Operation *op) const { return decides.contains(op); }
  bool contains(mlir::Value value) const { return seen.contains(value); }
  /// True if the operation has events, or has one inside that does.
  bool hasEvents(mlir::Operation *op) const { return around.contains(op); }
  /// True if the partition runs the operation, which has events.
  bool isOf(mlir::Operation *op, ttg::Partition partition) const;

private:
  void pass(mlir::Value from);
  bool passStages(mlir::Operation *op, const Resources &resources);
  void needOperands(mlir::Operation *op);
  void need(mlir::Value value);
  bool needThrough(mlir::scf::ForOp loop, mlir::Value value);

  llvm::DenseSet<mlir::Operation *> decides, around; ///< and those of them that have events
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> needed;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Operation *>> ofBlock;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<ttg::Partition, 2>> readers; ///< of loads from stages
};

} // namespace tilewright::gpu
