// Where a thread reads a few bytes of its own row in each iteration, and rows begin with a multiple of 16 bytes, one access brings the
// bytes of the next iterations, too (load_scale_words.cpp), 16 of them, and a thread holds them once for all columns:
//   before: for i { %s = load (%rows + %columns + 2 * i) }
//   after:  %w = load 16 bytes (%rows)
//           for i { %s = bytes 2 * i mod 16, and on, of %w    ...    %w = load 16 bytes (%rows + 2 * i + 2) where 16 divides that, else %w
//           }
#include "gpu/schedule/loop_schedule.h"
#include "gpu/tiles/axis_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t wordsOfGroup = scaleGroupBytes / scaleWordBytes;

namespace {
class ScaleRows {
public:
  /// `step`: by how many bytes the load's place grows in every iteration.
  ScaleRows(tt::LoadOp load, int64_t step)
      : load(load), loc(load.getLoc()), tile(cast<RankedTensorType>(load.getType())), layout(ttg::layoutOf(tile)), step(step) {}

  /// Whether a thread holds whole rows of few columns, and no other thread of its warp the same ones.
  bool suits() const {
    constexpr int64_t columns = 1;
    if (layout.shape.size() != 2 || layout.shape[columns] > scaleWordBytes || step < layout.shape[columns] || step >= scaleGroupBytes)
      return false;
    uint32_t along = static_cast<uint32_t>(layout.shape[columns]) - 1; // bits of a column in a flat index
    for (Axis axis : {Axis::lane, Axis::warp})
      if (llvm::any_of(layout.basesOf(axis), [&](uint32_t basis) { return (basis & along) != 0; })) return false;
    return !layout.freeMask(Axis::lane) && firstColumnOf(layout).has_value();
  }

  /// Whether rows begin with a multiple of 16 bytes. Leaves dead operations before the loop if they do not.
  bool begin(OpBuilder &b, scf::ForOp loop) {
    SmallVector<Value> operands = {load.getPtr()};
    if (load.getMask()) operands.push_back(load.getMask());
    operands = LoopIterations(loop).ofIteration(b, operands, 0);
    auto function = loop->getParentOfType<tt::FuncOp>();
    AxisAnalysis axes(function);
    if (!areAligned(axes, operands)) return false;
    ttg::relyOn(function, axes.guards());
    rows = firstColumn(b, operands[0]);
    if (load.getMask()) mask = firstColumn(b, operands[1]);
    return true;
  }

  /// Replaces the load.
  bool run(LoopSchedule &schedule, Operation *insertionPoint) {
    OpBuilder b(schedule.loop);
    if (!begin(b, schedule.loop)) return false;
    Value way = constant(b, 0);
    Value first = loadAt(b, way, LoopIterations(schedule.loop).existsIteration(b, 0), Value());
    scf::ForOp loop = schedule.loop = withMoreCarried(schedule.loop, {first, way});
    ValueRange held = loop.getRegionIterArgs().take_back(2);
    b.setInsertionPoint(load->isBeforeInBlock(insertionPoint) ? load
                                                              : insertionPoint); // before the next words, which use the same registers
    load.replaceAllUsesWith(bytes(b, held[0], held[1]));
    b.setInsertionPoint(insertionPoint);
    Value next = arith::AddIOp::create(b, loc, held[1], constant(b, step));
    Value wanted = arith::AndIOp::create(b, loc, LoopIterations(loop).existsLater(b, 1), begins(b, next));
    Value words = loadAt(b, next, wanted, held[0]);
    Operation *yield = loop.getBody()->getTerminator();
    yield->insertOperands(yield->getNumOperands(), {words, next});
    load.erase();
    return true;
  }

private:
  bool areAligned(const AxisAnalysis &axes, ArrayRef<Value> operands) const {
    AxisInfo pointers = axes.of(operands[0]);
    int64_t columns = layout.shape[1];
    if (pointers.contiguity[1] < columns || pointers.divisibilityAt(1, columns) < std::min(scaleGroupBytes, columns)) return false;
    if (pointers.divisibility[1] % scaleGroupBytes != 0) return false;
    return operands.size() == 1 || axes.of(operands[1]).constancy[1] >= columns;
  }

  //===------------------------------------------------------------------------------------------------------------- layouts

  /// Half of the columns, again and again, until one is left; nothing if that is more than a choice of registers.
  static std::optional<Layout> firstColumnOf(Layout layout) {
    while (layout.shape[1] > 1) {
      std::optional<Halves> halves = layout.reshaped({layout.shape[0], layout.shape[1] / 2, 2}).splitHalves();
      if (!halves) return {};
      layout = halves->layout;
    }
    return layout.reshaped({layout.shape[0]});
  }

  RankedTensorType typed(const Layout &of, Type element) const { return ttg::withLayout(RankedTensorType::get(of.shape, element), of); }
  Value reshaped(OpBuilder &b, Value value, const Dims &shape) const {
    Layout now = ttg::layoutOf(value.getType()).reshaped(shape);
    return tt::ReshapeOp::create(b, loc, typed(now, getElementTypeOrSelf(value.getType())), value, false, false);
  }

  Value firstColumn(OpBuilder &b, Value value) const {
    for (int64_t columns = layout.shape[1]; columns > 1; columns /= 2) {
      Value pairs = reshaped(b, value, {layout.shape[0], columns / 2, 2});
      RankedTensorType half = typed(ttg::layoutOf(pairs.getType()).splitHalves()->layout, getElementTypeOrSelf(value.getType()));
      value = tt::SplitOp::create(b, loc, TypeRange{half, half}, pairs).getOutLHS();
    }
    return reshaped(b, value, {layout.shape[0]});
  }

  /// A value of each row, for all columns.
  Value inColumns(OpBuilder &b, Value value, const Layout &to) const {
    Type element = getElementTypeOrSelf(value.getType());
    Layout column = ttg::layoutOf(value.getType()).withUnitDim(1);
    Value expanded = tt::ExpandDimsOp::create(b, loc, typed(column, element), value, 1U);
    return tt::BroadcastOp::create(b, loc, typed(to, element), expanded);
  }

  /// The number of each column.
  Value columnsOf(OpBuilder &b, const Layout &of, Type element) const {
    Layout row = of.withoutDim(0);
    Value range = tt::MakeRangeOp::create(b, loc, typed(row, b.getI32Type()), 0, static_cast<uint32_t>(of.shape[1]));
    Value expanded = tt::ExpandDimsOp::create(b, loc, typed(row.withUnitDim(0), b.getI32Type()), range, 0U);
    Value numbers = tt::BroadcastOp::create(b, loc, typed(of, b.getI32Type()), expanded);
    return element.isInteger(32) ? numbers : Value(arith::ExtUIOp::create(b, loc, typed(of, element), numbers));
  }

  Layout groupLayout() const { return ttg::layoutOf(rows.getType()).joined(); }

  //===--------------------------------------------------------------------------------------------------------------- values

  Value constant(OpBuilder &b, int64_t value) const { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
  Value masked(OpBuilder &b, Value value, int64_t bits) const { return arith::AndIOp::create(b, loc, value, constant(b, bits)); }
  Value splat(OpBuilder &b, Value value, const Layout &of) const { return tt::SplatOp::create(b, loc, typed(of, value.getType()), value); }

  /// Whether a group begins there.
  Value begins(OpBuilder &b, Value way) const {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, masked(b, way, scaleGroupBytes - 1), constant(b, 0));
  }

  /// The 16 bytes of each row at `way`, where `wanted` is true, and `before` elsewhere.
  Value loadAt(OpBuilder &b, Value way, Value wanted, Value before) {
    Layout group = groupLayout();
    auto pointer = cast<tt::PointerType>(getElementTypeOrSelf(rows.getType()));
    Type wordPointer = tt::PointerType::get(b.getI64Type(), pointer.getAddressSpace());
    Value there = tt::AddPtrOp::create(b, loc, rows.getType(), rows, splat(b, way, ttg::layoutOf(rows.getType())));
    Value words = tt::BitcastOp::create(b, loc, typed(ttg::layoutOf(rows.getType()), wordPointer), there);
    Value wordPointers = inColumns(b, words, group);
    wordPointers = tt::AddPtrOp::create(b, loc, wordPointers.getType(), wordPointers, columnsOf(b, group, b.getI32Type()));
    Value all = splat(b, wanted, group);
    if (mask) all = arith::AndIOp::create(b, loc, all, inColumns(b, mask, group));
    auto loaded = tt::LoadOp::create(b, loc, wordPointers, all, before);
    loaded.setCache(load.getCache());
    loaded.setEvict(load.getEvict());
    loaded->setAttr(ttg::alignedWordsName, b.getUnitAttr());
    loaded->setAttr(ttg::vectorName, b.getI32IntegerAttr(wordsOfGroup));
    return loaded.getResult();
  }

  /// The load's result, taken from the words.
  Value bytes(OpBuilder &b, Value words, Value way) {
    Layout row = ttg::layoutOf(rows.getType());
    RankedTensorType half = typed(row, b.getI64Type());
    auto both = tt::SplitOp::create(b, loc, TypeRange{half, half}, words);
    Value second = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked(b, way, scaleWordBytes), constant(b, 0));
    Value word = arith::SelectOp::create(b, loc, splat(b, second, row), both.getOutRHS(), both.getOutLHS());
    Value bits = arith::ShLIOp::create(b, loc, masked(b, way, scaleWordBytes - 1), constant(b, 3));
    Value moved = arith::ShRUIOp::create(b, loc, word, splat(b, bits, row));
    Type part = layout.shape[1] * 8 > 32 ? b.getI64Type() : b.getI32Type();
    if (part != b.getI64Type()) moved = arith::TruncIOp::create(b, loc, typed(row, part), moved);
    Value columns = columnsOf(b, layout, part);
    auto three = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(cast<ShapedType>(columns.getType()), Attribute(b.getIntegerAttr(part, 3))));
    Value each = arith::ShRUIOp::create(b, loc, inColumns(b, moved, layout), arith::ShLIOp::create(b, loc, columns, three));
    Value bytes = arith::TruncIOp::create(b, loc, typed(layout, b.getI8Type()), each);
    if (bytes.getType() != tile) bytes = tt::BitcastOp::create(b, loc, tile, bytes);
    return load.getOther() ? Value(arith::SelectOp::create(b, loc, load.getMask(), bytes, load.getOther())) : bytes;
  }

  tt::LoadOp load;
  Location loc;
  RankedTensorType tile;
  Layout layout;
  int64_t step;
  Value rows, mask; ///< pointers to where each row begins, and which rows there are
};
} // namespace

bool loadScaleRows(LoopSchedule &schedule, tt::LoadOp load, int64_t step, Operation *insertionPoint) {
  ScaleRows words(load, step);
  return words.suits() && words.run(schedule, insertionPoint);
}

} // namespace tilewright::gpu
