// Loads of memory that others may store to meanwhile (made_anew.h).
#include "cpu/made_anew.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

bool isMadeAnew(LoadOp load) {
  return load.getIsVolatile() || load.getCache() == CacheModifier::CV;
}

/// A fence for one thread. LLVM's volatile loads do not exist for masked ones and gathers, and its loads may cross them.
void holdOrder(ImplicitLocOpBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, "singlethread");
}

} // namespace tilewright::cpu
