// MMAs of operands that threads compute from tiles in shared memory. Threads write them to buffers of three stages. The barrier that shows
// them to the MMA also shows that the tiles have been read, so it is the only one of an iteration. With S stages:
//   wait for stage i    read    compute    write buffer i mod 3    barrier, which releases stage i    copy i+S    issue MMA i    wait for
//   MMA i-1
// What the MMA reads itself from a circular buffer is released an iteration later: the barrier of iteration i shows that MMA i-2 has ended.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::FenceAsyncOp fenceAfterComputed(const LoopSchedule &schedule, int64_t stages) {
  Operation *op = nullptr;
  for (ttg::StoreSharedOp store : schedule.computed)
    if (!op || op->isBeforeInBlock(store)) op = store;
  while (isa_and_nonnull<ttg::StoreSharedOp>(op))
    op = op->getNextNode();
  auto fence = dyn_cast_or_null<ttg::FenceAsyncOp>(op);
  auto areRead = [&](const CircularBuffer &circular) {
    // With fewer stages, a stage that an MMA reads would be filled only when it is needed.
    bool isFree =
        circular.mmasRead ? !circular.threadsRead && stages >= minStagesToRefillAtBarrier : circular.endOfReads->isBeforeInBlock(fence);
    return circular.tma && isFree;
  };
  return fence && llvm::all_of(schedule.circularBuffers, areRead) ? fence : ttg::FenceAsyncOp();
}

bool scheduleRegisterOperands(LoopSchedule &schedule, const PolicyContext &) {
  if (schedule.circularBuffers.empty() || schedule.warpSpecialized || schedule.computedStages < stagesWithoutWaiting) return false;
  SmallVector<ttg::MmaAsyncOp> mmas = mmasInFlight(schedule);
  ttg::FenceAsyncOp fence = mmas.empty() ? ttg::FenceAsyncOp() : fenceAfterComputed(schedule, schedule.stages);
  if (!fence) return false;
  schedule.oneBarrier = true;
  keepInFlightUntilNext(schedule, mmas);
  copyAndReleaseAfter(schedule, fence, /*releaseDistance=*/0);
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (circular.mmasRead) circular.distance = schedule.stages - 2;
  return true;
}

} // namespace tilewright::gpu
