// A store that overwrites what a TMA store has written waits for it:
//   before: tma stores ...    scf.if %again { tt.store ... {tt.overwrites} }
//   after:  tma stores ...    scf.if %again { tma_store_wait 0    cta_barrier    tt.store ... {tt.overwrites} }
// An arm that has no such store does not wait. A loop waits before it starts if it has no TMA store, else in each iteration.
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

static bool overwrites(Operation &op) {
  return op.walk([](tt::StoreOp store) { return store->hasAttr(tt::overwritesName) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

static bool storesByTma(Operation &op) {
  return op.walk([](ttg::DescriptorStoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Waits in a block before operations that overwrite. `unwritten`: TMA stores before the block may not have written yet. Returns whether
/// that is so after the block.
static bool waitIn(Block &block, bool unwritten) {
  for (Operation &op : block) {
    bool overwritten = overwrites(op), stored = storesByTma(op);
    if (overwritten && op.getNumRegions() != 0 && (stored || isa<scf::IfOp>(op))) {
      bool before = unwritten || !isa<scf::IfOp>(op); // of a loop, also in the iteration before
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          unwritten |= waitIn(inner, before);
      continue;
    }
    if (overwritten && unwritten) {
      OpBuilder b(&op);
      ttg::TmaStoreWaitOp::create(b, op.getLoc(), 0, /*untilWritten=*/true);
      ttg::CtaBarrierOp::create(b, op.getLoc());
      unwritten = false;
    }
    unwritten |= stored;
  }
  return unwritten;
}

LogicalResult waitForStores(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    waitIn(function.getBody().front(), /*unwritten=*/false);
    return success();
  });
}

} // namespace tilewright::gpu
