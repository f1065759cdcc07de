#include "gpu/schedule/mma_loops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

llvm::SetVector<Operation *> loopsWithMmas(tt::FuncOp function) {
  llvm::SetVector<Operation *> loops;
  function.walk([&](ttg::MmaAsyncOp mma) {
    if (auto loop = mma->getParentOfType<scf::ForOp>()) loops.insert(loop);
  });
  return loops;
}

llvm::SetVector<Location> locationsOfMmaLoops(tt::FuncOp function) {
  llvm::SetVector<Location> locations;
  for (Operation *loop : loopsWithMmas(function))
    locations.insert(loop->getLoc());
  return locations;
}

void remarkOnLoops(tt::FuncOp function, StringRef pass, const llvm::SetVector<Location> &loops, StringRef text) {
  for (Location loop : loops)
    ttg::remark(function, pass, loop, text);
}

} // namespace tilewright::gpu
