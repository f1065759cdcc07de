#include "cpu/made_anew.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tilewright::cpu {

/// A fence for one thread. LLVM's volatile loads do not exist for masked ones and gathers, and its loads may cross them.
void holdOrder(ImplicitLocOpBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, "singlethread");
}

} // namespace tilewright::cpu
