// Copies of a pipelined loop, and the waits for them. With S stages, and copies S - 1 iterations ahead:
//   before: for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p }
//   after:  start the copies of iterations 0 .. S-2
//           for %i { wait for the copy of i    ttg.mma_async %stage    start the copy of i + S-1 }
#include "gpu/machine/cluster_rank.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/ttg/copied_boxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// Starts one copy by TMA.
static FailureOr<Operation *> copyByTma(const Expansion &e, OpBuilder &b, const Copy &copy, ValueRange operands, Value buffer, Value full,
                                        Value stageIndex, Value exists) {
  auto load = cast<ttg::DescriptorLoadOp>(copy.load);
  auto type = cast<ttg::BufferType>(buffer.getType());
  BoxParts parts = copy.multicast ? *partsPerBox(type, e.config.getCtas(), e.schedule.paired) : BoxParts();
  FailureOr<Value> map = mapFor(e.function, load, load.getMap(), load.getCoordinates().size(), type, load.getOrder(), parts);
  if (failed(map)) return failure();
  Operation *started = ttg::TmaLoadOp::create(b, load.getLoc(), *map, operands.drop_front(), buffer, full, stageIndex, exists,
                                              load.getEvict(), copy.multicast, /*toLeader=*/e.schedule.paired);
  e.assignToProducer(started);
  return started;
}

/// Starts one copy by cp.async.
static Operation *copyByThreads(OpBuilder &b, tt::LoadOp load, ValueRange operands, Value buffer, Value exists) {
  Value mask = maskWhere(b, load, exists, load.getMask() ? operands[1] : Value());
  auto async = ttg::CopyAsyncOp::create(b, load.getLoc(), operands[0], buffer, mask);
  for (NamedAttribute attribute : load->getDiscardableAttrs()) // its width
    async->setAttr(attribute.getName(), attribute.getValue());
  return async;
}

/// Announces the bytes of one iteration's copies. The first CTA of a pair does that for both.
static void expectBytes(const Expansion &e, OpBuilder &b, const CircularBuffer &circular, const StageBuffers &stageBuffers,
                        Value stageIndex, Value exists) {
  Location loc = circular.copies.front().load->getLoc();
  int64_t bytes = stageBuffers.bytes;
  if (e.schedule.paired) {
    bytes *= e.config.getCtas();
    Value isLeader = isFirstCta(b, loc);
    exists = exists ? Value(arith::AndIOp::create(b, loc, exists, isLeader)) : isLeader;
  }
  e.assignToProducer(ttg::BarrierExpectOp::create(b, loc, stageBuffers.full, stageIndex, static_cast<int32_t>(bytes), exists));
}

FailureOr<SmallVector<Operation *>> issueCopies(const Expansion &e, OpBuilder &b, size_t index, ArrayRef<Value> operands, Value stageIndex,
                                                Value exists) {
  const CircularBuffer &circular = e.schedule.circularBuffers[index];
  const StageBuffers &stageBuffers = e.buffers.ofCopies[index];
  SmallVector<Operation *> started;
  if (circular.tma) expectBytes(e, b, circular, stageBuffers, stageIndex, exists);
  for (auto [copy, stages] : llvm::zip(circular.copies, stageBuffers.buffers)) {
    ArrayRef<Value> own = operands.take_front(copy.load->getNumOperands());
    operands = operands.drop_front(own.size());
    Value buffer = ttg::StageOp::create(b, copy.load->getLoc(), ttg::AllocOp(copy.alloc).getType(), stages, stageIndex);
    if (auto load = dyn_cast<tt::LoadOp>(copy.load)) {
      started.push_back(copyByThreads(b, load, own, buffer, exists));
      continue;
    }
    FailureOr<Operation *> tma = copyByTma(e, b, copy, own, buffer, stageBuffers.full, stageIndex, exists);
    if (failed(tma)) return failure();
    started.push_back(*tma);
  }
  return started;
}

LogicalResult startFirst(const Expansion &e, OpBuilder &b, const StageState &first, function_ref<Value(int64_t)> existsAt,
                         function_ref<SmallVector<Value>(size_t, int64_t)> operandsAt) {
  for (int64_t iteration = 0; iteration < e.schedule.stages; ++iteration) {
    Value exists = existsAt(iteration), stageIndex = first.indexAfter(b, e.loc(), iteration);
    bool committed = false;
    for (auto [index, circular] : llvm::enumerate(e.schedule.circularBuffers)) {
      if (iteration >= circular.distance) continue;
      if (failed(issueCopies(e, b, index, operandsAt(index, iteration), stageIndex, exists))) return failure();
      committed |= !circular.tma;
    }
    if (committed) ttg::CopyCommitOp::create(b, e.loc());
  }
  return success();
}

SmallVector<LaterScalar> carryForCopies(LoopSchedule &schedule) {
  llvm::SetVector<int64_t> distances;
  for (const CircularBuffer &circular : schedule.circularBuffers)
    distances.insert(circular.distance);
  SmallVector<LaterScalar> made;
  for (int64_t distance : distances) {
    SmallVector<Value> operands;
    for (const CircularBuffer &circular : schedule.circularBuffers)
      if (circular.distance == distance) llvm::append_range(operands, circular.operands());
    SmallVector<BlockArgument> scalars = LoopIterations(schedule.loop).recurrences(operands);
    if (distance > 1 && !scalars.empty()) schedule.loop = carryLater(schedule.loop, scalars, distance, made);
  }
  return made;
}

LogicalResult prologue(const Expansion &e) {
  OpBuilder b(e.schedule.loop);
  LoopIterations iterations(e.schedule.loop);
  return startFirst(
      e, b, e.first, [&](int64_t iteration) { return iterations.existsIteration(b, iteration); },
      [&](size_t circular, int64_t iteration) {
        return iterations.ofIteration(b, e.schedule.circularBuffers[circular].operands(), iteration);
      });
}

/// Starts the copies of later iterations that stand after `place`, at the insertion point.
static LogicalResult copyLater(const Expansion &e, OpBuilder &b, Operation *place) {
  LoopIterations iterations(e.schedule.loop, e.scalars);
  DenseMap<int64_t, Value> existing, targets; // by distance
  for (auto [index, circular] : llvm::enumerate(e.schedule.circularBuffers)) {
    if (circular.copyAfter != place) continue;
    int64_t distance = circular.distance;
    Value &exists = existing[distance], &target = targets[distance];
    if (!exists) exists = iterations.existsLater(b, distance);
    if (!target) target = e.stage.indexAfter(b, e.loc(), distance);
    auto started = issueCopies(e, b, index, iterations.later(b, circular.operands(), distance), target, exists);
    if (failed(started)) return failure();
    for (Operation *op : *started)
      op->setAttr(ttg::iterationOffsetName, b.getI32IntegerAttr(static_cast<int32_t>(distance)));
  }
  return success();
}

FailureOr<Operation *> refill(const Expansion &e, Operation *top, Operation *drained) {
  llvm::SetVector<Operation *> places; // the top of the iteration last
  for (bool atTop : {false, true})
    for (const CircularBuffer &circular : e.schedule.circularBuffers)
      if (atTop == !circular.copyAfter) places.insert(circular.copyAfter);
  OpBuilder b = e.builder();
  for (Operation *place : places) {
    b.setInsertionPointAfter(place ? e.positionOf(place, drained) : top);
    if (failed(copyLater(e, b, place))) return failure();
    if (!place) top = &*std::prev(b.getInsertionPoint());
  }
  if (hasAsyncCopies(e.schedule)) ttg::CopyCommitOp::create(b, e.loc()); // empty ones, too: waiting counts groups
  return top;
}

Operation *waitForOwnCopies(const Expansion &e, Operation *top) {
  for (const CircularBuffer &circular : e.schedule.circularBuffers) {
    if (circular.tma) continue;
    OpBuilder b = e.builder();
    b.setInsertionPointAfter(top);
    return ttg::CopyWaitOp::create(b, e.loc(), static_cast<int32_t>(circular.distance - 1)); // the same for all of them
  }
  return top;
}

ttg::BarrierWaitOp waitForArrivals(const Expansion &e) {
  ttg::BarrierWaitOp ofShifted;
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.buffers.ofCopies)) {
    if (circular.tma && e.schedule.operandPartition) {
      waitInPartitions(e.schedule, stageBuffers.buffers, stageBuffers.full, e.stage);
    } else if (circular.tma) {
      OpBuilder b(waitingPoint(circular.firstReader));
      auto wait = ttg::BarrierWaitOp::create(b, e.loc(), stageBuffers.full, e.stage.index, e.stage.parity, circular.firstWarp);
      if (circular.firstReader == e.schedule.shiftedMma) ofShifted = wait;
    }
    for (Copy copy : circular.copies) {
      eraseStore(copy.store);
      copy.load->erase();
      copy.alloc->erase();
    }
  }
  return ofShifted;
}

} // namespace tilewright::gpu
