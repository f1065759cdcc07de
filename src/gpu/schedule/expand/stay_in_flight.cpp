// An MMA that accumulates in place is waited for only once the next one has started: tensor cores never idle over the back edge.
//   before: for i { d = MMA i of c    wait 0    yield d }
//   after:  for i { d = MMA i of c    wait 1: MMA i - 1 is over    yield d }    wait 0
// Where an iteration waits for another MMA before that one, this wait also drains the accumulating MMA of the previous iteration:
//   before: for i { s = other i    wait 0: s    d = MMA i of c    wait 0    yield d }
//   after:  for i { s = other i    wait 0: s, c = MMA i - 1    d = MMA i of c    yield d }    wait 0
#include "gpu/schedule/expand/stay_in_flight.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"

using namespace mlir;

namespace tilewright::gpu {

/// The iteration's wait with one more tile: the accumulator of the previous iteration's MMA.
static Operation *drainAt(ttg::MmaAsyncWaitOp wait, BlockArgument sum) {
  ttg::MmaAsyncWaitOp both = extendWait(wait, sum);
  sum.replaceAllUsesExcept(both.getResults().back(), both);
  return both;
}

Operation *keepInFlight(LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  OpBuilder b(loop.getContext());
  SmallVector<Value> sums;
  for (const AsyncEdge &edge : schedule.edges) {
    ttg::MmaAsyncOp mma = edge.mma;
    ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
    unsigned index = mma.getD().getUses().begin()->getOperandNumber();
    sums.push_back(loop.getTiedLoopResult(cast<BlockArgument>(mma.getC())));
    wait.getResults()[index].replaceAllUsesWith(mma.getD());
  }
  SmallVector<ttg::MmaAsyncWaitOp> waits(loop.getBody()->getOps<ttg::MmaAsyncWaitOp>());
  for (ttg::MmaAsyncWaitOp wait : waits)
    if (wait.use_empty()) wait.erase();
  ttg::MmaAsyncOp last = schedule.edges.back().mma;
  Operation *previousWait = nullptr;
  if (schedule.drainsAtWait()) {
    previousWait = drainAt(cast<ttg::MmaAsyncWaitOp>(schedule.edges.back().until), cast<BlockArgument>(last.getC()));
  } else {
    b.setInsertionPointAfter(last);
    previousWait = ttg::MmaAsyncWaitOp::create(b, last.getLoc(), static_cast<uint32_t>(schedule.edges.size()), ValueRange());
  }
  b.setInsertionPointAfter(loop);
  auto drain = ttg::MmaAsyncWaitOp::create(b, last.getLoc(), 0, sums);
  if (Attribute id = loop->removeAttr(ttg::idName))
    drain->setAttr(ttg::idName, id); // in the schedule of the loop around it, the loop ends here
  for (auto [sum, drained] : llvm::zip(sums, drain.getResults()))
    sum.replaceAllUsesExcept(drained, drain);
  return previousWait;
}

} // namespace tilewright::gpu
