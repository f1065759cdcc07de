// How deep the buffers of a loop are: as deep as shared memory permits next to everything else that is live.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/decisions/schedule_loop.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<int64_t> affordableStages(const LoopSchedule &schedule, int64_t requested, scf::ForOp around, ArrayRef<DeeperBuffer> others,
                                        const KernelLoops &kernel, const SharedBudget &budget) {
  int64_t most = kernel.context.target.sharedBytes / (bytesOfStage(schedule) + 1) + 1; // a request for very many stages takes no time
  for (int64_t stages = std::min(requested, most); stages > 1; --stages) {
    LoopSchedule scheduled = kernel.withPolicy(schedule, stages); // the policy decides which buffers and barriers there are
    SmallVector<DeeperBuffer> deeper(others);
    llvm::append_range(deeper, buffersOf(scheduled, stages, around));
    if (budget.fits(deeper, barriersOf(scheduled))) return stages;
  }
  return budget.fits(others) ? std::optional(1) : std::nullopt;
}

/// True if an iteration has a single barrier with a third buffer of each computed operand: all stages are released where threads have
/// stored these operands. If registers leave space for a second CTA, a third buffer would take its shared memory.
static bool savesBarrier(const LoopSchedule &schedule, const KernelLoops &kernel) {
  LoopSchedule scheduled = kernel.withPolicy(schedule, schedule.requested);
  auto atFence = [](const CircularBuffer &circular) { return isa_and_nonnull<ttg::FenceAsyncOp>(circular.releaseAfter); };
  return llvm::all_of(scheduled.circularBuffers, atFence) &&
         limitsToOneCtaPerSM(schedule.loop, kernel.context.config, kernel.context.target);
}

BufferDepths chooseDepths(const LoopSchedule &schedule, const KernelLoops &kernel, const SharedBudget &budget) {
  if (schedule.circularBuffers.empty()) {
    for (int64_t computed = stagesWithoutWaiting; computed > 1; --computed)
      if (budget.fits(computedBuffers(schedule, computed, schedule.loop))) return {1, computed};
    return {1, 1};
  }
  SmallVector<DeeperBuffer> stored = buffersHeldByStores(schedule.loop);
  auto affordableWith = [&](int64_t computed) {
    LoopSchedule own = schedule;
    own.computedStages = computed;
    if (computed == 1) own.computed.clear();
    // If nothing fits, allocate-shared reports it.
    return affordableStages(own, schedule.requested, schedule.loop, stored, kernel, budget).value_or(1);
  };
  if (schedule.operandPartition) { // whose buffers are as deep as those of the copies
    int64_t stages = affordableWith(2);
    return {stages, stages};
  }
  if (savesBarrier(schedule, kernel)) {
    int64_t stages = affordableWith(stagesWithoutWaiting);
    if (stages >= std::min(schedule.requested, minCrossTileStages)) return {stages, stagesWithoutWaiting};
  }
  int64_t stages = affordableWith(2);
  if (stages > 1 || schedule.computed.empty()) return {stages, 2};
  return {affordableWith(1), 1};
}

} // namespace tilewright::gpu
