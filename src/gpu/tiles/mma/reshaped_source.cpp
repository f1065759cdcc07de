// See reshaped_source.h.
#include "gpu/tiles/mma/reshaped_source.h"

using namespace mlir;

namespace tilewright::gpu {

SharedLayout ReshapedSource::layout(const SharedLayout &wanted) const {
  SharedLayout result{ttg::shapeOf(tile.getType()), {}, wanted.elementBits};
  for (uint32_t basis : wanted.bases)
    result.bases.push_back(toTile.apply(basis));
  return result;
}

bool onlyRenumbers(Operation *op) {
  return isa_and_nonnull<tt::TransOp, tt::ReshapeOp, tt::ExpandDimsOp, tt::BitcastOp, ttg::ConvertLayoutOp>(op);
}

/// The flat index of an element of a transposed tile -> that of the same element of its source.
static uint32_t beforeTranspose(tt::TransOp trans, uint32_t flat) {
  Dims shape = ttg::shapeOf(trans.getSrc().getType()), at = coordinatesOf(ttg::shapeOf(trans.getType()), flat), source(at.size());
  for (auto [coordinate, dim] : llvm::zip(at, trans.getOrder()))
    source[static_cast<size_t>(dim)] = coordinate;
  return flatOf(shape, source);
}

ReshapedSource reshapedSourceOf(Value tile) {
  ReshapedSource source{tile, {}};
  for (int64_t bit = 0; bit < log2Of(elementCount(ttg::shapeOf(tile.getType()))); ++bit)
    source.toTile.columns.push_back(uint32_t(1) << bit);
  while (onlyRenumbers(source.tile.getDefiningOp())) {
    Operation *op = source.tile.getDefiningOp();
    if (auto trans = dyn_cast<tt::TransOp>(op))
      for (uint32_t &column : source.toTile.columns)
        column = beforeTranspose(trans, column);
    source.tile = op->getOperand(0); // the other operations keep the flat index
  }
  return source;
}

} // namespace tilewright::gpu
