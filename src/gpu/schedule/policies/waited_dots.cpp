// Loops without a producer that wait for all MMAs of an iteration in that iteration. With S stages:
//   two dots:            wait for MMA 1    release its stage of i, and that of MMA 2 of i-1    copy them    ...    wait for MMA 2
//   three or more dots:  ...    wait for the last MMA    release the stages of i    copy i+S
// A barrier between more than two MMAs would keep those from running at the same time.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleWaitedDots(LoopSchedule &schedule, const PolicyContext &) {
  if (schedule.circularBuffers.empty()) return false;
  auto mmas = schedule.body()->getOps<ttg::MmaAsyncOp>();
  bool early = std::distance(mmas.begin(), mmas.end()) <= maxAlternatingMmas;
  Operation *end = schedule.circularBuffers.front().endOfReads;
  for (const CircularBuffer &circular : schedule.circularBuffers)
    if (circular.endOfReads->isBeforeInBlock(end) == early) end = circular.endOfReads;
  copyAndReleaseAfter(schedule, end, /*releaseDistance=*/0);
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (circular.endOfReads != end) circular.distance = schedule.stages - 1;
  return true;
}

} // namespace tilewright::gpu
