// Circular buffers of a pipelined loop:
//   before: for %i { %p = ttg.alloc : buffer<128x64xf16>    store the loaded tile to %p    ttg.mma_async %p }
//   after:  %stages = ttg.alloc : buffer<S x 128x64xf16>    %full = ttg.alloc_barriers S
//           for %i iter_args(%stage = 0, %parity = 0) { %p = ttg.stage %stages[%stage]    ttg.mma_async %p }
#include "gpu/schedule/entry_values.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

Operation *Expansion::positionOf(Operation *op, Operation *drained) const {
  return !schedule.edges.empty() && op == schedule.edges.back().until ? drained : op;
}

void Expansion::assignToProducer(Operation *op) const {
  if (schedule.warpSpecialized) ttg::setPartition(op, ttg::Partition::producer);
}

bool hasAsyncCopies(const LoopSchedule &schedule) {
  return llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return !circular.tma; });
}

/// Returns how many readers release a stage of the circular buffer.
static int64_t arrivalsAtEmpty(const LoopSchedule &schedule, const CircularBuffer &circular, ttg::ConfigAttr config) {
  if (schedule.paired) return 1; // the MMAs of a pair release a stage of both CTAs by one commit
  return (circular.firstWarp ? 1 : config.getWarps()) * config.getCtas() + (schedule.operandPartition ? warpsOfGroup : 0);
}

/// Allocates the barriers by which consumers and an operand partition release stages.
static void allocateEmpty(LoopBuffers &made, tt::FuncOp function, ttg::ConfigAttr config, const LoopSchedule &schedule) {
  std::map<std::pair<Operation *, bool>, Value> allocated;
  for (auto [circular, stageBuffers] : llvm::zip(schedule.circularBuffers, made.ofCopies)) {
    stageBuffers.arrivals = arrivalsAtEmpty(schedule, circular, config);
    Value &empty = allocated[{circular.releaseAfter, circular.firstWarp}];
    if (!empty) empty = allocBarriers(function, schedule.stages, stageBuffers.arrivals);
    stageBuffers.empty = empty;
    stageBuffers.firstWarp = circular.firstWarp;
  }
  if (schedule.operandPlan.releaseAfter) made.computedEmpty = allocBarriers(function, schedule.stages, config.getWarps());
  if (schedule.operandPartition) made.computedFull = allocBarriers(function, schedule.stages, warpsOfGroup);
}

LoopBuffers allocateBuffers(tt::FuncOp function, ttg::ConfigAttr config, const LoopSchedule &schedule) {
  LoopBuffers made;
  scf::ForOp loop = schedule.loop;
  OpBuilder b(schedule.crossTile ? loop->getParentOp() : loop.getOperation());
  for (const CircularBuffer &circular : schedule.circularBuffers) {
    StageBuffers &stageBuffers = made.ofCopies.emplace_back();
    if (circular.tma) stageBuffers.full = allocBarriers(function, schedule.stages, 1);
    for (Copy copy : circular.copies) {
      stageBuffers.bytes += copiedBytes(copy.alloc);
      auto stages = ttg::AllocOp::create(b, copy.alloc.getLoc(), withDepth(copy.alloc.getType(), schedule.stages));
      stages.setLifetime(copy.alloc.getLifetime());
      stages.setCopiedExtent(copy.alloc.getCopiedExtent());
      stageBuffers.buffers.push_back(stages);
    }
  }
  if (schedule.warpSpecialized) allocateEmpty(made, function, config, schedule);
  return made;
}

llvm::MapVector<Value, bool> LoopBuffers::empty() const {
  llvm::MapVector<Value, bool> barriers;
  for (const StageBuffers &stageBuffers : ofCopies)
    barriers[stageBuffers.empty] = stageBuffers.firstWarp;
  return barriers;
}

bool LoopBuffers::fit(const LoopSchedule &schedule, ttg::ConfigAttr config) const {
  auto fitsCopy = [&](Value buffer, Copy copy) {
    bool isSame = buffer.getType() == withDepth(copy.alloc.getType(), schedule.stages);
    return isSame && buffer.getDefiningOp<ttg::AllocOp>().getCopiedExtent() == copy.alloc.getCopiedExtent();
  };
  auto fits = [&](const StageBuffers &own, const CircularBuffer &circular) {
    return own.empty && own.firstWarp == circular.firstWarp && own.arrivals == arrivalsAtEmpty(schedule, circular, config) &&
           llvm::equal(own.buffers, circular.copies, fitsCopy);
  };
  return llvm::equal(ofCopies, schedule.circularBuffers, fits);
}

Operation *takeStages(const Expansion &e) {
  Operation *last = nullptr;
  OpBuilder b = OpBuilder::atBlockBegin(e.schedule.body());
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.buffers.ofCopies))
    for (auto [each, buffer] : llvm::zip(circular.copies, stageBuffers.buffers)) {
      Copy copy = each;
      Value current = ttg::StageOp::create(b, copy.alloc.getLoc(), copy.alloc.getType(), buffer, e.stage.index);
      last = current.getDefiningOp();
      copy.alloc.getResult().replaceUsesWithIf(current, [&](OpOperand &use) { return use.getOwner() != copy.store; });
    }
  return last;
}

Operation *drainPrevious(const Expansion &e) {
  if (e.schedule.edges.empty()) return nullptr;
  if (drainingWaitIn(e.schedule.loop)) return e.schedule.edges.back().until;
  return keepInFlight(e.schedule.loop, e.schedule.edges);
}

} // namespace tilewright::gpu
