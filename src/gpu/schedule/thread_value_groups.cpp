#include "gpu/schedule/thread_value_groups.h"

#include "gpu/tiles/tile_equivalence.h"
#include "ir/slice.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

static RankedTensorType typed(RankedTensorType tile, const Layout &layout) {
  return ttg::withLayout(RankedTensorType::get(layout.shape, tile.getElementType()), layout);
}

static Value reshaped(OpBuilder &b, Value tile, const Layout &layout) {
  return tt::ReshapeOp::create(b, tile.getLoc(), typed(cast<RankedTensorType>(tile.getType()), layout), tile, false, false);
}

static Value transposed(OpBuilder &b, Value tile, ArrayRef<int32_t> order) {
  Layout layout = ttg::layoutOf(tile.getType()).transposed(Dims(order.begin(), order.end()));
  return tt::TransOp::create(b, tile.getLoc(), typed(cast<RankedTensorType>(tile.getType()), layout), tile, order);
}

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
  Value parts = reshaped(b, value, ttg::layoutOf(value.getType()).reshaped(Dims(extents.begin(), extents.end())));
  Value inOrder = transposed(b, parts, order);
  return reshaped(b, inOrder, ttg::layoutOf(inOrder.getType()).reshaped(ttg::shapeOf(tile)));
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
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return isTile(operand) ? half(b, operand, which) : operand; });
  return halves[which][tile] = tt::cloneAs(b, op, operands, halved(cast<RankedTensorType>(tile.getType())));
}

Value RowHalves::whole(OpBuilder &b, Value low, Value high, RankedTensorType type) {
  Layout joined = ttg::layoutOf(low.getType()).joined();
  Value both = tt::JoinOp::create(b, low.getLoc(), typed(type, joined), low, high);
  both = transposed(b, both, {2, 0, 1});
  both = reshaped(b, both, ttg::layoutOf(both.getType()).reshaped(ttg::shapeOf(type)));
  return ttg::ConvertLayoutOp::create(b, low.getLoc(), type, both);
}

Layout RowHalves::splitRows(RankedTensorType type) const {
  Dims parts = ttg::shapeOf(type);
  parts[static_cast<size_t>(rows)] /= 2;
  parts.insert(parts.begin() + static_cast<ptrdiff_t>(rows), 2);
  return ttg::layoutOf(type).reshaped(parts);
}

RankedTensorType RowHalves::halved(RankedTensorType type) const {
  return typed(type, splitRows(type).transposed(order()).splitHalves()->layout);
}

void RowHalves::cut(Value tile) {
  OpBuilder b(tile.getContext());
  b.setInsertionPointAfterValue(tile);
  auto type = cast<RankedTensorType>(tile.getType());
  Dims way = order();
  Value parts = transposed(b, reshaped(b, tile, splitRows(type)), SmallVector<int32_t>(way.begin(), way.end()));
  auto split = tt::SplitOp::create(b, tile.getLoc(), TypeRange{halved(type), halved(type)}, parts);
  halves[0][tile] = split.getOutLHS();
  halves[1][tile] = split.getOutRHS();
}

} // namespace tilewright::gpu
