#include "gpu/ttg/tensor_map_recipe.h"

using namespace mlir;

namespace tilewright {

ttg::TensorMapAttr ttg::tensorMapOf(Value map) {
  auto argument = dyn_cast<BlockArgument>(map);
  auto kernel = argument ? dyn_cast<tt::FuncOp>(argument.getOwner()->getParentOp()) : tt::FuncOp();
  return kernel ? kernel.getArgAttrOfType<TensorMapAttr>(argument.getArgNumber(), tensorMapName) : TensorMapAttr();
}

} // namespace tilewright
