#include "gpu/schedule/operation_ids.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t idOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(ttg::idName).getInt();
}

void setId(Operation *op, int64_t id) {
  op->setAttr(ttg::idName, Builder(op->getContext()).getI64IntegerAttr(id));
}

DenseMap<int64_t, Operation *> operationsById(Block *block) {
  DenseMap<int64_t, Operation *> byId;
  for (Operation &op : *block)
    if (op.hasAttr(ttg::idName))
      if (auto [known, isNew] = byId.try_emplace(idOf(&op), &op); !isNew) known->second = nullptr;
  return byId;
}

SmallVector<ttg::AsyncEdgeAttr> attributesOf(ArrayRef<MmaEdge> edges) {
  return llvm::map_to_vector(edges, [](const MmaEdge &edge) {
    return ttg::AsyncEdgeAttr::get(edge.op->getContext(), idOf(edge.op), idOf(edge.until), edge.distance);
  });
}

} // namespace tilewright::gpu
