// Schedules one loop: chooses the depth of its buffers, lets a policy schedule it, and lets copies continue from tile to tile if the loop
// around it is a persistent one.
#include "gpu/schedule/decisions/schedule_loop.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loops/multicast.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

bool KernelLoops::hasProducer(const LoopLoads &loads) const {
  return warpSpecialized && (loads.operandPartition || !tt::FuncOp(function)->hasAttr(ttg::operandRegistersName));
}

LoopSchedule KernelLoops::withPolicy(LoopSchedule schedule, int64_t stages) const {
  applyPolicies(schedule, stages, context, policies);
  // Only MMAs in flight, or a partition, use buffers of computed operands.
  if ((schedule.edges.empty() || schedule.drainsAtWait()) && !schedule.operandPartition) schedule.computed.clear();
  return schedule;
}

LoopSchedule KernelLoops::withRegisterLoads(LoopSchedule schedule) const {
  bool byThreads = schedule.requested > 1 && !schedule.warpSpecialized && multipliesByThreads(schedule.loop);
  if (schedule.computed.empty() && !byThreads) return schedule; // but for those of a policy
  int64_t registers = registersForTiles(context.config, context.target, warpSpecialized) - accumulatorsOf(schedule.loop);
  if (schedule.computed.empty()) registers -= registersOfMmas(schedule.loop);
  addRegisterLoads(schedule, registers);
  return schedule;
}

/// A producer copies to the stages of all CTAs of the cluster. It waits until all have read a stage, but not until they have done what
/// they do between two loops. So if the kernel runs the loop again, or has another one, the stages share no bytes with other buffers.
/// Nor does it wait until they have done what they do before a single loop.
static void shareAmongCtas(LoopSchedule &schedule, const KernelLoops &kernel) {
  for (CircularBuffer &circular : schedule.circularBuffers)
    for (Copy &copy : circular.copies) {
      copy.multicast = multicastParts(circular, copy, kernel.context.config, schedule.paired).has_value();
      if (copy.multicast) copy.lifetime = ttg::Lifetime::fromStart;
      if (kernel.found.size() != 1) copy.lifetime = ttg::Lifetime::throughout;
    }
}

/// True if an iteration loads tiles itself, not in a loop of its own.
static bool loadsTiles(scf::ForOp loop) {
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    bool load = isa<tt::LoadOp, ttg::DescriptorLoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
    return load && op->getParentOfType<scf::ForOp>() == loop ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Why there are fewer stages than requested; empty if there are not.
static std::string reasonForStages(const LoopSchedule &schedule) {
  if (!loadsTiles(schedule.loop)) return "";
  if (schedule.requested < 2) return "num_stages is " + std::to_string(schedule.requested);
  if (!schedule.circularBuffers.empty()) return schedule.stages < schedule.requested ? "shared memory is too small for more" : "";
  if (schedule.computed.empty() && !schedule.registerLoads.empty()) return "";
  return schedule.unpipelined.empty() ? "it only loads to registers, and only copies to shared memory are pipelined"
                                      : "none of its loads can be pipelined";
}

/// Chooses the depth of the buffers, and whether the circular buffers are those of an earlier loop, or stay in use across tiles. Returns
/// the stages of the circular buffers.
static int64_t scheduleBuffers(LoopDecision &decision, const KernelLoops &kernel, const EarlierLoops &earlier) {
  LoopSchedule &schedule = decision.schedule;
  std::optional<SmallVector<DeeperBuffer>> continued;
  if (schedule.warpSpecialized && decision.copies) continued = continuedBuffers(schedule, earlier);
  int64_t stages = 1;
  if (continued) {
    decision.continued = std::move(*continued);
    schedule.continues = earlier.left->loop;
    stages = earlier.left->stages;
  } else {
    BufferDepths depths = chooseDepths(schedule, kernel, earlier.budget);
    stages = depths.stages;
    schedule.computedStages = depths.computed;
    if (depths.computed < 2) schedule.computed.clear();
  }
  if (stages > 1 && schedule.warpSpecialized) decision.crossTile = keepStagesAcrossTiles(schedule, stages, kernel, earlier);
  if (decision.crossTile.tiles) stages = decision.crossTile.stages;
  if (schedule.operandPartition) schedule.computedStages = stages;
  return stages;
}

Result<LoopDecision> scheduleLoop(const LoopLoads &found, const KernelLoops &kernel, const EarlierLoops &earlier) {
  LoopDecision decision{LoopSchedule(found), {}, {}, !found.circularBuffers.empty()};
  LoopSchedule &schedule = decision.schedule;
  schedule.warpSpecialized = kernel.hasProducer(found);
  if (schedule.warpSpecialized && kernel.context.config.getCtas() != 1) shareAmongCtas(schedule, kernel);
  int64_t stages = scheduleBuffers(decision, kernel, earlier);
  if (schedule.operandPartition && stages < 2) return Failure{"the circular buffers of its operand partition do not fit in shared memory"};
  if (schedule.requested > 1 && (stages > 1 || !decision.copies))
    schedule = kernel.withPolicy(std::move(schedule), stages);
  else
    schedule.computed.clear();
  if (stages > 1 && !schedule.warpSpecialized) {
    decision.crossTile = prefetchAcrossTiles(schedule, kernel, earlier);
    if (decision.crossTile.tiles) schedule = kernel.withPolicy(std::move(schedule), decision.crossTile.stages);
  }
  schedule.crossTile = bool(decision.crossTile.tiles);
  schedule = kernel.withRegisterLoads(std::move(schedule));
  schedule.reason = reasonForStages(schedule);
  if (schedule.stages < 2) schedule.circularBuffers.clear();
  return decision;
}

} // namespace tilewright::gpu
