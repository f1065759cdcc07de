#include "gpu/schedule/microscaling/operand_halves.h"

#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/microscaling/thread_value_groups.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tile_shapes.h"

using namespace mlir;

namespace tilewright::gpu {

/// What is computed from the scales that are passed on stands before the first MMA, after their store.
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
  half = Reorder(cast<RankedTensorType>(half.getType()), c.dimOf(c.first, 1), evenOddInterleave).apply(b, half);
  return c.first.order[0] == 0 ? half : transposed(b, half, {1, 0});
}

/// Where the loop's sums are wanted: what stands before that, the largest of the exponents, is computed under the last MMAs.
static Operation *beforeSums(scf::ForOp loop, unsigned number) {
  Operation *insertionPoint = loop->getNextNode();
  auto uses = [&](Operation *op) { return llvm::is_contained(op->getOperands(), loop.getResult(number)); };
  while (!uses(insertionPoint) && (insertionPoint->getNumRegions() == 0 || isa<tt::ReduceOp>(insertionPoint)) &&
         !insertionPoint->hasTrait<OpTrait::IsTerminator>())
    insertionPoint = insertionPoint->getNextNode();
  return insertionPoint;
}

void multiplyByHalves(DequantizeCandidate &c, Relayout &left, const Layout &layout, bool evenOddInterleave) {
  OpBuilder b(c.loop.getContext());
  Value tile = left.make(c.first.store.getSrc(), layout);
  Location loc = c.mma.getLoc();
  ttg::MmaAsyncWaitOp wait = waitFor(c.mma.getD());
  auto old = cast<BlockArgument>(c.mma.getC());
  auto type = cast<RankedTensorType>(old.getType());
  unsigned number = old.getArgNumber() - 1;
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
  yield->insertOperands(yield->getNumOperands(), {first, second});
  wait->erase();
  Operation *buffer = c.mma.getA().getDefiningOp();
  c.mma.erase();
  b.setInsertionPoint(beforeSums(c.loop, number));
  ValueRange results = c.loop.getResults().take_back(2);
  ttg::MmaAsyncWaitOp drained = waitForAll(b, loc, results);
  Value whole = RowHalves::whole(b, drained.getResults()[0], drained.getResults()[1], type);
  c.loop.getResult(number).replaceAllUsesWith(whole);
  c.first.store->erase();
  if (buffer != c.first.alloc) buffer->erase();
  c.first.alloc->erase();
}

} // namespace tilewright::gpu
