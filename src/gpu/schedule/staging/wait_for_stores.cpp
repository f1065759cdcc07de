// A store that overwrites what a TMA store has written waits for it:
//   before: tma stores ...    scf.if %again { tt.store ... {tt.overwrites} }
//   after:  tma stores ...    scf.if %again { tma_store_wait 0    cta_barrier    tt.store ... {tt.overwrites} }
// The arm that has no such store does not wait.
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns where a wait before the store stands, as early as it is always executed with the store: at the start of the arm of a branch of
/// the entry block, or before the operation of the entry block that has the store.
static OpBuilder positionBefore(tt::StoreOp store, Block &entry) {
  Operation *op = entry.findAncestorOpInBlock(*store);
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch) return OpBuilder(op);
  bool inThen = branch.getThenRegion().isAncestor(store->getParentRegion());
  return OpBuilder::atBlockBegin(inThen ? branch.thenBlock() : branch.elseBlock());
}

/// Waits once before all overwriting stores of an arm, or of an operation of the entry block.
static void waitForStores(tt::FuncOp function) {
  if (!function.walk([](ttg::DescriptorStoreOp) { return WalkResult::interrupt(); }).wasInterrupted()) return;
  llvm::MapVector<Operation *, Location> positions; // the operations before which the waits stand, and the stores' locations
  Block &entry = function.getBody().front();
  function.walk([&](tt::StoreOp store) {
    if (!store->hasAttr(tt::overwritesName)) return;
    OpBuilder b = positionBefore(store, entry);
    positions.insert({&*b.getInsertionPoint(), entry.findAncestorOpInBlock(*store)->getLoc()});
  });
  for (auto [op, location] : positions) {
    OpBuilder b(op);
    ttg::TmaStoreWaitOp::create(b, location, 0, /*untilWritten=*/true);
    ttg::CtaBarrierOp::create(b, location);
  }
}

LogicalResult waitForStores(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) {
    waitForStores(function);
    return success();
  });
}

} // namespace tilewright::gpu
