// See demanded_extent.h.
#include "gpu/ttg/demanded_extent.h"

#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

Dims validExtent(tt::DotOp dot) {
  if (auto valid = dot->getAttrOfType<DenseI64ArrayAttr>(tt::validExtentName)) return valid.asArrayRef().vec();
  return ttg::shapeOf(dot.getType());
}

Dims slicedExtent(Dims valid, const Dims &slice, int64_t dim, int64_t ctas, std::optional<int64_t> own) {
  auto along = static_cast<size_t>(dim);
  bool isEven = valid[along] == ctas * slice[along];
  if (!isEven && !own) return slice;
  valid[along] = own.value_or(slice[along]);
  return valid;
}

void splitValidExtent(tt::DotOp dot, int64_t dim, int64_t ctas, std::optional<int64_t> own) {
  if (!dot->hasAttr(tt::validExtentName)) return;
  Dims shape = ttg::shapeOf(dot.getType()), valid = slicedExtent(validExtent(dot), shape, dim, ctas, own);
  if (valid != shape)
    dot->setAttr(tt::validExtentName, DenseI64ArrayAttr::get(dot.getContext(), valid));
  else
    dot->removeAttr(tt::validExtentName);
}

Dims demandedExtent(Value tile) {
  Dims shape = ttg::shapeOf(tile.getType()), demanded(shape.size(), 0);
  if (tile.use_empty()) return shape;
  for (OpOperand &use : tile.getUses()) {
    Dims extent = shape;
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<tt::DotOp>(user); dot && shape.size() == 2 && use.getOperandNumber() < 2) {
      size_t dim = use.getOperandNumber(); // A's rows, B's columns
      extent[dim] = validExtent(dot)[dim];
    } else if (auto transposed = dyn_cast<tt::TransOp>(user)) {
      for (auto [there, dim] : llvm::zip(demandedExtent(transposed.getResult()), transposed.getOrder()))
        extent[static_cast<size_t>(dim)] = there;
    } else if (auto cast = dyn_cast<tt::BitcastOp>(user)) { // bytes reinterpreted as 8-bit floats
      extent = demandedExtent(cast.getResult());
    }
    for (auto [all, one] : llvm::zip(demanded, extent))
      all = std::max(all, one);
  }
  return demanded;
}

Dims coveringExtent(tt::DotOp dot) {
  Dims valid = validExtent(dot), shape = ttg::shapeOf(dot.getType());
  int64_t steps[2] = {wgmmaRows, getElementTypeOrSelf(dot.getA().getType()).isInteger() ? wgmmaColumnStepOfIntegers : wgmmaColumnStep};
  // A warp group may have fewer rows than the other ones, but must execute the same instruction.
  Layout layout = ttg::layoutOf(dot.getType());
  for (uint32_t basis : layout.basesOf(Axis::warp))
    if (coordinatesOf(shape, basis)[1] != 0) steps[1] = shape[1];
  Dims extent;
  for (size_t dim : {0, 1})
    extent.push_back(std::min(shape[dim], (valid[dim] + steps[dim] - 1) / steps[dim] * steps[dim]));
  return extent;
}

} // namespace tilewright::gpu
