// A store that overwrites what a TMA store has written waits for it:
//   before: tma stores ...    scf.if %again { tt.store ... {tt.overwrites} }
//   after:  tma stores ...    scf.if %again { tma_store_wait 0    cta_barrier    tt.store ... {tt.overwrites} }
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

/// Waits in the branch of the entry block that has the store, or before the store if it is in the entry block itself.
static void waitForStores(tt::FuncOp function) {
  if (!function.walk([](ttg::DescriptorStoreOp) { return WalkResult::interrupt(); }).wasInterrupted()) return;
  llvm::SetVector<Operation *> places;
  function.walk([&](tt::StoreOp store) {
    if (store->hasAttr(tt::overwritesName)) places.insert(function.getBody().front().findAncestorOpInBlock(*store));
  });
  for (Operation *op : places) {
    auto branch = dyn_cast<scf::IfOp>(op);
    OpBuilder b(op);
    if (branch) b.setInsertionPointToStart(branch.thenBlock());
    ttg::TmaStoreWaitOp::create(b, op->getLoc(), 0, /*untilWritten=*/true);
    ttg::CtaBarrierOp::create(b, op->getLoc());
  }
}

LogicalResult waitForStores(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    waitForStores(function);
    return success();
  });
}

} // namespace tilewright::gpu
