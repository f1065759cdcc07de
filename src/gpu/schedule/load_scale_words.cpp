// A loop over groups of numbers reads a few scales of every row in each iteration. Each row is in a line of memory of its own,
// and a load takes as long for one byte of a line as for eight; meanwhile the copies of numbers wait, and so do threads that read
// them from shared memory. The word of eight bytes that contains an iteration's bytes also contains those of the next iterations:
//   before: for i { %s = load (%p + 2 * i) }
//   after:  %w = load word(%p)
//           for i { %s = byte (%p + 2 * i) & 7 of %w    ...    %w = load word(%p + 2 * i + 2) where a word begins there, else %w }
// A word is aligned, so it can be read wherever one of its bytes can.
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/tiles/axis_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return constant.getSExtValue();
  return {};
}

/// By how much a scalar that the loop carries, or its induction variable, grows in every iteration, if that is a constant.
static std::optional<int64_t> growthOf(BlockArgument carried, scf::ForOp loop) {
  if (carried.getOwner() != loop.getBody()) return {};
  if (carried == loop.getInductionVar()) return constantOf(loop.getStep());
  auto sum = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() != carried) return {};
  return constantOf(sum.getRhs());
}

/// The same for the induction variable's quotient by a constant, where no step leaves a remainder.
static std::optional<int64_t> quotientsGrowth(Operation *division, scf::ForOp loop) {
  std::optional<int64_t> by = constantOf(division->getOperand(1)), first = constantOf(loop.getLowerBound()),
                         step = constantOf(loop.getStep());
  if (division->getOperand(0) != loop.getInductionVar() || !by || !first || !step) return {};
  return *by > 0 && *first >= 0 && *step > 0 && *step % *by == 0 ? std::optional(*step / *by) : std::nullopt;
}

/// By how much all elements grow in every iteration, in bytes if they are pointers;
/// null if that is unknown. Narrow offsets count only where they are exact.
static std::optional<int64_t> advanceOf(Value value, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(value) || constantOf(value)) return 0;
  if (auto carried = dyn_cast<BlockArgument>(value)) return growthOf(carried, loop);
  Operation *op = value.getDefiningOp();
  if (isa<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp>(op)) return advanceOf(op->getOperand(0), loop);
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) return quotientsGrowth(op, loop);
  if (!isa<tt::AddPtrOp, arith::AddIOp>(op)) return {};
  std::optional<int64_t> first = advanceOf(op->getOperand(0), loop), second = advanceOf(op->getOperand(1), loop);
  if (!first || !second) return {};
  auto moved = dyn_cast<tt::AddPtrOp>(op);
  if (!moved) return *first + *second;
  bool isExact = getElementTypeOrSelf(moved.getOffset().getType()).isInteger(64) || moved->hasAttr(ttg::noWrapName) || *second == 0;
  Type pointee = cast<tt::PointerType>(getElementTypeOrSelf(moved.getType())).getPointeeType();
  if (!isExact || !pointee.isIntOrFloat()) return {};
  return *first + *second * std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8);
}

/// How many bytes the load's bytes move in every iteration, if a word holds those of whole iterations. A mask that varies would have to be
/// remembered for each word, which costs more than it gains (`scaleWordBytes`).
static std::optional<int64_t> stepOf(tt::LoadOp load, scf::ForOp loop) {
  auto isInvariant = [&](Value value) { return !value || loop.isDefinedOutsideOfLoop(value); };
  if (cast<RankedTensorType>(load.getType()).getElementTypeBitWidth() != 8 || load->hasAttr(ttg::unalignedName)) return {};
  if (!isInvariant(load.getMask()) || !isInvariant(load.getOther())) return {};
  std::optional<int64_t> bytes = advanceOf(load.getPtr(), loop);
  return bytes && *bytes > 0 && scaleWordBytes % *bytes == 0 ? bytes : std::nullopt;
}

namespace {
/// What an iteration of the loop has: the words of the elements, and how far the loop has come, in bytes.
struct Held {
  Value words, way;
};

/// The words of a load. An element is byte (way + offset) mod 8 of the word at start + (way + offset) / 8 * 8.
class Words {
public:
  Words(tt::LoadOp load, int64_t step) : load(load), loc(load.getLoc()), tile(cast<RankedTensorType>(load.getType())), step(step) {}

  /// The words of the first iteration, before the loop. Where the rows are known to begin with a word, all have the offsets of their
  /// columns.
  Held first(OpBuilder &b, scf::ForOp loop) {
    begin(b, loop);
    Value way = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    Value wanted = isWanted(b, LoopIterations(loop).existsIteration(b, 0));
    return {loadAt(b, byteOffsetsAt(b, way), wanted, Value()), way};
  }

  /// The words of the next iteration: the same ones, except where a new word begins.
  Held next(OpBuilder &b, scf::ForOp loop, const Held &held) {
    Value way = arith::AddIOp::create(b, loc, held.way, arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(step)));
    Value offsets = byteOffsetsAt(b, way), byte = arith::AndIOp::create(b, loc, offsets, constant(b, scaleWordBytes - 1));
    Value begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, byte, constant(b, step));
    Value wanted = arith::AndIOp::create(b, loc, isWanted(b, LoopIterations(loop).existsLater(b, 1)), begins);
    return {loadAt(b, offsets, wanted, held.words), way};
  }

  /// The load's result, taken from its words.
  Value bytes(OpBuilder &b, const Held &held) {
    Value byte = arith::AndIOp::create(b, loc, byteOffsetsAt(b, held.way), constant(b, scaleWordBytes - 1));
    Value moved = arith::ShRUIOp::create(b, loc, held.words, arith::ShLIOp::create(b, loc, byte, constant(b, 3)));
    Value bytes = arith::TruncIOp::create(b, loc, with(b.getI8Type()), moved);
    if (bytes.getType() != tile) bytes = tt::BitcastOp::create(b, loc, tile, bytes);
    return load.getOther() ? Value(arith::SelectOp::create(b, loc, load.getMask(), bytes, load.getOther())) : bytes;
  }

private:
  void begin(OpBuilder &b, scf::ForOp loop) {
    LoopIterations iterations(loop);
    if (auto columns = load.getPtr().getDefiningOp<tt::AddPtrOp>()) {
      SmallVector<Value> parts = iterations.ofIteration(b, {columns.getPtr(), columns.getOffset()}, 0);
      start = parts[0], offset = parts[1];
      if (!getElementTypeOrSelf(offset.getType()).isInteger(64)) offset = arith::ExtSIOp::create(b, loc, with(b.getI64Type()), offset);
      auto function = loop->getParentOfType<tt::FuncOp>();
      AxisAnalysis axes(function);
      if (axes.of(start).divisibilityOfAll() % scaleWordBytes == 0) return ttg::relyOn(function, axes.guards());
    }
    Value first = iterations.ofIteration(b, load.getPtr(), 0).front();
    Value address = tt::PtrToIntOp::create(b, loc, with(b.getI64Type()), first);
    offset = arith::AndIOp::create(b, loc, address, constant(b, scaleWordBytes - 1));
    start = tt::AddPtrOp::create(b, loc, first.getType(), first, arith::SubIOp::create(b, loc, constant(b, 0), offset));
  }

  /// Loads the words that contain the bytes at `offsets` where `wanted` is true; elsewhere the result is `before`.
  Value loadAt(OpBuilder &b, Value offsets, Value wanted, Value before) {
    Value whole = arith::AndIOp::create(b, loc, offsets, constant(b, -scaleWordBytes));
    Value pointers = tt::AddPtrOp::create(b, loc, start.getType(), start, whole);
    auto pointer = cast<tt::PointerType>(getElementTypeOrSelf(pointers.getType()));
    Type wordPointer = with(tt::PointerType::get(b.getI64Type(), pointer.getAddressSpace()));
    auto words = tt::LoadOp::create(b, loc, tt::BitcastOp::create(b, loc, wordPointer, pointers), wanted, before);
    words.setCache(load.getCache());
    words.setEvict(load.getEvict());
    words->setAttr(ttg::alignedWordsName, b.getUnitAttr());
    return words.getResult();
  }

  Value isWanted(OpBuilder &b, Value exists) {
    Value all = tt::SplatOp::create(b, loc, with(b.getI1Type()), exists);
    return load.getMask() ? Value(arith::AndIOp::create(b, loc, all, load.getMask())) : all;
  }

  Value byteOffsetsAt(OpBuilder &b, Value way) {
    return arith::AddIOp::create(b, loc, tt::SplatOp::create(b, loc, with(b.getI64Type()), way), offset);
  }

  RankedTensorType with(Type element) { return tile.clone(element); }
  Value constant(OpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(with(b.getI64Type()), Attribute(b.getI64IntegerAttr(value))));
  }

  tt::LoadOp load;
  Location loc;
  RankedTensorType tile;
  int64_t step;
  Value start, offset;
};
} // namespace

/// True if only the dequantize partition loads to registers. Of what it computes, the other two are taken to hold copies of one
/// another's. Where those load scales as well, 16 bytes for the one are no gain (`scaleGroupBytes`).
static bool dequantizePartitionLoadsAlone(scf::ForOp loop) {
  return isDequantizing(loop) && llvm::all_of(loop.getBody()->getOps<tt::LoadOp>(), [](tt::LoadOp load) {
           return !isa<RankedTensorType>(load.getType()) || ttg::layoutOf(load.getType()).basesOf(Axis::warp).back() == 0;
         });
}

bool loadScaleWords(LoopSchedule &schedule, tt::LoadOp load, Operation *insertionPoint) {
  std::optional<int64_t> step = stepOf(load, schedule.loop);
  if (!step) return false;
  if (dequantizePartitionLoadsAlone(schedule.loop) && loadScaleRows(schedule, load, *step, insertionPoint)) return true;
  // A word holds those of several iterations, and more of them than one access brings of contiguous elements.
  auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
  if (*step * (vector ? vector.getInt() : 1) >= scaleWordBytes) return false;
  Words words(load, *step);
  OpBuilder b(schedule.loop);
  Held first = words.first(b, schedule.loop);
  scf::ForOp loop = schedule.loop = withMoreCarried(schedule.loop, {first.words, first.way});
  auto own = loop.getRegionIterArgs().take_back(2);
  Held held{own[0], own[1]};
  b.setInsertionPoint(load->isBeforeInBlock(insertionPoint) ? load : insertionPoint); // before the next words, which use the same registers
  load.replaceAllUsesWith(words.bytes(b, held));
  b.setInsertionPoint(insertionPoint);
  Held next = words.next(b, loop, held);
  Operation *yield = loop.getBody()->getTerminator();
  yield->insertOperands(yield->getNumOperands(), {next.words, next.way});
  load.erase();
  return true;
}

} // namespace tilewright::gpu
