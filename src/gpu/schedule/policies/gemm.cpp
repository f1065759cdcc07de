// Dots that accumulate in place. The MMA of one iteration is waited for after the next one has been issued, so tensor cores never idle at
// the back edge. With S stages:
//   wait for stage i    issue MMA i    wait for MMA i-1    release stage i-1    copy i+S-1
// Threads may compute operands from tiles in shared memory. The barrier that shows these operands to the MMA also shows that the tiles have
// been read, so their stages are free an iteration earlier:
//   wait for stage i    read    compute    store    barrier, which releases stage i    copy i+S    issue MMA i    wait for MMA i-1
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

/// Releases stages that only threads read, to compute operands, after the fence that follows the stores of these operands.
static void releaseAtFence(LoopSchedule &schedule) {
  Operation *fence = schedule.computed.empty() ? nullptr : firstFrom<ttg::FenceAsyncOp>(schedule.computed.back());
  for (CircularBuffer &circular : schedule.circularBuffers) {
    if (!fence || !circular.tma || circular.mmasRead || !circular.endOfReads->isBeforeInBlock(fence)) continue;
    circular.copyAfter = circular.releaseAfter = fence;
    circular.distance = schedule.stages;
  }
}

bool scheduleGemm(LoopSchedule &schedule, const PolicyContext &) {
  if (schedule.circularBuffers.empty() && schedule.computed.empty()) return false;
  SmallVector<ttg::MmaAsyncOp> mmas = mmasInFlight(schedule);
  if (mmas.empty()) return false;
  keepInFlightUntilNext(schedule, mmas);
  copyAndReleaseAfter(schedule, mmas.back(), /*releaseDistance=*/1);
  if (!schedule.warpSpecialized) releaseAtFence(schedule);
  return true;
}

} // namespace tilewright::gpu
