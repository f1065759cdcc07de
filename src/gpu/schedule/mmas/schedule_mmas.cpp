// MMAs are waited for where they stand, so that the next one starts only when the threads have nothing to do, and they compute while
// tensor cores idle. This step decides another order. Attention backward, an iteration:
//   before: s = QK    wait s    p = exp2(s)    dv += pG    wait dv    dp = GV    wait dp    ds = p * dp    dk += ds Q    wait dk
//   after:  s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dp    ds = p * dp    dk += ds Q    wait dv, dk
// First MMAs are issued earlier (early_mmas.cpp), then they are waited for later (late_waits.cpp). Nothing moves yet: the decision is the
// attribute `ttg.mma_schedule`, which is verified here (verify_mma_schedule.cpp), and overlap-mmas carries it out.
#include "gpu/cost_model/accumulators.h"
#include "gpu/passes.h"
#include "gpu/schedule/mmas/mma_order.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Names what moves, what it stands after, and the ends of edges.
static MmaSchedule scheduleOf(scf::ForOp loop, const BlockOrder &order, SmallVector<MmaEdge> edges) {
  llvm::SmallPtrSet<Operation *, 8> named;
  for (Operation *op : order.all())
    if (order.hasMoved(op)) {
      named.insert(op);
      if (Operation *before = order.previous(op)) named.insert(before);
    }
  for (const MmaEdge &edge : edges)
    named.insert({edge.op, edge.until});
  MmaSchedule schedule{loop, {}, std::move(edges)};
  for (Operation *op : order.all())
    if (named.contains(op)) schedule.ops.push_back({op, order.hasMoved(op)});
  return schedule;
}

static LogicalResult scheduleMmasOf(scf::ForOp loop, int64_t registers, bool warpSpecialized) {
  auto mmas = loop.getBody()->getOps<ttg::MmaAsyncOp>();
  if (std::distance(mmas.begin(), mmas.end()) < 2 || registers < 0) return success();
  BlockOrder order(*loop.getBody());
  int64_t left = issueEarly(loop, order, registers);
  SmallVector<MmaEdge> edges = waitLate(loop, order, left, warpSpecialized);
  MmaSchedule schedule = scheduleOf(loop, order, std::move(edges));
  if (Result<void> valid = verify(schedule); !valid) return bug(loop, "its order of MMAs is invalid: " + valid.error());
  if (!schedule.ops.empty()) writeMmaSchedule(schedule);
  return success();
}

LogicalResult scheduleMmas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    bool warpSpecialized = function->hasAttr(ttg::warpSpecializedName);
    int64_t available = registersForTiles(config, target, warpSpecialized);
    WalkResult walk = function.walk([&](scf::ForOp loop) {
      bool isChosen = hasOperandPartition(loop); // its order
      return WalkResult(isChosen ? success() : scheduleMmasOf(loop, available - accumulatorsOf(loop), warpSpecialized));
    });
    return failure(walk.wasInterrupted());
  });
}

} // namespace tilewright::gpu
