// Attention's iteration is a chain: scores = QK, softmax of the scores, weights times V. A warpgroup that waits for each MMA
// computes nothing while tensor cores work for it. So the chain is cut in two, and its second part runs an iteration late: both
// MMAs start one after the other, and the softmax of one iteration runs while the previous iteration's weights are multiplied by V.
//   before: for i in [0, n) { s = QK(i)    wait 0    p = softmax(s)    o += pV(i)    wait 0 }
//   after:  if n > 0 { s = QK(0)    wait 0    p = softmax(s) }
//           for i in [1, n) { ping-pong wait    s = QK(i)    o += pV(i - 1)    arrive    wait 1: s    p = softmax(s)    wait 0: o }
//           if n > 0 { o += pV(n - 1)    wait 0 }
// What the second part takes from the first (the weights, the factor by which the sum shrinks) is carried by the loop. The
// weights are packed only after the last wait, because the running MMA reads its first operand from their registers.
// Two warpgroups alternate: while one starts its MMAs, the other computes. Without ping-pong barriers they would
// start MMAs at the same time, each waiting for the other's, and then compute at the same time.
#include "gpu/machine/ptx.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/two_stages.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/named_barriers.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// The ping-pong barriers by which two warpgroups alternate in starting MMAs. Each waits at its own barrier, where the other one arrives.
/// The first warpgroup starts first. In the last iteration no warpgroup waits for the second one.
class PingPong {
public:
  PingPong(OpBuilder &b, scf::ForOp loop) : b(b), loop(loop), loc(loop.getLoc()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    Value warp = ptx::WarpIdOp::create(b, loc, b.getI32Type());
    Value warps = i32Constant(b, loc, warpsOfGroup);
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, warp, warps);
    Value isSecond = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, warp, warps);
    Value runs = LoopIterations(loop).existsIteration(b, 0);
    auto branch = scf::IfOp::create(b, loc, arith::AndIOp::create(b, loc, runs, isSecond), /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    ptx::BarrierArriveOp::create(b, loc, pingPongBarrier, threads);
  }

  void wait() {
    OpBuilder::InsertionGuard guard(b);
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    ptx::BarrierOp::create(b, loc, pingPongBarrier, threads);
    b.setInsertionPointToStart(branch.elseBlock());
    ptx::BarrierOp::create(b, loc, pingPongBarrier + 1, threads);
  }

  void pass() {
    OpBuilder::InsertionGuard guard(b);
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    ptx::BarrierArriveOp::create(b, loc, pingPongBarrier + 1, threads);
    b.setInsertionPointToStart(branch.elseBlock());
    auto more = scf::IfOp::create(b, loc, LoopIterations(loop).existsLater(b, 1), /*withElseRegion=*/false);
    b.setInsertionPointToStart(more.thenBlock());
    ptx::BarrierArriveOp::create(b, loc, pingPongBarrier, threads);
  }

private:
  static constexpr auto threads = static_cast<uint32_t>(2 * threadsOfGroup);
  OpBuilder &b;
  scf::ForOp loop;
  Location loc;
  Value isFirst;
};

/// Builds the loop that goes through both parts at the same time.
class TwoStageBuilder {
public:
  explicit TwoStageBuilder(const TwoStages &parts)
      : parts(parts), loop(parts.loop), firstMma(parts.firstMma), lastMma(parts.lastMma), loc(loop.getLoc()), b(loop),
        handed(parts.forwarded().takeVector()), firstWait(waitFor(firstMma.getD())) {
    for (BlockArgument carried : loop.getRegionIterArgs())
      (parts.isInSecond(carried) ? secondStageCarried : carriedOn).push_back(carried);
  }

  scf::ForOp run() {
    exists = LoopIterations(loop).existsIteration(b, 0);
    auto head = first();
    Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getStep());
    second = arith::SelectOp::create(b, loc, LoopIterations(loop).existsIteration(b, 1), second, loop.getUpperBound());
    SmallVector<Value> inits = initsOf(secondStageCarried);
    llvm::append_range(inits, head.getResults());
    auto fresh = scf::ForOp::create(b, loc, second, loop.getUpperBound(), loop.getStep(), inits);
    fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    fresh.setUnsignedCmp(loop.getUnsignedCmp());
    fill(fresh);
    auto tail = lastOne(fresh.getResults());
    if (readsOuterBuffers()) tail->setAttr(ttg::idName, fresh->removeAttr(ttg::idName)); // for the loop around it, the loop ends here
    for (auto [carried, result] : llvm::zip(secondStageCarried, tail.getResults()))
      loop.getTiedLoopResult(carried).replaceAllUsesWith(result);
    for (auto [carried, result] : llvm::zip(carriedOn, fresh.getResults().drop_front(secondStageCarried.size())))
      loop.getTiedLoopResult(carried).replaceAllUsesWith(result);
    loop->erase();
    return fresh;
  }

private:
  SmallVector<Value> yielded(ArrayRef<BlockArgument> carried, const IRMapping &map) {
    return llvm::map_to_vector(carried, [&](BlockArgument each) { return map.lookupOrDefault(loop.getTiedLoopYieldedValue(each)->get()); });
  }

  /// True if the second part reads a buffer that is not this loop's.
  bool readsOuterBuffers() {
    return llvm::any_of(operationsOf(/*secondStage=*/true), [&](Operation *op) {
      return !isa<ttg::StageOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
        return isa<ttg::BufferType>(operand.getType()) && loop.isDefinedOutsideOfLoop(operand);
      });
    });
  }

  SmallVector<Value> initsOf(ArrayRef<BlockArgument> carried) {
    return llvm::map_to_vector(carried, [&](BlockArgument each) { return loop.getTiedLoopInit(each)->get(); });
  }

  SmallVector<Operation *> operationsOf(bool secondStage) {
    auto all = llvm::make_pointer_range(parts.body->without_terminator());
    return llvm::filter_to_vector(all, [&](Operation *op) { return parts.isInSecond(op) == secondStage; });
  }

  /// The first part of the first iteration. Its results: what the loop carries on, and what is handed over.
  scf::IfOp first() {
    IRMapping map;
    map.map(loop.getInductionVar(), loop.getLowerBound());
    map.map(carriedOn, initsOf(carriedOn));
    SmallVector<Value> results = yielded(carriedOn, IRMapping());
    llvm::append_range(results, handed);
    return peelStage(b, loc, exists, operationsOf(/*secondStage=*/false), map, results, [&] {
      SmallVector<Value> substitutes = initsOf(carriedOn);
      for (Value each : handed)
        substitutes.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(each.getType())));
      return substitutes;
    });
  }

  /// The conversion, to be moved after the last wait, that makes the first operand of the last MMA; null if there is none. 8-bit operands
  /// have a layout of their own, and are in other registers than the numbers that they are made of.
  Operation *packing() {
    auto pack = lastMma.getA().getDefiningOp<arith::TruncFOp>();
    return pack && pack->getBlock() == parts.body && pack->hasOneUse() && !parts.isInSecond(pack) ? pack.getOperation() : nullptr;
  }

  void fill(scf::ForOp fresh) {
    IRMapping now, before; // of this iteration's first part, of the second part of the one before
    ValueRange arguments = fresh.getRegionIterArgs();
    now.map(loop.getInductionVar(), fresh.getInductionVar());
    before.map(secondStageCarried, arguments.take_front(secondStageCarried.size()));
    now.map(carriedOn, arguments.slice(secondStageCarried.size(), carriedOn.size()));
    before.map(handed, arguments.take_back(handed.size()));
    OpBuilder::InsertionGuard guard(b);
    PingPong pingPong(b, fresh);
    if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
    b.setInsertionPointToEnd(fresh.getBody());
    Operation *begin = &parts.body->front(), *started = lastMma->getNextNode(), *end = parts.body->getTerminator(), *pack = packing();
    auto early = [&](Operation *op) { return !parts.isInSecond(op) && op != pack; };
    auto shrinks = [&](Operation *op) { return parts.isInSecond(op) && isMemoryEffectFree(op); }; // what the last MMA adds to
    auto others = [&](Operation *op) { return parts.isInSecond(op) && !isMemoryEffectFree(op); };
    clone(begin, lastMma, shrinks, before);
    clone(begin, firstMma, early, now);
    pingPong.wait(); // and does not overlap with the others until it is passed on
    clone(firstMma, firstWait, early, now);
    clone(begin, started, others, before);
    pingPong.pass();
    clone(firstWait, end, early, now);
    recount(now.lookup(firstWait.getResults()[0]).getDefiningOp<ttg::MmaAsyncWaitOp>());
    clone(started, end, [&](Operation *op) { return parts.isInSecond(op); }, before);
    if (pack) packLast(pack, before, now);
    SmallVector<Value> results = yielded(secondStageCarried, before);
    llvm::append_range(results, yielded(carriedOn, now));
    for (Value each : handed)
      results.push_back(now.lookupOrDefault(each));
    scf::YieldOp::create(b, loc, results);
  }

  void clone(Operation *from, Operation *until, function_ref<bool(Operation *)> isMeant, IRMapping &map) {
    for (Operation *op = from; op != until; op = op->getNextNode())
      if (isMeant(op)) b.clone(*op, map);
  }

  /// The sum over what is packed, or null: all of it is computed where the sum is.
  Value sumOf(Value packed) {
    for (Operation *user : packed.getUsers()) {
      auto reduce = dyn_cast<tt::ReduceOp>(user);
      if (reduce && reduce->getBlock() == parts.body && reduce.getNumResults() == 1 && !parts.isInSecond(user))
        return reduce.getResult()[0];
    }
    return {};
  }

  /// The packed values go through the wait for the last MMA, so that they are not packed
  /// before it; and so does their sum, so that the wait does not move above what is computed.
  void packLast(Operation *pack, IRMapping &before, IRMapping &now) {
    ttg::MmaAsyncWaitOp own = waitFor(lastMma.getD()), wait = waitFor(before.lookup(lastMma.getD()));
    size_t waited = wait.getTiles().size();
    SmallVector<Value> computed = {now.lookup(pack->getOperand(0))};
    if (Value sum = sumOf(pack->getOperand(0))) computed.push_back(now.lookup(sum));
    ttg::MmaAsyncWaitOp both = extendWait(wait, computed);
    before.map(own->getResults(), both.getResults().take_front(waited));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(both);
    IRMapping map;
    map.map(pack->getOperand(0), both.getResults()[waited]);
    now.map(pack->getResult(0), b.clone(*pack, map)->getResult(0));
  }

  /// The second part of the last iteration. `results`: of the loop.
  scf::IfOp lastOne(ValueRange results) {
    IRMapping map;
    ValueRange carried = results.take_front(secondStageCarried.size());
    map.map(secondStageCarried, carried);
    map.map(handed, results.take_back(handed.size()));
    return peelStage(b, loc, exists, operationsOf(/*secondStage=*/true), map, yielded(secondStageCarried, IRMapping()),
                     [&] { return llvm::to_vector(carried); });
  }

  const TwoStages &parts;
  scf::ForOp loop;
  ttg::MmaAsyncOp firstMma, lastMma;
  Location loc;
  OpBuilder b;
  SmallVector<Value> handed;
  ttg::MmaAsyncWaitOp firstWait;
  SmallVector<BlockArgument> secondStageCarried, carriedOn;
  Value exists;
};
} // namespace

FailureOr<scf::ForOp> pipelineTwoStages(scf::ForOp loop) {
  TwoStages parts(loop);
  if (failed(parts.addWaitsAndShapes())) return failure();
  for (Operation &op : *loop.getBody())
    if (parts.isInSecond(&op)) op.setAttr(ttg::iterationOffsetName, Builder(op.getContext()).getI32IntegerAttr(-1));
  return TwoStageBuilder(parts).run();
}

} // namespace tilewright::gpu
