#include "gpu/passes.h"
#include "gpu/schedule/barrier_analysis.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

static void checkBarriers(tt::FuncOp function) {
  DenseSet<Operation *> needed;
  DenseSet<std::pair<Operation *, Operation *>> reported;
  visitConflicts(function, [&](const PendingAccess &earlier, const SharedAccess &later) {
    if (earlier.barrier && !earlier.severalBarriers) needed.insert(earlier.barrier);
    BarrierNeed need = needOf(earlier, later);
    if (!need || !reported.insert({earlier.access.op, later.op}).second) return;
    InFlightDiagnostic remark = later.op->emitRemark() << "hazard:" << (need.wait ? " wait" : "") << (need.barrier ? " barrier" : "")
                                                       << (need.allWarps ? " all-warps" : "") << (need.fence ? " fence" : "");
    remark.attachNote(earlier.access.op->getLoc()) << "earlier: " << *earlier.access.op;
    remark.attachNote(later.op->getLoc()) << "later: " << *later.op;
  });
  function.walk([&](ttg::CtaBarrierOp sync) {
    if (!needed.contains(sync)) sync.emitRemark() << "unneeded barrier" << (sync->getParentOfType<scf::ForOp>() ? " in a loop" : "");
  });
}

LogicalResult checkBarriers(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    checkBarriers(function);
    return success();
  });
}

} // namespace tilewright::gpu
