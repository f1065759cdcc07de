// ir/passes/drop_wraparound.cpp, for each kernel.
#include "ir/drop_wraparound.h"
#include "gpu/passes.h"
#include "gpu/tiles/ttg.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Two numbers of e2m1 lie in a byte along one dimension; along the others each stays where it is.
static bool keepsLine(Operation *op, int64_t dim) {
  auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
  return unpack && unpack.getDim() != dim;
}

LogicalResult dropWraparound(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (!function.isExternal()) ttg::relyOn(function, tilewright::dropWraparound(function, ttg::refutedFacts(function), keepsLine));
  return success();
}

} // namespace tilewright::gpu
