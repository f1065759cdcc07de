// Loops without a producer that wait for all MMAs of an iteration in that iteration. With S stages:
//   two dots:            wait for MMA 1    release its stage of i, and that of MMA 2 of i-1    copy them    ...    wait for MMA 2
//   three or more dots:  ...    wait for the last MMA    release the stages of i    copy i+S
// A barrier between more than two MMAs would keep those from running at the same time.
//   mma.sync:            read operands of dot 1    dot 1    release its stage of i    copy it ...
// A barrier before dot 1 would release it earlier, but then a thread holds all that it multiplies. So it stands there only if the registers
// suffice.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the operation after which a stage whose last read is `end` is released: the dot that multiplies what threads have read, if they
/// do not have the registers for whole operands.
static Operation *releasePoint(scf::ForOp loop, Operation *end, const PolicyContext &context) {
  if (!isa<ttg::LoadSharedOp>(end)) return end;
  if (holdWholeOperands(loop, context.config, context.target)) return end;
  for (tt::DotOp dot : loop.getBody()->getOps<tt::DotOp>())
    if (llvm::is_contained(end->getUsers(), dot.getOperation())) return dot;
  return end;
}

bool scheduleWaitedDots(LoopSchedule &schedule, const PolicyContext &context) {
  if (schedule.circularBuffers.empty()) return false;
  auto mmas = schedule.body()->getOps<ttg::MmaAsyncOp>();
  bool early = std::distance(mmas.begin(), mmas.end()) <= maxAlternatingMmas;
  Operation *end = schedule.circularBuffers.front().endOfReads;
  for (const CircularBuffer &circular : schedule.circularBuffers)
    if (circular.endOfReads->isBeforeInBlock(end) == early) end = circular.endOfReads;
  Operation *release = releasePoint(schedule.loop, end, context);
  copyAndReleaseAfter(schedule, release, /*releaseDistance=*/0);
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (release->isBeforeInBlock(circular.endOfReads)) circular.distance = schedule.stages - 1;
  return true;
}

} // namespace tilewright::gpu
