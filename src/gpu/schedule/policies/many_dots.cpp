// Three dots or more, the last of which accumulates in place, as in attention's backward pass. The last MMA stays in flight until the next
// iteration waits for its first one. (A warp that only issues tcgen05.mma does not wait: its commits release stages, and another policy
// serves it.) With S stages:
//   issue MMA 1 of i    wait for it and for the last MMA of i-1    release the stages of i-1    copy i+S-1    ...    issue the last MMA of
//   i
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/policies/policies.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the first wait of an iteration if it can also wait for the last MMA of the previous iteration, which keeps the registers of its
/// first operand up to that wait; otherwise null.
static ttg::MmaAsyncWaitOp chooseDrainingWait(const LoopSchedule &schedule, const PolicyContext &context) {
  scf::ForOp loop = schedule.loop;
  Block *body = loop.getBody();
  SmallVector<ttg::MmaAsyncOp> mmas = mmasOf(loop);
  auto waits = body->getOps<ttg::MmaAsyncWaitOp>();
  if (static_cast<int64_t>(mmas.size()) < minMmasToDrainLate || waits.empty() || !accumulatesInPlace(mmas.back(), loop)) return {};
  ttg::MmaAsyncOp last = mmas.back();
  ttg::MmaAsyncWaitOp first = *waits.begin();
  if (first.getPending() != 0 || first.getTiles().size() != 1 || !first->isBeforeInBlock(last)) return {};
  auto mma = first.getTiles()[0].getDefiningOp<ttg::MmaAsyncOp>();
  if (!mma || mma->getBlock() != body || !llvm::all_of(last.buffers(), [&](Value buffer) { return staysInBuffer(schedule, buffer); }))
    return {};
  int64_t available = registersForTiles(context.config, context.target, schedule.warpSpecialized) - accumulatorsOf(loop);
  if (!isa<RankedTensorType>(last.getA().getType())) return first;
  return registersOf(last.getA().getType()) <= available ? first : ttg::MmaAsyncWaitOp();
}

bool scheduleManyDots(LoopSchedule &schedule, const PolicyContext &context) {
  bool hasMmaWarp = schedule.warpSpecialized && context.target.tcgen05;
  if (schedule.circularBuffers.empty() || hasMmaWarp) return false;
  ttg::MmaAsyncWaitOp wait = chooseDrainingWait(schedule, context);
  if (!wait) return false;
  drainLastMmaAt(schedule, wait);
  return true;
}

} // namespace tilewright::gpu
