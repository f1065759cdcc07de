// Dots that accumulate in place. The MMA of one iteration is waited for after the next one has been issued, so tensor cores never idle at
// the back edge. With S stages:
//   wait for stage i    issue MMA i    wait for MMA i-1    release stage i-1    copy i+S-1
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleGemm(LoopSchedule &schedule, const PolicyContext &) {
  if (schedule.circularBuffers.empty() && schedule.computed.empty()) return false;
  SmallVector<ttg::MmaAsyncOp> mmas = mmasInFlight(schedule);
  if (mmas.empty()) return false;
  keepInFlightUntilNext(schedule, mmas);
  copyAndReleaseAfter(schedule, mmas.back(), /*releaseDistance=*/1);
  return true;
}

} // namespace tilewright::gpu
