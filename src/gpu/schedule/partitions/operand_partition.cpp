#include "gpu/schedule/partitions/operand_partition.h"

#include "gpu/schedule/buffers.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/refusal.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

void markOperandPartition(Operation *op) {
  ttg::setPartition(op, ttg::Partition::operands);
}

bool hasOperandPartition(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<ttg::StoreSharedOp>(),
                      [](ttg::StoreSharedOp store) { return ttg::partitionOf(store) == ttg::Partition::operands; });
}

Operation *firstReaderOfComputed(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  Block *body = loop.getBody();
  Operation *first = body->getTerminator();
  for (ttg::StoreSharedOp store : schedule.computed)
    for (Operation *access : accessesOf(allocOf(store.getBuffer())))
      if (access->getBlock() == body && !isa<ttg::StoreSharedOp>(access) && access->isBeforeInBlock(first)) first = access;
  return first;
}

ttg::LoadSharedOp lastConsumerRead(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  Operation *reader = firstReaderOfComputed(schedule);
  ttg::LoadSharedOp last;
  for (auto load : loop.getBody()->getOps<ttg::LoadSharedOp>())
    if (!ofPartition.contains(load) && load->isBeforeInBlock(reader)) last = load;
  return last;
}

/// The partition waits, before its first access to shared memory, until the stage that it fills is empty. A fresh barrier has completed the
/// phase of parity 1.
static void waitUntilEmpty(const LoopSchedule &schedule, Value computedEmpty, const StageState &stage) {
  scf::ForOp loop = schedule.loop;
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  auto isAccess = [&](Operation &op) {
    return isa<ttg::LoadSharedOp>(op) ? ofPartition.contains(&op)
                                      : isa<ttg::StoreSharedOp>(op) && ttg::partitionOf(&op) == ttg::Partition::operands;
  };
  OpBuilder b(&*llvm::find_if(*loop.getBody(), isAccess));
  Value before = stage.previousParity(b, loop.getLoc());
  markOperandPartition(ttg::BarrierWaitOp::create(b, loop.getLoc(), computedEmpty, stage.index, before));
}

LogicalResult fillByPartition(const LoopSchedule &schedule, const StageState &stage, const PartitionBarriers &barriers) {
  scf::ForOp loop = schedule.loop;
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  Operation *first = firstReaderOfComputed(schedule);
  for (ttg::StoreSharedOp store : schedule.computed) {
    b.setInsertionPoint(schedule.crossTile ? loop->getParentOp() : loop.getOperation());
    replaceByStages(b, allocOf(store.getBuffer()), loop, stage);
  }
  if (barriers.computedEmpty) waitUntilEmpty(schedule, barriers.computedEmpty, stage);
  Operation *fence = firstFrom<ttg::FenceAsyncOp>(schedule.computed.back());
  if (!fence) return bug(schedule.computed.back(), "no fence after it makes its buffer visible to MMAs");
  b.setInsertionPointAfter(fence);
  for (Value empty : barriers.empty)
    markOperandPartition(ttg::BarrierArriveOp::create(b, loc, empty, stage.index, Value()));
  markOperandPartition(ttg::BarrierArriveOp::create(b, loc, barriers.made, stage.index, Value()));
  b.setInsertionPoint(first);
  ttg::BarrierWaitOp::create(b, loc, barriers.made, stage.index, stage.parity);
  return success();
}

/// True if the operation reads a stage of one of the buffers.
static bool readsStage(Operation *op, ArrayRef<Value> buffers) {
  return isa<ttg::LoadSharedOp, ttg::MmaAsyncOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
           ttg::StageOp stage = stageOf(operand);
           return stage && llvm::is_contained(buffers, stage->getOperand(0));
         });
}

void waitInPartitions(const LoopSchedule &schedule, ArrayRef<Value> buffers, Value barriers, const StageState &stage) {
  scf::ForOp loop = schedule.loop;
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  for (bool byPartition : {false, true}) {
    auto body = loop.getBody()->without_terminator();
    auto reader = llvm::find_if(body, [&](Operation &op) { return ofPartition.contains(&op) == byPartition && readsStage(&op, buffers); });
    if (reader == body.end()) continue;
    OpBuilder b(&*reader);
    auto wait = ttg::BarrierWaitOp::create(b, loop.getLoc(), barriers, stage.index, stage.parity);
    if (byPartition) markOperandPartition(wait);
  }
}

} // namespace tilewright::gpu
