// Load widening across iterations. An iteration may read a few bytes of each row, and the next iterations those after them: scales of
// groups along K. Each row is in a line of memory of its own, and a load takes as long for one byte of a line as for an aligned word. A
// word also contains the bytes of the next iterations:
//   before: for i { %s = load (%p + 2 * i) }
//   after:  %w = load word (%p)
//           for i { %s = bytes (%p + 2 * i) mod 8 of %w    ...    %w = load word (%p + 2 * i + 2) where a word begins there, else %w }
// A word is aligned, so it can be read wherever one of its bytes can. Each element has a word of 4 or 8 bytes. If a thread holds whole
// rows, and rows begin at multiples of 16 bytes, one access can load 16 bytes of a row for all its columns:
//   after:  %w = load 16 bytes (%rows)    for i { %s = bytes 2 * i mod 16, and on, of %w    ... }
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/ttg/tile_shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// A load and the words that replace it. The loop carries the words, and how far it has come, in bytes: `way`.
class WidenedLoad {
public:
  /// `step`: how many bytes the load's bytes move in every iteration.
  WidenedLoad(tt::LoadOp load, scf::ForOp loop, int64_t step)
      : load(load), loop(loop), loc(load.getLoc()), layout(ttg::layoutOf(load.getType())), step(step),
        bits(getElementTypeOrSelf(load.getType()).getIntOrFloatBitWidth()), b(loop) {}

  /// Chooses 16 bytes of each row. False if a thread does not hold whole rows, or if rows may begin elsewhere than at a multiple of 16
  /// bytes; then dead operations are left before the loop.
  bool chooseRows() {
    if (layout.shape.size() != 2 || layout.shape[1] * bits / 8 > step || layout.freeMask(Axis::lane)) return false;
    SmallVector<Value> operands = {load.getPtr()};
    if (load.getMask()) operands.push_back(load.getMask());
    operands = LoopIterations(loop).ofIteration(b, operands, 0);
    start = firstColumn(operands[0]);
    if (!start || !areAlignedRows(operands)) return false;
    if (load.getMask()) rowMask = firstColumn(operands[1]);
    start = inBytes(start);
    byRows = true;
    return true;
  }

  /// Chooses a word for each element, of 8 bytes, or of 4 if a thread has too few `registers` left. False if it has too few for that, too,
  /// or if it would make as many loads: one access may load several contiguous elements now, but each of them gets a word of its own.
  bool chooseElements(int64_t registers) {
    if (layout.registersPerThread() > registers) word = widenedLoadBytes / 2;
    auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    if (step * (vector ? vector.getInt() : 1) >= word) return false;
    RankedTensorType offsets = typed(layout, b.getI64Type());
    LoopIterations iterations(loop);
    if (auto columns = load.getPtr().getDefiningOp<tt::AddPtrOp>()) {
      SmallVector<Value> parts = iterations.ofIteration(b, {columns.getPtr(), columns.getOffset()}, 0);
      offset = parts[1];
      if (offset.getType() != offsets) offset = arith::ExtSIOp::create(b, loc, offsets, offset);
      if (bits > 8) offset = arith::MulIOp::create(b, loc, offset, constant(offsets, bits / 8));
      start = inBytes(parts[0]);
      // If all rows begin at a word, the offsets in words are those of the columns.
      AxisAnalysis axes(function());
      if (axes.of(parts[0]).divisibilityOfAll() % word == 0) return ttg::relyOn(function(), axes.guards()), true;
    }
    if (registersOfOwnAddress * layout.registersPerThread() > registers) return false;
    Value first = inBytes(iterations.ofIteration(b, load.getPtr(), 0).front());
    offset = arith::AndIOp::create(b, loc, tt::PtrToIntOp::create(b, loc, offsets, first), constant(offsets, word - 1));
    start = tt::AddPtrOp::create(b, loc, first.getType(), first, arith::SubIOp::create(b, loc, constant(offsets, 0), offset));
    return true;
  }

  /// Replaces the load. The next words are loaded before `insertionPoint`.
  void replace(LoopSchedule &schedule, Operation *insertionPoint) {
    Value zero = constant(b.getI64Type(), 0);
    loop = schedule.loop = withMoreCarried(loop, {loadAt(zero, Value()), zero});
    ValueRange held = loop.getRegionIterArgs().take_back(2);
    b.setInsertionPoint(load->isBeforeInBlock(insertionPoint) ? load
                                                              : insertionPoint); // before the next words, which use the same registers
    load.replaceAllUsesWith(asLoaded(byRows ? bitsOfRows(held[0], held[1]) : bitsOfElements(held[0], held[1])));
    b.setInsertionPoint(insertionPoint);
    Value next = arith::AddIOp::create(b, loc, held[1], constant(b.getI64Type(), step));
    Value words = loadAt(next, held[0]);
    appendYielded(loop, {words, next});
    load.erase();
  }

private:
  /// Loads the words at `way`, of the next iteration if the loop holds the words `before` of this one, else of the first iteration.
  Value loadAt(Value way, Value before) { return byRows ? loadRows(way, before) : loadElements(way, before); }

  Value exists(Value before) {
    LoopIterations iterations(loop);
    return before ? iterations.existsLater(b, 1) : iterations.existsIteration(b, 0);
  }

  Value loaded(Value pointers, Value wanted, Value before) {
    auto words = tt::LoadOp::create(b, loc, pointers, wanted, before);
    words.setCache(load.getCache());
    words.setEvict(load.getEvict());
    words->setAttr(ttg::alignedWordsName, b.getUnitAttr());
    return words.getResult();
  }

  /// The load's result, of integers with its elements' bits in the lowest bits.
  Value asLoaded(Value value) {
    value = truncated(value, b.getIntegerType(static_cast<unsigned>(bits)));
    if (value.getType() != load.getType()) value = tt::BitcastOp::create(b, loc, load.getType(), value);
    return load.getOther() ? Value(arith::SelectOp::create(b, loc, load.getMask(), value, load.getOther())) : value;
  }

  //===----------------------------------------------------------------------------------------------------- a word an element

  /// An element is at byte (way + offset) mod word of the word at start + (way + offset) / word * word.
  Value offsetsAt(Value way) { return arith::AddIOp::create(b, loc, splat(way, layout), offset); }

  Value loadElements(Value way, Value before) {
    Value offsets = offsetsAt(way), begins;
    Type type = offsets.getType();
    if (before) {
      Value byte = arith::AndIOp::create(b, loc, offsets, constant(type, word - 1));
      begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, byte, constant(type, step));
    }
    Value wanted = splat(exists(before), layout);
    if (load.getMask()) wanted = arith::AndIOp::create(b, loc, wanted, load.getMask());
    if (before) wanted = arith::AndIOp::create(b, loc, wanted, begins);
    Value whole = arith::AndIOp::create(b, loc, offsets, constant(type, -word));
    return loaded(asWords(tt::AddPtrOp::create(b, loc, start.getType(), start, whole)), wanted, before);
  }

  Value bitsOfElements(Value words, Value way) {
    Value offsets = offsetsAt(way), byte = arith::AndIOp::create(b, loc, offsets, constant(offsets.getType(), word - 1));
    Value shift = arith::ShLIOp::create(b, loc, byte, constant(offsets.getType(), 3));
    return arith::ShRUIOp::create(b, loc, words, truncated(shift, getElementTypeOrSelf(words.getType())));
  }

  //===------------------------------------------------------------------------------------------------- 16 bytes of a row

  bool areAlignedRows(ArrayRef<Value> operands) {
    AxisAnalysis axes(function());
    AxisInfo pointers = axes.of(operands[0]);
    if (pointers.contiguity[1] < layout.shape[1] || pointers.divisibility[1] % widenedRowBytes != 0) return false;
    if (operands.size() > 1 && axes.of(operands[1]).constancy[1] < layout.shape[1]) return false;
    ttg::relyOn(function(), axes.guards());
    return true;
  }

  /// Returns the first column, by halving the columns until one is left. Null if threads would have to exchange elements for that.
  Value firstColumn(Value value) {
    for (int64_t columns = layout.shape[1]; columns > 1; columns /= 2) {
      value = reshaped(b, value, {layout.shape[0], columns / 2, 2});
      if (!ttg::layoutOf(value.getType()).splitHalves()) return {};
      value = halvesOf(b, value).first;
    }
    return reshaped(b, value, layout.shape[0]);
  }

  /// Repeats a tile along a new dimension.
  Value repeated(Value line, unsigned dim, const Layout &to) {
    Type element = getElementTypeOrSelf(line.getType());
    Value expanded = tt::ExpandDimsOp::create(b, loc, typed(ttg::layoutOf(line.getType()).withUnitDim(dim), element), line, dim);
    return tt::BroadcastOp::create(b, loc, typed(to, element), expanded);
  }
  Value inColumns(Value value, const Layout &to) { return repeated(value, 1, to); }

  /// The number of each column.
  Value columnsOf(const Layout &of) {
    RankedTensorType row = typed(of.withoutDim(0), b.getI32Type());
    return repeated(tt::MakeRangeOp::create(b, loc, row, 0, static_cast<uint32_t>(of.shape[1])), 0, of);
  }

  Value masked(Value way, int64_t mask) { return arith::AndIOp::create(b, loc, way, constant(way.getType(), mask)); }

  Value loadRows(Value way, Value before) {
    Layout rows = ttg::layoutOf(start.getType()), pairs = rows.joined();
    Value wanted = exists(before);
    if (before) {
      Value begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, masked(way, widenedRowBytes - 1), constant(way.getType(), 0));
      wanted = arith::AndIOp::create(b, loc, wanted, begins);
    }
    Value words = inColumns(asWords(tt::AddPtrOp::create(b, loc, start.getType(), start, splat(way, rows))), pairs);
    words = tt::AddPtrOp::create(b, loc, words.getType(), words, columnsOf(pairs));
    wanted = splat(wanted, pairs);
    if (rowMask) wanted = arith::AndIOp::create(b, loc, wanted, inColumns(rowMask, pairs));
    Value result = loaded(words, wanted, before);
    result.getDefiningOp()->setAttr(ttg::vectorName, b.getI32IntegerAttr(widenedRowBytes / widenedLoadBytes));
    return result;
  }

  Value bitsOfRows(Value words, Value way) {
    Layout rows = ttg::layoutOf(start.getType());
    auto [low, high] = halvesOf(b, words);
    Value second = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked(way, widenedLoadBytes), constant(way.getType(), 0));
    Value moved = arith::SelectOp::create(b, loc, splat(second, rows), high, low);
    Value shift = arith::ShLIOp::create(b, loc, masked(way, widenedLoadBytes - 1), constant(way.getType(), 3));
    moved = arith::ShRUIOp::create(b, loc, moved, splat(shift, rows));
    Type part = layout.shape[1] * bits > 32 ? b.getI64Type() : b.getI32Type();
    moved = truncated(moved, part);
    Value columns = columnsOf(layout);
    if (part != b.getI32Type()) columns = arith::ExtUIOp::create(b, loc, typed(layout, part), columns);
    Value shifts = arith::ShLIOp::create(b, loc, columns, constant(columns.getType(), llvm::Log2_64(static_cast<uint64_t>(bits))));
    return arith::ShRUIOp::create(b, loc, inColumns(moved, layout), shifts);
  }

  //===---------------------------------------------------------------------------------------------------------- values

  tt::FuncOp function() { return loop->getParentOfType<tt::FuncOp>(); }
  RankedTensorType typed(const Layout &of, Type element) { return ttg::withLayout(RankedTensorType::get(of.shape, element), of); }
  Value constant(Type type, int64_t value) { return createScalarOrSplatConstant(b, loc, type, value); }
  Value splat(Value value, const Layout &of) { return tt::SplatOp::create(b, loc, typed(of, value.getType()), value); }
  Value truncated(Value value, Type element) {
    if (getElementTypeOrSelf(value.getType()) == element) return value;
    return arith::TruncIOp::create(b, loc, typed(ttg::layoutOf(value.getType()), element), value);
  }

  Value pointersTo(Value pointers, unsigned width) {
    auto pointer = cast<tt::PointerType>(getElementTypeOrSelf(pointers.getType()));
    Type narrow = tt::PointerType::get(b.getIntegerType(width), pointer.getAddressSpace());
    return tt::BitcastOp::create(b, loc, typed(ttg::layoutOf(pointers.getType()), narrow), pointers);
  }
  Value inBytes(Value pointers) { return bits == 8 ? pointers : pointersTo(pointers, 8); }
  Value asWords(Value pointers) { return pointersTo(pointers, static_cast<unsigned>(word) * 8); }

  tt::LoadOp load;
  scf::ForOp loop;
  Location loc;
  Layout layout;
  int64_t step, bits, word = widenedLoadBytes;
  bool byRows = false;
  Value start, offset; ///< pointers to bytes, of rows or elements; an element's offset from there, in bytes
  Value rowMask;       ///< which rows there are; null: all
  OpBuilder b;
};
} // namespace

bool widenLoad(LoopSchedule &schedule, tt::LoadOp load, int64_t registers, Operation *insertionPoint) {
  std::optional<int64_t> step = bytesOfIteration(load, schedule.loop);
  if (!step) return false;
  WidenedLoad widened(load, schedule.loop, *step);
  bool byRows = schedule.operandPlan.loadsWholeRows && widened.chooseRows();
  if (!byRows && !widened.chooseElements(registers)) return false;
  widened.replace(schedule, insertionPoint);
  return true;
}

} // namespace tilewright::gpu
