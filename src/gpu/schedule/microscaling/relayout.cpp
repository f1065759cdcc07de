#include "gpu/schedule/microscaling/relayout.h"

#include "gpu/tiles/layout_cost.h"
#include "gpu/tiles/layout_plan.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

Relayout::Key Relayout::keyOf(Value tile, const Layout &want) {
  return {tile, ttg::withLayout(cast<RankedTensorType>(tile.getType()), want)};
}

/// Nothing if the operation is none of those that are made again.
std::optional<Layout> Relayout::layoutOfOperands(Operation *op, const Layout &want) const {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || isa<tt::ElementwiseInlineAsmOp>(op)) return {};
  if (isa<tt::SplatOp, tt::MakeRangeOp, arith::ConstantOp, ttg::ConvertLayoutOp>(op) || isElementwiseOnTiles(op)) return want;
  if (auto load = dyn_cast<tt::LoadOp>(op)) return tt::isVolatileLoad(load) ? std::nullopt : std::optional(want);
  if (isa<ttg::DescriptorLoadOp>(op)) return want;
  return sourceLayout(op, want);
}

bool Relayout::canMake(Value tile, const Layout &want) {
  if (!isTile(tile)) return true;
  auto [value, type] = keyOf(tile, want);
  if (buffers.contains(tile)) return true;
  if (tile.getType() == type || asked.contains({value, type})) return true;
  Operation *op = tile.getDefiningOp();
  std::optional<Layout> source = op ? layoutOfOperands(op, want) : std::nullopt;
  if (!source || !llvm::all_of(op->getOperands(), [&](Value operand) { return canMake(operand, *source); })) return false;
  if (isa<ttg::DescriptorLoadOp>(op)) {
    if (llvm::is_contained(copies, op)) return false; // in two layouts
    copies.push_back(op);
  }
  if (isa<tt::LoadOp>(op)) loads.insert({op, want});
  asked.insert({value, type});
  return true;
}

bool Relayout::canMakeOfLoads(Value tile, const Layout &want) {
  if (!isTile(tile) || asked.contains(keyOf(tile, want))) return true;
  Operation *op = tile.getDefiningOp();
  if (!op || isa<tt::LoadOp, ttg::DescriptorLoadOp>(op)) return false;
  std::optional<Layout> source = layoutOfOperands(op, want);
  return source && llvm::all_of(op->getOperands(), [&](Value operand) { return canMakeOfLoads(operand, *source); });
}

std::optional<Layout> Relayout::layoutOfLoads(const Dims &shape) const {
  for (const auto &[op, layout] : loads)
    if (layout.shape == shape) return layout;
  return {};
}

/// How many contiguous elements one access brings: what their addresses allow, in this layout.
void Relayout::keepAccessWidth(tt::LoadOp load, const Layout &want) {
  load->removeAttr(ttg::vectorName);
  AxisAnalysis axes(function);
  ttg::relyOn(function, axes.guards());
  int64_t width = vectorIn(accessProperties(axes, load.getPtr(), load.getMask()), want);
  if (width > 1) load->setAttr(ttg::vectorName, IntegerAttr::get(IntegerType::get(load.getContext(), 32), width));
}

/// A tile, of which the buffer may hold the upper bytes alone.
static Value read(OpBuilder &b, RankedTensorType tile, Value buffer) {
  Location loc = buffer.getLoc();
  if (cast<ttg::BufferType>(buffer.getType()).getElementType() == tile.getElementType())
    return ttg::LoadSharedOp::create(b, loc, tile, buffer);
  auto words = cast<RankedTensorType>(tile.clone(b.getI16Type()));
  Value bytes = ttg::LoadSharedOp::create(b, loc, cast<RankedTensorType>(tile.clone(b.getI8Type())), buffer);
  Value eight = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, Attribute(b.getI16IntegerAttr(8))));
  Value bits = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, words, bytes), eight);
  return tt::BitcastOp::create(b, loc, tile, bits);
}

Value Relayout::make(Value tile, const Layout &want) {
  if (!isTile(tile)) return tile;
  Key key = keyOf(tile, want);
  if (Value known = made.lookup(key)) return known;
  if (Value buffer = buffers.lookup(tile)) {
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(tile);
    return made[key] = read(b, cast<RankedTensorType>(key.second), buffer);
  }
  if (tile.getType() == key.second) return tile;
  Operation *op = tile.getDefiningOp();
  Layout source = *layoutOfOperands(op, want);
  if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) return made[key] = make(convert.getSrc(), want);
  OpBuilder b(function.getContext());
  b.setInsertionPointAfter(op);
  Value copy = tt::rematerialize(b, op, key.second, [&](Value operand) { return make(operand, source); });
  if (auto load = copy.getDefiningOp<tt::LoadOp>()) keepAccessWidth(load, want);
  return made[key] = copy;
}

} // namespace tilewright::gpu
