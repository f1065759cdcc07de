// A reduction of what a thread loads from tensor memory starts with the first half, while the second one is loaded:
//   before: ld 0   wait   ld 1   wait   max 0 max 1          after: ld 0   wait   ld 1   max 0   wait   max 1
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// Moves what combines values of earlier loads before the wait for the last ones.
static void combineBefore(ptx::Tcgen05WaitOp wait) {
  DenseSet<Value> known; // loaded by then, or combined from such values
  Operation *op = wait->getPrevNode();
  while (isa_and_nonnull<ptx::Tcgen05LdOp>(op) || (op && isMemoryEffectFree(op)))
    op = op->getPrevNode();
  auto earlier = dyn_cast_or_null<ptx::Tcgen05WaitOp>(op);
  if (!earlier || earlier.getKind() != ptx::TensorWait::ld) return; // all are waited for together
  for (op = op->getPrevNode(); isa_and_nonnull<ptx::Tcgen05LdOp>(op) || (op && isMemoryEffectFree(op)); op = op->getPrevNode())
    if (isa<ptx::Tcgen05LdOp>(op)) known.insert_range(op->getResults());
  for (Operation *each = wait->getNextNode(); each && isMemoryEffectFree(each);) {
    Operation *next = each->getNextNode();
    bool combines = each->getNumOperands() > 1 && llvm::all_of(each->getOperands(), [&](Value value) { return known.contains(value); });
    if (combines) {
      known.insert_range(each->getResults());
      each->moveBefore(wait);
    }
    each = next;
  }
}

LogicalResult overlapTensorLoads(ModuleOp module) {
  module.walk([&](ptx::Tcgen05WaitOp wait) {
    if (wait.getKind() == ptx::TensorWait::ld && isa<scf::ForOp>(wait->getParentOp())) combineBefore(wait);
  });
  return success();
}

} // namespace tilewright::gpu
