// Loops with a producer that wait for all MMAs of an iteration in that iteration. Stages are released after the last read; with tcgen05,
// each where it has been read, by a commit of the MMAs:
//   wait for the stages of i    ...    wait for the last MMA    release the stages of i
#include "gpu/schedule/policies/policies.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleProducer(LoopSchedule &schedule, const PolicyContext &context) {
  if (schedule.circularBuffers.empty() || !schedule.warpSpecialized) return false;
  copyAndReleaseAfter(schedule, endOfAllReads(schedule), /*releaseDistance=*/0);
  if (context.target.tcgen05)
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.releaseAfter = circular.endOfReads;
  return true;
}

} // namespace tilewright::gpu
