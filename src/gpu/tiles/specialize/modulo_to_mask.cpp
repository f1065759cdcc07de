// Runs ir/passes/modulo_to_mask.cpp on each kernel.
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"
#include "ir/passes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if each element keeps its index along `dim`: unpacking moves elements only along the dimension of the e2m1 pairs.
static bool keepsPosition(Operation *op, int64_t dim) {
  auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
  return unpack && unpack.getDim() != dim;
}

LogicalResult moduloToMask(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (!function.isExternal())
      ttg::relyOn(function, tilewright::moduloToMask(function, ttg::failedGuardsOf(function), cudaGridLimits, keepsPosition));
  return success();
}

} // namespace tilewright::gpu
