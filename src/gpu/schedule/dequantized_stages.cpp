// The circular buffer of what a warpgroup of its own dequantizes (dequantize_partition.cpp), and which partition waits for which. In
// iteration i, stage i mod stages:
//   producer   wait: empty     start copies
//   dequant    wait: copied    read, dequantize, store    fence    arrive: empty, made
//   consumers  wait: copied    read    fence    dequantize    wait: made    multiply, wait    arrive: empty
#include "gpu/schedule/dequantize_partition.h"
#include "ir/refusal.h"
#include "ir/slice.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::WgmmaWaitOp drainingWaitIn(scf::ForOp loop) {
  for (auto wait : loop.getBody()->getOps<ttg::WgmmaWaitOp>())
    if (wait->hasAttr(ttg::drainsName)) return wait;
  return {};
}

static void markDequantizePartition(Operation *op) {
  op->setAttr(ttg::dequantizePartitionName, UnitAttr::get(op->getContext()));
}

/// The operation that first reads, in an iteration, what is dequantized for it.
static Operation *firstReader(LoopSchedule &schedule) {
  for (Operation &op : *schedule.loop.getBody())
    for (ttg::StoreSharedOp store : schedule.computed)
      if (llvm::is_contained(accessesOf(allocOf(store.getBuffer())), &op) && !isa<ttg::StoreSharedOp>(op)) return &op;
  return schedule.loop.getBody()->getTerminator();
}

/// What the stores of the warpgroup that dequantizes are computed from, in an iteration.
static llvm::SetVector<Operation *> dequantizeOps(LoopSchedule &schedule) {
  llvm::SetVector<Operation *> part;
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) { return op->getBlock() == schedule.loop.getBody(); };
  for (ttg::StoreSharedOp store : schedule.computed)
    (void)getBackwardSlice(store.getOperation(), &part, options);
  return part;
}

LogicalResult fillDequantized(LoopSchedule &schedule, Value stageIndex, Value parity, ArrayRef<Value> empty, Value made) {
  scf::ForOp loop = schedule.loop;
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  Operation *first = firstReader(schedule);
  for (ttg::StoreSharedOp store : schedule.computed) {
    ttg::AllocOp alloc = allocOf(store.getBuffer());
    ttg::BufferType type = alloc.getType();
    b.setInsertionPoint(schedule.crossTile ? loop->getParentOp() : loop.getOperation());
    auto all = ttg::BufferType::get(b.getContext(), schedule.stages, type.getElementType(), type.getLayout());
    Value stages = ttg::AllocOp::create(b, alloc.getLoc(), all);
    b.setInsertionPointToStart(loop.getBody());
    alloc.getResult().replaceAllUsesWith(ttg::StageOp::create(b, alloc.getLoc(), type, stages, stageIndex));
    alloc.erase();
  }
  Operation *fence = firstFrom<ttg::FenceAsyncOp>(schedule.computed.back());
  if (!fence) return bug(schedule.computed.back(), "no fence after it makes its buffer visible to MMAs");
  b.setInsertionPointAfter(fence);
  for (Value barriers : empty)
    markDequantizePartition(ttg::BarrierArriveOp::create(b, loc, barriers, stageIndex, Value()));
  markDequantizePartition(ttg::BarrierArriveOp::create(b, loc, made, stageIndex, Value()));
  b.setInsertionPoint(first);
  ttg::BarrierWaitOp::create(b, loc, made, stageIndex, parity);
  return success();
}

/// Whether the operation reads a stage of one of the buffers.
static bool readsStage(Operation *op, ArrayRef<Value> buffers) {
  return isa<ttg::LoadSharedOp, ttg::WgmmaOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
           auto stage = tt::lookThrough<ttg::ViewOp>(operand).getDefiningOp<ttg::StageOp>();
           return stage && llvm::is_contained(buffers, stage->getOperand(0));
         });
}

/// A fence waits for loads that were made before it, so that they stand after it. That of the warps that multiply stands before
/// their first MMA, where they have computed what they read, and the loads after that. Where a word of scales holds those of two
/// iterations alone, both stand at the top.
void prefetchLoadsInPartitions(LoopSchedule &schedule) {
  Block *body = schedule.loop.getBody();
  llvm::SetVector<Operation *> dequantizing = dequantizeOps(schedule);
  Operation *lastRead = nullptr, *first = *body->getOps<ttg::WgmmaOp>().begin(), *fence = nullptr, *reader = firstReader(schedule);
  for (auto load : body->getOps<ttg::LoadSharedOp>())
    if (!dequantizing.contains(load) && load->isBeforeInBlock(reader)) lastRead = load;
  bool early = llvm::any_of(body->getOps<tt::LoadOp>(), [&](tt::LoadOp load) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    return tile && !dequantizing.contains(load) && tile.getShape().back() * tile.getElementTypeBitWidth() >= minScaleBytesAtTop * 8;
  });
  if (lastRead) {
    OpBuilder b(body, early ? std::next(lastRead->getIterator()) : reader->getIterator());
    ttg::FenceAsyncOp::create(b, lastRead->getLoc());
    if (early) fence = ptx::WarpBarrierOp::create(b, lastRead->getLoc()); // which no load passes; ptxas takes one past a fence
  }
  prefetchRegisterLoads(schedule, [&](tt::LoadOp load) { return fence && !dequantizing.contains(load) ? fence : first; });
}

void waitInPartitions(LoopSchedule &schedule, ArrayRef<Value> buffers, Value barriers, Value stageIndex, Value parity) {
  Block *body = schedule.loop.getBody();
  llvm::SetVector<Operation *> dequantizing = dequantizeOps(schedule);
  Operation *first[2] = {nullptr, nullptr};
  for (Operation &op : body->without_terminator()) {
    Operation *&known = first[dequantizing.contains(&op)];
    if (!known && readsStage(&op, buffers)) known = &op;
  }
  for (Operation *reader : first) {
    if (!reader) continue;
    OpBuilder b(reader);
    auto wait = ttg::BarrierWaitOp::create(b, schedule.loop.getLoc(), barriers, stageIndex, parity);
    if (reader == first[1]) markDequantizePartition(wait);
  }
}

} // namespace tilewright::gpu
