// Accesses to tensor memory in loops are made in parts, so that arithmetic runs meanwhile:
//   before: tt.reduce (ttg.tensor_load %t)     after: tt.reduce (ttg.tensor_load %t {inHalves})
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult splitTensorAccesses(tt::FuncOp kernel, ttg::ConfigAttr) {
  auto isInLoop = [](Operation *op) { return isa<scf::ForOp>(op->getParentOp()); };
  kernel.walk(
      [&](ttg::TensorLoadOp load) { load.setInHalves(isInLoop(load) && llvm::any_of(load->getUsers(), llvm::IsaPred<tt::ReduceOp>)); });
  kernel.walk([&](ttg::TensorStoreOp store) { store.setInParts(isInLoop(store)); });
  return success();
}

} // namespace tilewright::gpu
