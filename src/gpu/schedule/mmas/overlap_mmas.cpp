// Carries out the order of MMAs that schedule-mmas has decided (`ttg.mma_schedule`): moves MMAs, loads and waits, and lets each wait end
// the MMAs that its edges name. MMAs end in the order in which they are issued, so a wait counts those that may still run.
//   before: s = QK    wait s    p = exp2(s)    dp = GV    wait dp    edges [<QK -> wait s>, <GV -> wait dp>]    dp = GV moves after s = QK
//   after:  s = QK    dp = GV    wait 1: s    p = exp2(s)    wait 0: dp
// Arithmetic that an edge names is computed under the MMAs: its value passes through the wait, so that ptxas does not move the wait above
// it.
#include "gpu/passes.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Moves the operations to their orders. Records the launch guards under which a load may move.
static LogicalResult moveOperations(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  Operation *last = nullptr;
  for (auto [op, moves] : schedule.ops) {
    if (auto load = dyn_cast<tt::LoadOp>(op); load && moves) {
      std::optional<LaunchGuards> guards = noWriteGuards(load, loop);
      if (!guards) return load.emitError("its schedule is invalid: the loop may write what the load reads");
      ttg::relyOn(loop->getParentOfType<tt::FuncOp>(), *guards);
    }
    if (moves && last)
      op->moveAfter(last);
    else if (moves)
      op->moveBefore(&loop.getBody()->front());
    last = op;
  }
  return success();
}

/// Arithmetic above the wait stays above it: nothing adds its elements up there, and ptxas computes them in an order of its own.
static ttg::MmaAsyncWaitOp passThrough(ttg::MmaAsyncWaitOp wait, Value computed) {
  ttg::MmaAsyncWaitOp both = extendWait(wait, computed);
  both->setAttr(ptx::nameEveryValueName, UnitAttr::get(both.getContext()));
  computed.replaceUsesWithIf(both.getResults().back(), [&](OpOperand &use) {
    return both->isBeforeInBlock(both->getBlock()->findAncestorOpInBlock(*use.getOwner()));
  });
  return both;
}

static ttg::MmaAsyncWaitOp merge(ttg::MmaAsyncWaitOp wait, ttg::MmaAsyncWaitOp into) {
  ttg::MmaAsyncWaitOp both = extendWait(into, wait.getTiles());
  wait->replaceAllUsesWith(both.getResults().take_back(wait.getTiles().size()));
  wait.erase();
  return both;
}

/// The wait that an MMA's result, or in the next iteration the value that the loop carries for it, passes through.
static ttg::MmaAsyncWaitOp waitOf(const MmaEdge &edge, scf::ForOp loop) {
  Value result = edge.op->getResult(0);
  if (edge.distance == 0) return waitFor(result);
  for (OpOperand &yielded : loop.getYieldedValuesMutable().value())
    if (yielded.get() == result) return waitFor(loop.getRegionIterArg(yielded.getOperandNumber()));
  return {};
}

/// Lets each wait end the MMAs that its edges name.
static LogicalResult rebuildWaits(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  DenseMap<Operation *, ttg::MmaAsyncWaitOp> current; // by the wait that an edge names: extending a wait replaces it
  llvm::SmallPtrSet<Operation *, 4> counted;
  for (const MmaEdge &edge : schedule.edges) {
    ttg::MmaAsyncWaitOp &until = current.insert({edge.until, edge.until}).first->second;
    if (!isa<ttg::MmaAsyncOp>(edge.op)) {
      until = passThrough(until, edge.op->getResult(0));
      continue;
    }
    ttg::MmaAsyncWaitOp wait = waitOf(edge, loop);
    if (!wait) return edge.op->emitError("its schedule is invalid: no wait ends the MMA");
    if (wait != until)
      until = merge(wait, until);
    else if (counted.insert(edge.until).second)
      until.setPending(static_cast<uint32_t>(pendingAt(until, until)));
  }
  return success();
}

LogicalResult overlapMmas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) {
      if (loop->hasAttr(ttg::mmaScheduleName)) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      FailureOr<MmaSchedule> schedule = takeMmaSchedule(loop);
      if (failed(schedule) || failed(moveOperations(*schedule)) || failed(rebuildWaits(*schedule))) return failure();
    }
    return success();
  });
}

} // namespace tilewright::gpu
