#include "gpu/ttg/tensor_map_recipe.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {

ttg::TensorMapAttr ttg::tensorMapOf(Value map) {
  auto argument = dyn_cast<BlockArgument>(map);
  auto kernel = argument ? dyn_cast<tt::FuncOp>(argument.getOwner()->getParentOp()) : tt::FuncOp();
  return kernel ? kernel.getArgAttrOfType<TensorMapAttr>(argument.getArgNumber(), tensorMapName) : TensorMapAttr();
}

std::optional<Value> ttg::writtenPointer(Operation *op) {
  auto tensorOf = [&](Value map) -> Value {
    ttg::TensorMapAttr recipe = ttg::tensorMapOf(map);
    return recipe ? op->getParentOfType<tt::FuncOp>().getArgument(static_cast<unsigned>(recipe.getBase())) : Value();
  };
  if (auto store = dyn_cast<tt::StoreOp>(op)) return store.getPtr();
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return op->getOperand(0);
  if (auto store = dyn_cast<ttg::DescriptorStoreOp>(op)) return tensorOf(store.getMap());
  if (auto store = dyn_cast<ttg::TmaStoreOp>(op)) return tensorOf(store.getMap());
  if (isa<tt::LoadOp, tt::PrintOp, tt::AssertOp, tt::FuncOp, tt::ReturnOp>(op)) return std::nullopt; // they write no tensor
  bool mayWrite = isa<tt::TTDialect>(op->getDialect()) && !isMemoryEffectFree(op);
  return mayWrite ? std::optional(Value()) : std::nullopt;
}

} // namespace tilewright
