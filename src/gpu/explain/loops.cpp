// Findings about the software pipelines of loops (`ttg.loop_schedule`), and timelines of an iteration.
#include "gpu/explain/findings.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the number of buffers for operands that the loop's threads compute (multi_buffer.cpp); 0 for one or none.
static int64_t computedStages(scf::ForOp loop) {
  int64_t stages = 0;
  loop.getBody()->walk([&](ttg::StoreSharedOp store) {
    ttg::AllocOp alloc = allocOf(store.getBuffer());
    if (alloc && alloc.getType().getDepth() > 1) stages = std::max(stages, alloc.getType().getDepth());
  });
  return stages;
}

/// Returns the loop, and before it the producer's loop if a producer warp starts its copies.
static SmallVector<scf::ForOp, 2> loopAndProducer(scf::ForOp loop) {
  SmallVector<scf::ForOp, 2> parts;
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    auto before = dyn_cast<scf::ForOp>(op);
    if (!before) continue;
    if (ttg::partitionOf(before) == ttg::Partition::producer) parts.push_back(before);
    break;
  }
  parts.push_back(loop);
  return parts;
}

/// Visits the operations of the loop and its producer, without those of nested loops.
static void walkLoop(scf::ForOp loop, llvm::function_ref<void(Operation *)> see) {
  for (scf::ForOp part : loopAndProducer(loop))
    part.getBody()->walk([&](Operation *op) {
      if (op->getParentOfType<scf::ForOp>() == part) see(op);
    });
}

void Explainer::Impl::seeLoop(scf::ForOp loop) {
  auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
  if (!made) return;
  std::string reason = made.getReason() ? made.getReason().getValue().str() : "";
  if (made.getBuffers().empty() && reason.empty()) return; // only its stores are scheduled
  llvm::MapVector<Operation *, bool> circularBuffers;      // and whether TMA fills them
  FoundLoop found{loop.getLoc(), made.getStages(), made.getRequested(), computedStages(loop)};
  auto see = [&](Operation *op) {
    if (auto load = dyn_cast<tt::LoadOp>(op); load && isa<RankedTensorType>(load.getType()))
      (isCarried(load) ? found.loadsEarly : isStoredShared(load) ? found.storesLoaded : found.hasOtherLoads) = true;
    Value buffer = llvm::TypeSwitch<Operation *, Value>(op)
                       .Case([](ttg::TmaLoadOp o) { return o.getBuffer(); })
                       .Case([](ttg::CopyAsyncOp o) { return o.getBuffer(); })
                       .Default([](Operation *) { return Value(); });
    ttg::AllocOp alloc = buffer ? allocOf(buffer) : ttg::AllocOp();
    if (alloc && alloc.getType().getDepth() == made.getStages()) circularBuffers.insert({alloc, isa<ttg::TmaLoadOp>(op)});
  };
  walkLoop(loop, see);
  for (auto [alloc, tma] : circularBuffers) {
    ttg::BufferType type = cast<ttg::AllocOp>(alloc).getType();
    found.stageBytes += stageBytes(cast<ttg::AllocOp>(alloc));
    found.buffers.push_back({RankedTensorType::get(type.getShape(), type.getElementType()), tma});
  }
  found.reason = reason;
  found.dotsInFlight = static_cast<int64_t>(made.getEdges().size());
  found.remarks = takeRemarks(loop);
  found.crossTile = made.getCrossTile(), found.shiftsMma = made.shiftsMma();
  loops.push_back(std::move(found));
  if (made.getStages() > 1) seeTimeline(loop, made.getStages());
}

/// Records which warps execute each operation of an iteration, and the iteration that it works for, as far as the schedule says that. A
/// producer warp runs ahead as far as the stages permit.
void Explainer::Impl::seeTimeline(scf::ForOp loop, int64_t stages) {
  Timeline timeline{lineOf(loop.getLoc()), stages, {}};
  bool isWarpSpecialized = loop->getParentOfType<tt::FuncOp>()->hasAttr(ttg::warpSpecializedName);
  auto add = [&](Operation *op, const char *worker, int64_t distance) {
    if (auto shift = op->getAttrOfType<IntegerAttr>(ttg::iterationOffsetName)) distance += shift.getInt();
    TimelineEvent event{lineOf(op->getLoc()), worker, op->getName().stripDialect().str(), distance};
    bool again = !timeline.events.empty() && timeline.events.back().worker == event.worker && timeline.events.back().where == event.where;
    if (!again && !event.where.file.empty()) timeline.events.push_back(std::move(event));
  };
  walkLoop(loop, [&](Operation *op) {
    bool isProducers = ttg::partitionOf(op) == ttg::Partition::producer;
    if (isa<ttg::TmaLoadOp, ttg::CopyAsyncOp>(op))
      add(op, isProducers ? "producer warp" : "copies", isProducers ? stages - 1 : 0);
    else if (isa<ttg::MmaAsyncOp, ttg::Tcgen05MmaOp, ttg::FmaDotOp, tt::DotOp, tt::DotScaledOp>(op))
      add(op, "dots", 0);
    else if (isa<tt::LoadOp, tt::StoreOp>(op) && op->getParentOp() == loop)
      add(op, "memory", 0);
    else if (isa<tt::ReduceOp>(op) || (isa<math::MathDialect>(op->getDialect()) && llvm::any_of(op->getResultTypes(), ttg::hasLayout)))
      add(op, isWarpSpecialized ? "consumer warps" : "threads", 0);
  });
  int64_t last = 0; // distances count from the last operation's iteration
  for (const TimelineEvent &event : timeline.events)
    last = std::min(last, event.prefetchDistance);
  for (TimelineEvent &event : timeline.events)
    event.prefetchDistance -= last;
  timelines.push_back(std::move(timeline));
}

} // namespace tilewright::gpu
