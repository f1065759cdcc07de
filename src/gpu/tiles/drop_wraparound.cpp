// ir/passes/drop_wraparound.cpp, for each kernel.
#include "ir/drop_wraparound.h"
#include "gpu/passes.h"
#include "gpu/tiles/ttg.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult dropWraparound(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (!function.isExternal()) ttg::relyOn(function, tilewright::dropWraparound(function, ttg::refutedFacts(function)));
  return success();
}

} // namespace tilewright::gpu
