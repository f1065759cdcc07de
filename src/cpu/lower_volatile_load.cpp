#include "cpu/lower_volatile_load.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// Emits a single-thread fence. LLVM has no volatile masked loads or gathers, and ordinary loads may cross volatile ones.
void emitCompilerBarrier(ImplicitLocOpBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, "singlethread");
}

void emitBarrierAfterVolatileLoad(ImplicitLocOpBuilder &b, const CpuTarget &target) {
  if (target.isa == Isa::x86_64) return emitCompilerBarrier(b);
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire);
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
