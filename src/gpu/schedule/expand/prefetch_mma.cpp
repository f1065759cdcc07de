// Attention's iteration is a chain: scores = QK, softmax of the scores, weights times V. While threads compute the softmax tensor cores
// idle, unless they have something of another iteration to do: the next iteration's scores.
//   before: for i { wait for K(i)    s = QK(i)    wait 0    p = softmax(s)    wait for V(i)    o += pV(i)    wait 0 }
//   after:  s = QK(0)
//           for i { wait for K(i+1)    t = QK(i+1)    p = softmax(s)    wait for V(i)    o += pV(i)    wait 0    s = t }
// The last iteration has no next one: it multiplies its own K again, which is still in its stage, and the result is not
// used. That costs one MMA for each loop; a branch around the MMA would cost something in every iteration.
#include "gpu/schedule/expand/prefetch_mma.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// The stages and views in the loop's body that an MMA reads through, each before its users.
static SmallVector<Operation *> buffersOf(ttg::MmaAsyncOp mma) {
  SmallVector<Operation *> chain;
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    SmallVector<Operation *> own;
    for (Operation *op = operand.getDefiningOp(); op && op->getBlock() == mma->getBlock(); op = op->getOperand(0).getDefiningOp())
      if (!llvm::is_contained(chain, op)) own.push_back(op);
    chain.append(own.rbegin(), own.rend());
  }
  return chain;
}

scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, ValueRange first, ValueRange next, Operation *top) {
  scf::ForOp loop = schedule.loop;
  auto mma = cast<ttg::MmaAsyncOp>(schedule.shiftedMma);
  Location loc = mma.getLoc();
  ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
  SmallVector<Operation *> buffers = buffersOf(mma);
  Value stageIndex = arrival.getIndex(), parity = arrival.getParity();

  // The first iteration's, if there is one.
  OpBuilder b(loop);
  Value exists = LoopIterations(loop).existsIteration(b, 0);
  auto branch = scf::IfOp::create(b, loc, TypeRange(mma.getType()), exists, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping map;
  map.map(stageIndex, first[0]);
  map.map(parity, first[1]);
  SmallVector<Operation *> work(buffers);
  work.append({arrival, mma, wait});
  for (Operation *op : work)
    b.clone(*op, map);
  scf::YieldOp::create(b, loc, map.lookup(wait.getResults()[0]));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, mma.getC());
  loop = withMoreCarried(loop, branch.getResults());
  stageIndex = arrival.getIndex(); // the new loop's
  parity = arrival.getParity();
  wait.getResults()[0].replaceAllUsesWith(loop.getRegionIterArgs().back());
  wait.erase();

  // The next iteration's, at the top.
  b.setInsertionPointAfter(top);
  Value more = LoopIterations(loop).existsLater(b, 1);
  Value at = arith::SelectOp::create(b, loc, more, next[0], stageIndex), phase = arith::SelectOp::create(b, loc, more, next[1], parity);
  Operation *insertAfter = phase.getDefiningOp();
  for (Operation *op : ArrayRef(work).drop_back()) {
    op->moveAfter(insertAfter);
    insertAfter = op;
    if (isa<ttg::StageOp>(op)) op->replaceUsesOfWith(stageIndex, at);
  }
  mma->setAttr(ttg::iterationOffsetName, b.getI32IntegerAttr(1));
  arrival.getIndexMutable().assign(at);
  arrival.getParityMutable().assign(phase);

  // It is done where the iteration's last MMA is.
  ttg::MmaAsyncWaitOp both = extendWait(lastWaitIn(loop.getBody()), mma.getD());
  Operation *yield = loop.getBody()->getTerminator();
  yield->insertOperands(yield->getNumOperands(), both.getResults().back());
  return loop;
}

} // namespace tilewright::gpu
