#include "gpu/schedule/microscaling/thread_value_groups.h"

#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/tile_shapes.h"
#include "ir/slice.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------ K's order

/// K in four parts, threads first, and how they are turned.
std::pair<SmallVector<int64_t>, SmallVector<int32_t>> Reorder::steps() const {
  int64_t depth = tile.getDimSize(static_cast<unsigned>(along)), other = tile.getDimSize(static_cast<unsigned>(1 - along));
  SmallVector<int64_t> extents = {4, depth / 16, 2, 2};
  SmallVector<int32_t> order = {1, 2, 0, 3};
  if (evenOddInterleave) std::swap(order[1], order[3]);
  if (along == 0) {
    extents.push_back(other);
    order.push_back(4);
  } else {
    extents.insert(extents.begin(), other);
    for (int32_t &dim : order)
      ++dim;
    order.insert(order.begin(), 0);
  }
  return {extents, order};
}

Value Reorder::apply(OpBuilder &b, Value value) const {
  auto [extents, order] = steps();
  return reshaped(b, transposed(b, reshaped(b, value, extents), order), tile.getShape());
}

Layout Reorder::before(const Layout &result) const {
  auto [extents, order] = steps();
  Dims inOrder, back(order.size());
  for (auto [dim, from] : llvm::enumerate(order)) {
    inOrder.push_back(extents[static_cast<size_t>(from)]);
    back[static_cast<size_t>(from)] = static_cast<int64_t>(dim);
  }
  return result.reshaped(inOrder).transposed(back).reshaped(ttg::shapeOf(tile));
}

//===----------------------------------------------------------------------------------------------------------- rows' halves

Value RowHalves::half(OpBuilder &b, Value tile, size_t which) {
  if (Value known = halves[which].lookup(tile)) return known;
  Operation *op = tile.getDefiningOp();
  auto unpack = dyn_cast_or_null<ttg::UnpackE2m1Op>(op);
  SplatElementsAttr splat;
  bool isInHalves = op && op->getNumResults() == 1 &&
                    (matchPattern(op, m_Constant(&splat)) || isElementwiseOnTiles(op) || (unpack && unpack.getDim() != rows));
  if (!isInHalves) {
    cut(tile);
    return halves[which].lookup(tile);
  }
  auto halfOf = [&](Value operand) { return isTile(operand) ? half(b, operand, which) : operand; };
  return halves[which][tile] = tt::rematerialize(b, op, halved(cast<RankedTensorType>(tile.getType())), halfOf);
}

Value RowHalves::whole(OpBuilder &b, Value low, Value high, RankedTensorType type) {
  Value both = reshaped(b, transposed(b, joined(b, low, high), {2, 0, 1}), type.getShape());
  return ttg::ConvertLayoutOp::create(b, low.getLoc(), type, both);
}

Dims RowHalves::splitRows(RankedTensorType type) const {
  Dims parts = ttg::shapeOf(type);
  parts[static_cast<size_t>(rows)] /= 2;
  parts.insert(parts.begin() + static_cast<ptrdiff_t>(rows), 2);
  return parts;
}

RankedTensorType RowHalves::halved(RankedTensorType type) const {
  Layout layout = ttg::layoutOf(type).reshaped(splitRows(type)).transposed(order()).splitHalves()->layout;
  return ttg::withLayout(RankedTensorType::get(layout.shape, type.getElementType()), layout);
}

void RowHalves::cut(Value tile) {
  OpBuilder b(tile.getContext());
  b.setInsertionPointAfterValue(tile);
  Dims way = order();
  Value parts = reshaped(b, tile, splitRows(cast<RankedTensorType>(tile.getType())));
  std::tie(halves[0][tile], halves[1][tile]) = halvesOf(b, transposed(b, parts, SmallVector<int32_t>(way.begin(), way.end())));
}

} // namespace tilewright::gpu
