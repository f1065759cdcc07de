// Two dots, the second of which needs what threads compute from the result of the first, as in attention: scores = QK, weights = softmax of
// the scores, sum += weights times V. While threads compute, tensor cores multiply for another iteration. With S stages:
//   without a producer:  copy K of i+S    issue QK of i+1    softmax    wait for V    issue PV    wait for both    release both stages of i
//                        copy V of i+S
//   with a producer:     issue QK of i    issue PV of i-1    wait for QK    release K    softmax    wait for PV    release V of i-1
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loops/chained_mmas.h"
#include "gpu/schedule/policies/policies.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the registers suffice. Without a producer the MMA's result exists twice. With one, the first operands of the other MMAs stay in
/// registers while these are in flight. Where several CTAs share an SM, one multiplies while another computes, and registers are worth
/// more.
static bool hasRegisters(const LoopSchedule &schedule, ttg::MmaAsyncOp mma, const PolicyContext &context) {
  scf::ForOp loop = schedule.loop;
  int64_t registers = accumulatorsOf(loop) + (schedule.warpSpecialized ? 0 : registersOf(mma.getType()));
  loop.walk([&](ttg::MmaAsyncOp other) {
    if (schedule.warpSpecialized && isa<RankedTensorType>(other.getA().getType())) registers += registersOf(other.getA().getType());
  });
  return limitsToOneCtaPerSM(schedule.loop, context.config, context.target) &&
         registers <= registersForTiles(context.config, context.target, schedule.warpSpecialized);
}

bool scheduleChainedDots(LoopSchedule &schedule, const PolicyContext &context) {
  if (context.target.tcgen05) return false; // one thread issues the MMAs of all warp groups, so these cannot alternate
  Result<ttg::MmaAsyncOp> chained = firstOfChain(schedule);
  if (!chained || !hasRegisters(schedule, *chained, context)) return false;
  ttg::MmaAsyncOp mma = *chained;
  auto first = llvm::find_if(schedule.circularBuffers, [&](const CircularBuffer &circular) { return circular.firstReader == mma; });
  copyAndReleaseAfter(schedule, endOfAllReads(schedule), /*releaseDistance=*/0);
  if (!schedule.warpSpecialized) {
    schedule.shiftedMma = mma;
    schedule.shift = 1;
    first->copyAfter = nullptr;
    return true;
  }
  schedule.shiftedMma = lastMmaIn(schedule.loop.getBody());
  schedule.shift = -1;
  for (CircularBuffer &circular : schedule.circularBuffers) // the first MMA's operand is read, and released, first
    circular.fillOrder += circular.fillOrder < first->fillOrder;
  first->fillOrder = 0;
  if (schedule.circularBuffers.size() > 1) first->releaseAfter = waitFor(mma.getD());
  return true;
}

} // namespace tilewright::gpu
