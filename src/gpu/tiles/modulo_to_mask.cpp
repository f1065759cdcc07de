// ir/passes/modulo_to_mask.cpp, for each kernel.
#include "ir/modulo_to_mask.h"
#include "gpu/passes.h"
#include "gpu/tiles/ttg.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Two numbers of e2m1 lie in a byte along one dimension; along the others each stays where it is.
static bool keepsPosition(Operation *op, int64_t dim) {
  auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
  return unpack && unpack.getDim() != dim;
}

LogicalResult moduloToMask(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (!function.isExternal()) ttg::relyOn(function, tilewright::moduloToMask(function, ttg::failedGuardsOf(function), keepsPosition));
  return success();
}

} // namespace tilewright::gpu
