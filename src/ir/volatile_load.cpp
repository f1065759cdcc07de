#include "ir/volatile_load.h"

#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::tt {

bool isVolatileLoad(LoadOp load) {
  return load.getIsVolatile() || load.getCache() == CacheModifier::CV;
}

/// Returns the pointer to which a store or an atomic operation writes; null for others.
static Value writtenBy(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op)) return store.getPtr();
  return isa<AtomicRMWOp, AtomicCASOp>(op) ? op->getOperand(0) : Value();
}

bool mayChangeMeanwhile(LoadOp load) {
  if (isVolatileLoad(load)) return true;
  if (load->getParentOfType<MapElementwiseOp>() || !load->getParentOfType<scf::WhileOp>()) return false;
  Value base = address::baseArgument(load.getPtr());
  // Loaded pointers: a grouped GEMM reads a table of pointers in such a loop, and stores through one of them.
  bool mayBeWritten = load.getCache() == CacheModifier::CG;
  WalkResult walk = load->getParentOfType<FuncOp>().walk([&](Operation *op) {
    Value pointer = writtenBy(op), written = pointer ? Value(address::baseArgument(pointer)) : Value();
    bool meets = pointer && (base && written ? base == written : mayBeWritten);
    return meets ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

} // namespace tilewright::tt
