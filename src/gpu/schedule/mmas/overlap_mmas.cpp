// Carries out the order of MMAs that schedule-mmas has decided (`ttg.mma_schedule`): moves MMAs, loads and waits, and lets each wait end
// the MMAs that its edges name.
//   before: s = QK    wait s    p = exp2(s)    dp = GV    wait dp    edges [<QK -> wait s>, <GV -> wait dp>]    dp = GV moves after s = QK
//   after:  s = QK    dp = GV    wait 1: s    p = exp2(s)    wait 0: dp
// Arithmetic that an edge names is computed under the MMAs: its value passes through the wait, so that ptxas does not move the wait above
// it.
#include "gpu/passes.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/ttg/written_memory.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Moves the operations to their orders. Records the launch guards under which a load may move.
static void moveOperations(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  Operation *last = nullptr;
  for (auto [op, moves] : schedule.ops) {
    if (auto load = dyn_cast<tt::LoadOp>(op); load && moves)
      ttg::relyOn(loop->getParentOfType<tt::FuncOp>(), *ttg::unwrittenGuards(load, loop));
    if (moves && last)
      op->moveAfter(last);
    else if (moves)
      op->moveBefore(&loop.getBody()->front());
    last = op;
  }
}

LogicalResult overlapMmas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) {
      if (loop->hasAttr(ttg::mmaScheduleName)) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      FailureOr<MmaSchedule> schedule = takeMmaSchedule(loop);
      if (failed(schedule)) return failure();
      moveOperations(*schedule);
      if (failed(endAtEdges(loop, schedule->edges))) return failure();
    }
    return success();
  });
}

} // namespace tilewright::gpu
