// A partition of its own that computes an operand of a loop's MMAs: a warp group that reads copies, computes the operand and stores it to a
// circular buffer, ahead of the consumers. A step before schedule-loops marks its operations (`ttg.partition`), and
// specialize-warps makes a region of them. In iteration i, stage i mod stages:
//   producer             wait: empty     start copies
//   operand partition    wait: copied    read, compute, store    fence    arrive: empty, made
//   consumers            wait: copied    read    wait: made    multiply, wait    arrive: empty
// If the consumers read copies to registers only, a schedule may release the copies after that read (OperandPlan::releaseAfter).
// The computed operand then has an empty barrier of its own:
//   operand partition    wait: copied, computed empty    read, compute, store    fence    arrive: empty, made
//   consumers            wait: copied    read    fence    arrive: empty    wait: made    multiply, wait    arrive: computed empty
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/stage_index.h"

namespace tilewright::gpu {

/// Marks the operation as the partition's work.
void markOperandPartition(mlir::Operation *op);
/// True if such a partition computes an operand in this loop.
bool hasOperandPartition(mlir::scf::ForOp loop);

/// Returns the first operation of an iteration that reads what the partition stores; the terminator if none does.
mlir::Operation *firstReaderOfComputed(const LoopSchedule &schedule);
/// Returns the last load from shared memory by which the consumers read copies, before they read what the partition stores; null if they
/// read none.
ttg::LoadSharedOp lastConsumerRead(const LoopSchedule &schedule);

/// The mbarriers of a loop with an operand partition.
struct PartitionBarriers {
  llvm::SmallVector<mlir::Value> empty; ///< of the copies
  mlir::Value made;                     ///< the partition has stored a stage
  mlir::Value computedEmpty;            ///< the consumers have read what it stored; null: `empty` says that, too
};

/// Gives the computed operands circular buffers with the stages of the copies. They are empty when those are, or at `computedEmpty`, for
/// which the partition waits before it fills a stage. After its stores the partition arrives at `empty`, because it has read the copies,
/// and at `made`, for which the consumers wait before they read. Reports a bug if no fence follows the stores.
mlir::LogicalResult fillByPartition(const LoopSchedule &schedule, const StageState &stage, const PartitionBarriers &barriers);
/// The partition and the consumers each wait at `barriers` where they first read a stage of `buffers`.
void waitInPartitions(const LoopSchedule &schedule, llvm::ArrayRef<mlir::Value> buffers, mlir::Value barriers, const StageState &stage);

} // namespace tilewright::gpu
