// Attention's iteration is a chain: scores = QK, softmax of the scores, weights times V. While threads compute the softmax tensor cores
// idle, unless they have something of another iteration to do: the next iteration's scores.
//   before: for i { wait for K(i)    s = QK(i)    wait 0    p = softmax(s)    wait for V(i)    o += pV(i)    wait 0 }
//   after:  s = QK(0)
//           for i { wait for K(i+1)    t = QK(i+1)    p = softmax(s)    wait for V(i)    o += pV(i)    wait 0    s = t }
// The last iteration has no next one: it multiplies its own K again, which is still in its stage, and the result is not
// used. That costs one MMA for each loop; a branch around the MMA would cost something in every iteration.
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

scf::IfOp peelStage(OpBuilder &b, Location loc, Value exists, ArrayRef<Operation *> stage, IRMapping map, ValueRange results,
                    function_ref<SmallVector<Value>()> substitutes) {
  auto branch = scf::IfOp::create(b, loc, results.getTypes(), exists, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (Operation *op : stage)
    b.clone(*op, map);
  scf::YieldOp::create(b, loc, llvm::map_to_vector(results, [&](Value result) { return map.lookupOrDefault(result); }));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, substitutes());
  return branch;
}

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

scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, const StageState &first, const StageState &next) {
  scf::ForOp loop = schedule.loop;
  auto mma = cast<ttg::MmaAsyncOp>(schedule.shiftedMma);
  Location loc = mma.getLoc();
  ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
  SmallVector<Operation *> work = buffersOf(mma);
  work.append({arrival, mma, wait});

  // The first iteration's, if there is one.
  OpBuilder b(loop);
  Value exists = LoopIterations(loop).existsIteration(b, 0), sum = wait.getResults()[0];
  IRMapping map;
  map.map(arrival.getIndex(), first.index);
  map.map(arrival.getParity(), first.parity);
  auto branch = peelStage(b, loc, exists, work, map, sum, [&] { return SmallVector<Value>{mma.getC()}; });
  loop = withMoreCarried(loop, branch.getResults());
  Value stageIndex = arrival.getIndex(), parity = arrival.getParity(); // the new loop's
  sum.replaceAllUsesWith(loop.getRegionIterArgs().back());
  wait.erase();

  // The next iteration's, at the top.
  b.setInsertionPointAfter(next.parity.getDefiningOp());
  Value more = LoopIterations(loop).existsLater(b, 1);
  Value at = arith::SelectOp::create(b, loc, more, next.index, stageIndex);
  Value phase = arith::SelectOp::create(b, loc, more, next.parity, parity);
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
  appendYielded(loop, both.getResults().back());
  return loop;
}

} // namespace tilewright::gpu
