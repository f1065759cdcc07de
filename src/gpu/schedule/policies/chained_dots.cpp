// Two dots, the second of which needs what threads compute from the result of the first, as in attention: scores = QK, weights = softmax of
// the scores, sum += weights times V. While threads compute, tensor cores multiply for another iteration. With S stages:
//   without a producer:  copy K of i+S    issue QK of i+1    softmax    wait for V    issue PV    wait for both    release both stages of i
//                        copy V of i+S
//   with a producer:     issue QK of i    issue PV of i-1    wait for QK    release K    softmax    wait for PV    release V of i-1
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loops/two_stages.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/ttg/buffer_accesses.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the MMA reads nothing but the buffer's copies and what the loop does not write, and nothing else reads these copies.
static bool readsAlone(const LoopSchedule &schedule, ttg::MmaAsyncOp mma, const CircularBuffer &circular) {
  for (const Copy &copy : circular.copies)
    for (Operation *access : accessesOf(copy.alloc))
      if (access != mma && access != copy.store) return false;
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    ttg::AllocOp alloc = allocOf(operand);
    if (!alloc) return false;
    if (llvm::any_of(circular.copies, [&](const Copy &copy) { return copy.alloc == alloc; })) continue;
    if (!writersIn(schedule.loop, alloc).empty()) return false;
  }
  return true;
}

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

/// Returns the first MMA of the chain: the first reader of `circular`, if it may run for another iteration than the last MMA.
static ttg::MmaAsyncOp firstOfChain(const LoopSchedule &schedule, const CircularBuffer &circular, const PolicyContext &context) {
  scf::ForOp loop = schedule.loop;
  auto mma = dyn_cast<ttg::MmaAsyncOp>(circular.firstReader);
  if (!mma || mma.getUseC() || !loop.isDefinedOutsideOfLoop(mma.getC()) || !mma.getD().hasOneUse()) return {};
  auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(mma->getNextNode());
  if (!wait || wait.getPending() != 0 || wait.getTiles().size() != 1 || wait.getTiles()[0] != mma.getD()) return {};
  if (!readsAlone(schedule, mma, circular)) return {};
  SmallVector<ttg::MmaAsyncOp> mmas = mmasOf(loop);
  ttg::MmaAsyncWaitOp last = lastWaitIn(loop.getBody());
  if (mmas.size() < 2 || last == wait || last.getPending() != 0) return {};
  auto inTwoStages = [&] { return context.config.getWarps() == 2 * warpsOfGroup && mmas.front() == mma && TwoStages(loop).areSeparable(); };
  if (schedule.warpSpecialized && !inTwoStages()) return {};
  return hasRegisters(schedule, mma, context) ? mma : ttg::MmaAsyncOp();
}

bool scheduleChainedDots(LoopSchedule &schedule, const PolicyContext &context) {
  if (schedule.circularBuffers.empty()) return false;
  auto isEarlier = [](const CircularBuffer &x, const CircularBuffer &y) { return x.firstReader->isBeforeInBlock(y.firstReader); };
  CircularBuffer *first = std::min_element(schedule.circularBuffers.begin(), schedule.circularBuffers.end(), isEarlier);
  ttg::MmaAsyncOp mma = firstOfChain(schedule, *first, context);
  if (!mma || context.target.tcgen05) return false; // one thread issues the MMAs of all warp groups, so these cannot alternate
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
