#include "gpu/schedule/dequantize/relayout.h"

#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/tiles/layouts/layout_plan.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

Relayout::Key Relayout::keyOf(Value tile, const Layout &want) {
  return {tile, ttg::withLayout(cast<RankedTensorType>(tile.getType()), want)};
}

/// Returns the layout that the operands need for a result of layout `want`; nothing if the operation cannot be rematerialized.
std::optional<Layout> Relayout::layoutOfOperands(Operation *op, const Layout &want) const {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || isa<tt::ElementwiseInlineAsmOp>(op)) return {};
  if (isa<tt::SplatOp, tt::MakeRangeOp, arith::ConstantOp, ttg::ConvertLayoutOp>(op) || isElementwiseOnTiles(op)) return want;
  if (isa<tt::LoadOp, ttg::DescriptorLoadOp>(op)) return want;
  return sourceLayout(op, want);
}

bool Relayout::add(Plan &plan, Value tile, const Layout &want) const {
  if (!isTile(tile) || reads.contains(tile)) return true;
  Key key = keyOf(tile, want);
  if (tile.getType() == key.second || plan.tiles.contains(key)) return true;
  Operation *op = tile.getDefiningOp();
  std::optional<Layout> source = op ? layoutOfOperands(op, want) : std::nullopt;
  if (!source || !llvm::all_of(op->getOperands(), [&](Value operand) { return add(plan, operand, *source); })) return false;
  if (auto copy = dyn_cast<ttg::DescriptorLoadOp>(op)) {
    if (llvm::is_contained(plan.copies, copy)) return false; // in two layouts
    plan.copies.push_back(copy);
  }
  if (isa<tt::LoadOp>(op)) plan.loads.insert({op, want});
  plan.tiles.insert(key);
  return true;
}

bool Relayout::plan(Value tile, const Layout &want) {
  Plan larger = planned;
  if (!add(larger, tile, want)) return false;
  planned = std::move(larger);
  return true;
}

/// `known`: tiles that need none.
bool Relayout::needsNoLoads(DenseSet<Key> &known, Value tile, const Layout &want) const {
  if (!isTile(tile) || known.contains(keyOf(tile, want))) return true;
  Operation *op = tile.getDefiningOp();
  if (!op || isa<tt::LoadOp, ttg::DescriptorLoadOp>(op)) return false;
  std::optional<Layout> source = layoutOfOperands(op, want);
  if (!source || !llvm::all_of(op->getOperands(), [&](Value operand) { return needsNoLoads(known, operand, *source); })) return false;
  known.insert(keyOf(tile, want));
  return true;
}

bool Relayout::needsNoLoads(Value tile, const Layout &want) const {
  DenseSet<Key> known = planned.tiles;
  return needsNoLoads(known, tile, want);
}

std::optional<Layout> Relayout::layoutOfLoads(const Dims &shape) const {
  for (const auto &[op, layout] : planned.loads)
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

Value Relayout::make(Value tile, const Layout &want) {
  if (!isTile(tile)) return tile;
  Key key = keyOf(tile, want);
  if (Value known = made.lookup(key)) return known;
  if (auto read = reads.find(tile); read != reads.end()) {
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(tile);
    return made[key] = read->second(b, cast<RankedTensorType>(key.second));
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
