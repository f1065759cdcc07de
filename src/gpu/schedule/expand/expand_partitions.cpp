// A loop whose copies have a producer. The producer goes through the iterations on its own, so nothing starts before the loop. A stage's
// first use finds it empty: a fresh barrier has completed the phase of parity 1.
//   before: for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  for %i { wait: stage is empty (producer)    start copy (producer)    wait: stage is full    ttg.mma_async %stage ... wait
//                    arrive: stage is empty }
#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// In iteration i the producer fills stage i mod stages, once all have read what iteration i - stages had there: one circular buffer after
/// the other, as soon as the addresses are known.
static LogicalResult fillByProducer(Expansion &e) {
  OpBuilder &b = e.b;
  Value firstEmpty = e.stageBuffers.front().empty;
  b.setInsertionPointAfter(e.lastStage);
  Value before = e.stage.previousParity(b, e.loc);
  e.assignToProducer(ttg::BarrierWaitOp::create(b, e.loc, firstEmpty, e.stage.index, before));
  ArrayRef<CircularBuffer> buffers = e.schedule.circularBuffers;
  auto order = llvm::to_vector(llvm::seq<size_t>(buffers.size()));
  llvm::sort(order, [&](size_t x, size_t y) { return buffers[x].fillOrder < buffers[y].fillOrder; });
  Operation *filled = nullptr; // the last operation for the circular buffers so far
  for (size_t index : order) {
    b.setInsertionPoint(buffers[index].lastLoad());
    if (filled && !filled->isBeforeInBlock(buffers[index].lastLoad())) b.setInsertionPointAfter(filled);
    Value empty = e.stageBuffers[index].empty;
    if (empty != firstEmpty) e.assignToProducer(ttg::BarrierWaitOp::create(b, e.loc, empty, e.stage.index, before));
    FailureOr<SmallVector<Operation *>> started = issueCopies(e, index, buffers[index].operands(), e.stage.index, Value());
    if (failed(started)) return failure();
    filled = started->back();
  }
  return success();
}

/// Says that this warp has read a stage: to the producers of all CTAs, which fill it.
static void arrive(Expansion &e, Value empty, Value stageIndex, Value exists) {
  ttg::BarrierArriveOp::create(e.b, e.loc, empty, stageIndex, exists, /*inAllCtas=*/e.config.getCtas() != 1, e.firstWarp);
}

/// True if a fence stands between the threads' reads of a stage and the release: an operand partition and its consumers have their own.
static bool needsFence(const Expansion &e) {
  return e.fence && !e.schedule.operandPlan;
}

/// Releases this iteration's stages of copies that the consumers only read to registers: after the fence that follows their last read.
static LogicalResult releaseCopiesEarly(Expansion &e, Value empty, Operation *lastRead) {
  Operation *fence = firstFrom<ttg::FenceAsyncOp>(lastRead);
  while (fence && ttg::partitionOf(fence) == ttg::Partition::operands)
    fence = firstFrom<ttg::FenceAsyncOp>(fence->getNextNode());
  if (!fence) return bug(lastRead, "no fence of the consumers stands between it and the release of its stage");
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointAfter(fence);
  arrive(e, empty, e.stage.index, Value());
  return success();
}

/// Where an iteration has read its stages, or those of the previous one if MMAs stay in flight, the warp arrives at their empty barriers.
/// Operands that a partition computes may have empty barriers of their own. Then those of the copies are released earlier.
static LogicalResult release(Expansion &e) {
  scf::ForOp loop = e.schedule.loop;
  OpBuilder &b = e.b;
  Value stageIndex = e.stage.index, exists;
  llvm::MapVector<Value, Operation *> releases; // by empty barriers: the last release of their circular buffers
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
    Operation *&after = releases[stageBuffers.empty];
    if (!after || after->isBeforeInBlock(circular.releaseAfter)) after = circular.releaseAfter;
  }
  Operation *early = e.schedule.computedReleaseAfter(), *last = early ? early : releases.back().second;
  e.drained = drainPrevious(e);
  b.setInsertionPointAfter(e.positionOf(last));
  if (!e.schedule.edges.empty()) {
    stageIndex = e.stage.indexAfter(b, e.loc, -1);
    exists = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
  }
  if (needsFence(e)) ttg::FenceAsyncOp::create(b, e.loc);
  if (early) arrive(e, e.computedEmpty, stageIndex, exists);
  for (auto [empty, after] : releases) {
    if (early) {
      if (failed(releaseCopiesEarly(e, empty, after))) return failure();
      continue;
    }
    OpBuilder::InsertionGuard guard(b);
    if (after != last) b.setInsertionPointAfter(e.positionOf(after));
    arrive(e, empty, stageIndex, exists);
  }
  return success();
}

LogicalResult expandPartitions(Expansion &e, const StageState &first) {
  if (!e.schedule.continues) allocateEmpty(e);
  carryStage(e, first);
  takeStages(e);
  if (failed(fillByProducer(e)) || failed(release(e))) return failure();
  if (e.schedule.operandPlan) {
    PartitionBarriers barriers{llvm::to_vector(emptyBarriers(e)), allocBarriers(e.function, e.stages, warpsOfGroup), e.computedEmpty};
    if (failed(fillByPartition(e.schedule, e.stage, barriers))) return failure();
  }
  waitForArrivals(e);
  return success();
}

LogicalResult releaseLast(Expansion &e, const StageState &after) {
  scf::ForOp loop = e.schedule.loop;
  FailureOr<ttg::MmaAsyncWaitOp> drain = drainAfter(loop);
  if (failed(drain)) return failure();
  e.b.setInsertionPointAfter(*drain);
  Value stageIndex = after.indexAfter(e.b, e.loc, -1);
  if (needsFence(e)) ttg::FenceAsyncOp::create(e.b, e.loc);
  llvm::SetVector<Value> unreleased;
  if (e.computedEmpty)
    unreleased.insert(e.computedEmpty); // the copies have been released
  else
    unreleased = emptyBarriers(e);
  for (Value empty : unreleased)
    arrive(e, empty, stageIndex, LoopIterations(loop).existsIteration(e.b, 0));
  return success();
}

void outlastArrivals(Expansion &e, const StageState &after, DenseSet<Operation *> &finalWaits) {
  OpBuilder &b = e.b;
  Operation *end = e.function.getBody().front().getTerminator(), *before = end->getPrevNode();
  b.setInsertionPoint(end);
  StageState filled(after.index, after.previousParity(b, e.loc), e.stages);
  for (int64_t iteration = 0; iteration < e.stages; ++iteration) {
    for (Value empty : emptyBarriers(e))
      e.assignToProducer(ttg::BarrierWaitOp::create(b, e.loc, empty, filled.index, filled.parity));
    filled = filled.next(b, e.loc);
  }
  for (Operation *op = before->getNextNode(); op != end; op = op->getNextNode())
    finalWaits.insert(op);
}

} // namespace tilewright::gpu
