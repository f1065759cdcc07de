#include "gpu/schedule/dequantize/operand_halves.h"

#include "gpu/schedule/dequantize/k_order.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/tile_shapes.h"
#include "ir/slice.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

//===----------------------------------------------------------------------------------------------------------- rows' halves

namespace {
/// Two tiles of half as many rows each, computed from halves as far as that is done element by element, or byte by byte.
class RowHalves {
public:
  /// `rows`: the dimension that is cut. A thread holds elements of both halves in different registers.
  explicit RowHalves(int64_t rows) : rows(rows) {}

  /// Returns one half, computed before the builder's insertion point.
  Value half(OpBuilder &b, Value tile, size_t which) {
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

private:
  /// The shape with the rows as two dimensions: the half, and the row in it.
  Dims splitRows(RankedTensorType type) const {
    Dims parts = ttg::shapeOf(type);
    parts[static_cast<size_t>(rows)] /= 2;
    parts.insert(parts.begin() + static_cast<ptrdiff_t>(rows), 2);
    return parts;
  }

  /// Moves the halves' dimension to the end.
  SmallVector<int32_t> order() const { return rows == 0 ? SmallVector<int32_t>{1, 2, 0} : SmallVector<int32_t>{0, 2, 1}; }

  RankedTensorType halved(RankedTensorType type) const {
    SmallVector<int32_t> last = order();
    Layout layout = ttg::layoutOf(type).reshaped(splitRows(type)).transposed(Dims(last.begin(), last.end())).splitHalves()->layout;
    return ttg::withLayout(RankedTensorType::get(layout.shape, type.getElementType()), layout);
  }

  void cut(Value tile) {
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Value parts = transposed(b, reshaped(b, tile, splitRows(cast<RankedTensorType>(tile.getType()))), order());
    std::tie(halves[0][tile], halves[1][tile]) = halvesOf(b, parts);
  }

  int64_t rows;
  llvm::DenseMap<Value, Value> halves[2];
};
} // namespace

//===----------------------------------------------------------------------------------------------------------------- MMAs

/// Moves reads of the scales that the partition forwards, and what is computed from them, after the wait for their store: before the MMA.
static void sinkReads(Operation *mma) {
  DenseSet<Operation *> moved;
  for (Operation &op : llvm::make_early_inc_range(*mma->getBlock())) {
    if (&op == mma || moved.contains(&op)) return;
    auto load = dyn_cast<ttg::LoadSharedOp>(op);
    bool reads = load && allocOf(load.getBuffer()) && allocOf(load.getBuffer())->getBlock() == mma->getBlock();
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) { return moved.contains(operand.getDefiningOp()); });
    if (!reads && !follows) continue;
    moved.insert(&op);
    op.moveBefore(mma);
  }
}

/// Half of the rows, in the layout of an MMA's first operand, before the builder's insertion point.
static Value operandHalf(OpBuilder &b, const DequantizeCandidate &c, RowHalves &halves, Value tile, bool evenOddInterleave, size_t which) {
  Value half = halves.half(b, tile, which);
  half = KOrder(cast<RankedTensorType>(half.getType()), c.dimOf(c.first, 1), evenOddInterleave).apply(b, half);
  return c.first.order[0] == 0 ? half : transposed(b, half, {1, 0});
}

/// Returns the operation after the loop that needs its sums. What stands before it is computed while the last MMAs run.
static Operation *beforeSums(scf::ForOp loop, unsigned number) {
  Operation *insertionPoint = loop->getNextNode();
  auto uses = [&](Operation *op) { return llvm::is_contained(op->getOperands(), loop.getResult(number)); };
  while (!uses(insertionPoint) && (insertionPoint->getNumRegions() == 0 || isa<tt::ReduceOp>(insertionPoint)) &&
         !insertionPoint->hasTrait<OpTrait::IsTerminator>())
    insertionPoint = insertionPoint->getNextNode();
  return insertionPoint;
}

/// Waits for the last MMAs after the loop, whose last two results are the sums of the halves, and makes result `number` of them.
static void joinSums(OpBuilder &b, Location loc, scf::ForOp loop, unsigned number) {
  b.setInsertionPoint(beforeSums(loop, number));
  OpResult sums = loop->getResult(number);
  ttg::MmaAsyncWaitOp drained = waitForAll(b, loc, loop.getResults().take_back(2));
  Value halves = transposed(b, joined(b, drained.getResults()[0], drained.getResults()[1]), {2, 0, 1});
  auto type = cast<RankedTensorType>(sums.getType());
  sums.replaceAllUsesWith(ttg::ConvertLayoutOp::create(b, loc, type, reshaped(b, halves, type.getShape())).getResult());
}

void multiplyByHalves(DequantizeCandidate &c, Relayout &byConsumers, const Layout &layout, bool evenOddInterleave) {
  OpBuilder b(c.loop.getContext());
  Value tile = byConsumers.make(c.first.store.getSrc(), layout);
  Location loc = c.mma.getLoc();
  ttg::MmaAsyncWaitOp wait = waitFor(c.mma.getD());
  unsigned number = cast<BlockArgument>(c.mma.getC()).getArgNumber() - 1;
  RowHalves sums(0), rows(c.first.order[0]);
  b.setInsertionPoint(c.loop);
  Value init = c.loop.getInitArgs()[number];
  SmallVector<Value> inits = {sums.half(b, init, 0), sums.half(b, init, 1)};
  c.loop = withMoreCarried(c.loop, inits);
  ValueRange carried = c.loop.getRegionIterArgs().take_back(2);
  auto start = [&](Value a, Value sum) {
    return ttg::MmaAsyncOp::create(b, loc, sum.getType(), a, c.mma.getB(), sum, Value(), IntegerAttr(), DenseI64ArrayAttr()).getD();
  };
  b.setInsertionPoint(c.mma);
  Value first = start(operandHalf(b, c, rows, tile, evenOddInterleave, 0), carried[0]);
  sinkReads(first.getDefiningOp());
  ttg::MmaAsyncWaitOp drain = waitForAllButLast(b, loc, carried[1]);
  drain.setDrains(true);
  Value second = start(operandHalf(b, c, rows, tile, evenOddInterleave, 1), drain.getResults()[0]);
  first = waitForAllButLast(b, loc, first).getResults()[0];
  Operation *yield = c.loop.getBody()->getTerminator();
  yield->setOperand(number, c.loop.getRegionIterArg(number));
  appendYielded(c.loop, {first, second});
  wait->erase();
  Operation *buffer = c.mma.getA().getDefiningOp();
  c.mma.erase();
  joinSums(b, loc, c.loop, number);
  c.first.store->erase();
  if (buffer != c.first.alloc) buffer->erase();
  c.first.alloc->erase();
}

} // namespace tilewright::gpu
