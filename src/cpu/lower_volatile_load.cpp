#include "cpu/volatile_load.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// A fence for one thread. LLVM's volatile loads do not exist for masked ones and gathers, and its loads may cross them.
void holdOrder(ImplicitLocOpBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, "singlethread");
}

bool onlyReads(Operation *op) {
  WalkResult result = op->walk([](Operation *inner) {
    auto load = dyn_cast<LoadOp>(inner);
    bool reads = load && !isVolatileLoad(load);
    bool isPlain = reads || inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(inner);
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

} // namespace tilewright::cpu
