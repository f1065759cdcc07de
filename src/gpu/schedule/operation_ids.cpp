#include "gpu/schedule/operation_ids.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t idOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(ttg::idName).getInt();
}

void setId(Operation *op, int64_t id) {
  op->setAttr(ttg::idName, Builder(op->getContext()).getI64IntegerAttr(id));
}

OperationsById::OperationsById(Block *block) {
  for (Operation &op : *block)
    if (op.hasAttr(ttg::idName))
      if (auto [known, isNew] = operations.try_emplace(idOf(&op), &op); !isNew) known->second = nullptr;
}

Operation *OperationsById::lookup(int64_t id) const {
  auto found = operations.find(id);
  return found == operations.end() ? nullptr : found->second;
}

SmallVector<ttg::AsyncEdgeAttr> attributesOf(ArrayRef<MmaEdge> edges) {
  return llvm::map_to_vector(edges, [](const MmaEdge &edge) {
    return ttg::AsyncEdgeAttr::get(edge.op->getContext(), idOf(edge.op), idOf(edge.until), edge.distance);
  });
}

} // namespace tilewright::gpu
