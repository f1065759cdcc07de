// Circular buffers of a pipelined loop:
//   before: for %i { %p = ttg.alloc : buffer<128x64xf16>    store the loaded tile to %p    ttg.mma_async %p }
//   after:  %stages = ttg.alloc : buffer<S x 128x64xf16>    %full = ttg.alloc_barriers S
//           for %i iter_args(%stage = 0, %parity = 0) { %p = ttg.stage %stages[%stage]    ttg.mma_async %p }
#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/copied_boxes.h"

using namespace mlir;

namespace tilewright::gpu {

Expansion::Expansion(tt::FuncOp function, ttg::ConfigAttr config, LoopSchedule &schedule)
    : function(function), config(config), schedule(schedule), b(function.getContext()), loc(schedule.loop.getLoc()),
      stages(schedule.stages), firstWarp(schedule.warpSpecialized && schedule.circularBuffers.front().firstWarp) {
  copyAsync = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return !circular.tma; });
  fence = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma && circular.threadsRead; });
}

Operation *Expansion::positionOf(Operation *op) const {
  return !schedule.edges.empty() && op == schedule.edges.back().until ? drained : op;
}

void Expansion::assignToProducer(Operation *op) {
  if (schedule.warpSpecialized) ttg::setPartition(op, ttg::Partition::producer);
}

void allocateStages(Expansion &e) {
  e.b.setInsertionPoint(e.schedule.crossTile ? e.schedule.loop->getParentOp() : e.schedule.loop.getOperation());
  for (const CircularBuffer &circular : e.schedule.circularBuffers) {
    StageBuffers &stageBuffers = e.stageBuffers.emplace_back();
    if (circular.tma) stageBuffers.full = allocBarriers(e.function, e.stages, 1);
    for (Copy copy : circular.copies) {
      stageBuffers.bytes += copiedBytes(copy.alloc);
      auto stages = ttg::AllocOp::create(e.b, copy.alloc.getLoc(), withDepth(copy.alloc.getType(), e.stages));
      stages.setLifetime(copy.alloc.getLifetime());
      stages.setCopiedExtent(copy.alloc.getCopiedExtent());
      stageBuffers.buffers.push_back(stages);
    }
  }
}

void allocateEmpty(Expansion &e) {
  // The MMAs of a pair release a stage of both CTAs by one commit.
  int64_t readers =
      e.schedule.paired ? 1 : (e.firstWarp ? 1 : e.config.getWarps()) * e.config.getCtas() + (e.schedule.operandPlan ? warpsOfGroup : 0);
  DenseMap<Operation *, Value> allocated;
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
    Value &empty = allocated[circular.releaseAfter];
    if (!empty) empty = allocBarriers(e.function, e.stages, readers);
    stageBuffers.empty = empty;
  }
  if (e.schedule.computedReleaseAfter()) e.computedEmpty = allocBarriers(e.function, e.stages, e.config.getWarps());
}

llvm::SetVector<Value> emptyBarriers(const Expansion &e) {
  llvm::SetVector<Value> barriers;
  for (const StageBuffers &stageBuffers : e.stageBuffers)
    barriers.insert(stageBuffers.empty);
  return barriers;
}

void carryStage(Expansion &e, const StageState &first) {
  e.schedule.loop = withMoreCarried(e.schedule.loop, first.values());
  e.stage = StageState(e.schedule.loop.getRegionIterArgs().take_back(2), e.stages);
}

void takeStages(Expansion &e) {
  for (const CircularBuffer &circular : e.schedule.circularBuffers)
    e.sources.push_back(circular.operands());
  e.b.setInsertionPointToStart(e.schedule.loop.getBody());
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers))
    for (auto [copy, buffer] : llvm::zip(circular.copies, stageBuffers.buffers)) {
      Value current = ttg::StageOp::create(e.b, copy.alloc.getLoc(), copy.alloc.getType(), buffer, e.stage.index);
      e.lastStage = current.getDefiningOp();
      copy.alloc.getResult().replaceUsesWithIf(current, [&](OpOperand &use) { return use.getOwner() != copy.store; });
    }
  e.top = e.lastStage;
}

Operation *drainPrevious(Expansion &e) {
  if (e.schedule.edges.empty()) return nullptr;
  if (drainingWaitIn(e.schedule.loop)) return e.schedule.edges.back().until;
  return keepInFlight(e.schedule.loop, e.schedule.edges);
}

} // namespace tilewright::gpu
