#include "gpu/schedule/mma_waits.h"

#include "gpu/schedule/buffers.h"
#include "gpu/schedule/mma_intervals.h"
#include "ir/refusal.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::MmaAsyncWaitOp waitFor(Value result) {
  for (Operation *user : result.getUsers())
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(user)) return wait;
  return {};
}

ttg::MmaAsyncWaitOp waitFor(const MmaEdge &edge, scf::ForOp loop) {
  Value result = edge.op->getResult(0);
  if (edge.distance == 0) return waitFor(result);
  for (auto [yielded, carried] : llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs()))
    if (yielded == result) return waitFor(carried);
  return {};
}

template <typename Op> static Op lastIn(Block *block) {
  Op last;
  for (auto op : block->getOps<Op>())
    last = op;
  return last;
}

ttg::MmaAsyncWaitOp lastWaitIn(Block *block) {
  return lastIn<ttg::MmaAsyncWaitOp>(block);
}

ttg::MmaAsyncOp lastMmaIn(Block *block) {
  return lastIn<ttg::MmaAsyncOp>(block);
}

ttg::MmaAsyncWaitOp drainingWaitIn(scf::ForOp loop) {
  for (auto wait : loop.getBody()->getOps<ttg::MmaAsyncWaitOp>())
    if (wait.getDrains()) return wait;
  return {};
}

bool endsAllMmas(ttg::MmaAsyncWaitOp wait) {
  return wait.getPending() == 0;
}

ttg::MmaAsyncWaitOp waitForAllAfter(Operation *op) {
  for (op = op->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op); wait && endsAllMmas(wait)) return wait;
  return {};
}

int64_t pendingAt(ArrayRef<Value> tiles, Operation *position, const BlockOrder &order) {
  int64_t count = 0;
  for (Operation *op = order.previous(position); op; op = order.previous(op)) {
    if (!isa<ttg::MmaAsyncOp>(op)) continue;
    if (llvm::is_contained(tiles, op->getResult(0))) return count;
    ++count;
  }
  return 0;
}

Value afterWait(ttg::MmaAsyncOp mma) {
  Value d = mma.getD();
  auto wait = d.hasOneUse() ? dyn_cast<ttg::MmaAsyncWaitOp>(*d.user_begin()) : ttg::MmaAsyncWaitOp();
  return wait ? wait.getResults()[d.use_begin()->getOperandNumber()] : Value();
}

std::pair<ttg::MmaAsyncOp, int64_t> waitedMma(Value tile, scf::ForOp loop) {
  auto carried = dyn_cast<BlockArgument>(tile);
  bool isCarried = carried && carried.getOwner() == loop.getBody() && carried != loop.getInductionVar();
  Value made = isCarried ? loop.getTiedLoopYieldedValue(carried)->get() : tile;
  return {made.getDefiningOp<ttg::MmaAsyncOp>(), isCarried};
}

bool accumulatesInPlace(ttg::MmaAsyncOp mma, scf::ForOp loop) {
  auto sum = dyn_cast<BlockArgument>(mma.getC());
  if (!sum || sum.getOwner() != loop.getBody() || !sum.hasOneUse()) return false;
  if (mma.getPromotionInterval()) return false; // threads add up its sums: it has ended by then
  Value drained = afterWait(mma);
  auto wait = drained ? drained.getDefiningOp<ttg::MmaAsyncWaitOp>() : ttg::MmaAsyncWaitOp();
  if (!wait || wait.getPending() != 0 || wait->getBlock() != loop.getBody()) return false;
  return drained.hasOneUse() && loop.getTiedLoopYieldedValue(sum)->get() == drained;
}

FailureOr<ttg::MmaAsyncWaitOp> drainAfter(scf::ForOp loop) {
  auto wait = dyn_cast_or_null<ttg::MmaAsyncWaitOp>(firstFrom<ttg::MmaAsyncWaitOp>(loop->getNextNode()));
  bool drains =
      wait && endsAllMmas(wait) && llvm::any_of(wait.getTiles(), [&](Value tile) { return tile.getDefiningOp() == loop.getOperation(); });
  if (!drains) return bug(loop, "no wait after it drains its MMAs"), failure();
  return wait;
}

//===------------------------------------------------------------------------------------------------------------ to make

ttg::MmaAsyncWaitOp waitForAllButLast(OpBuilder &b, Location loc, Value sum) {
  return ttg::MmaAsyncWaitOp::create(b, loc, 1, sum);
}

ttg::MmaAsyncWaitOp waitForAll(OpBuilder &b, Location loc, ValueRange sums) {
  return ttg::MmaAsyncWaitOp::create(b, loc, 0, sums);
}

void recount(ttg::MmaAsyncWaitOp wait) {
  wait.setPending(static_cast<uint32_t>(pendingAt(SmallVector<Value>(wait.getTiles()), wait, BlockOrder(*wait->getBlock()))));
}

ttg::MmaAsyncWaitOp extendWait(ttg::MmaAsyncWaitOp wait, ValueRange tiles) {
  OpBuilder b(wait);
  SmallVector<Value> all(wait.getTiles());
  llvm::append_range(all, tiles);
  auto extended = ttg::MmaAsyncWaitOp::create(b, wait.getLoc(), wait.getPending(), all);
  extended.setDrains(wait.getDrains());
  extended.setNamesAll(wait.getNamesAll());
  wait->replaceAllUsesWith(extended.getResults().drop_back(tiles.size()));
  wait.erase();
  return extended;
}

// An MMA that accumulates in place is waited for only once the next one has started: tensor cores never idle over the back edge.
//   before: for i { d = MMA i of c    wait 0    yield d }
//   after:  for i { d = MMA i of c    wait 1: MMA i - 1 is over    yield d }    wait 0
// If an iteration waits for another MMA before that one, this wait also drains the accumulating MMA of the previous iteration:
//   before: for i { s = other i    wait 0: s    d = MMA i of c    wait 0    yield d }
//   after:  for i { s = other i    wait 0: s, c = MMA i - 1    d = MMA i of c    yield d }    wait 0
ttg::MmaAsyncWaitOp keepInFlight(scf::ForOp loop, ArrayRef<MmaEdge> edges) {
  OpBuilder b(loop.getContext());
  SmallVector<Value> sums;
  llvm::SetVector<Operation *> replaced; // by the edges
  for (const MmaEdge &edge : edges) {
    auto mma = cast<ttg::MmaAsyncOp>(edge.op);
    ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
    replaced.insert(wait);
    unsigned index = mma.getD().getUses().begin()->getOperandNumber();
    sums.push_back(loop.getTiedLoopResult(cast<BlockArgument>(mma.getC())));
    wait.getResults()[index].replaceAllUsesWith(mma.getD());
  }
  for (Operation *wait : replaced)
    if (wait->use_empty() && wait != edges.back().until) wait->erase();
  auto last = cast<ttg::MmaAsyncOp>(edges.back().op);
  ttg::MmaAsyncWaitOp ofPrevious;
  if (auto until = dyn_cast<ttg::MmaAsyncWaitOp>(edges.back().until)) {
    assert(edges.size() == 1 && "the schedule's verifier has let a wait drain one MMA only");
    Value sum = last.getC();
    ofPrevious = extendWait(until, sum);
    sum.replaceAllUsesExcept(ofPrevious.getResults().back(), ofPrevious);
  } else {
    b.setInsertionPointAfter(last);
    ofPrevious = ttg::MmaAsyncWaitOp::create(b, last.getLoc(), static_cast<uint32_t>(edges.size()), ValueRange());
  }
  b.setInsertionPointAfter(loop);
  ttg::MmaAsyncWaitOp drain = waitForAll(b, last.getLoc(), sums);
  if (Attribute id = loop->removeAttr(ttg::idName))
    drain->setAttr(ttg::idName, id); // in the schedule of the loop around it, the loop ends here
  for (auto [sum, drained] : llvm::zip(sums, drain.getResults()))
    sum.replaceAllUsesExcept(drained, drain);
  return ofPrevious;
}

/// Lets the tiles of other waits that end at `until`, and arithmetic that is computed before it, pass through it. Arithmetic stays above
/// the wait then: ptxas moves nothing that a wait names.
static void endAt(ttg::MmaAsyncWaitOp until, ArrayRef<MmaEdge> edges, int64_t pending, scf::ForOp loop) {
  llvm::SetVector<Operation *> merged;
  SmallVector<Value> tiles, results; // what is passed on, and what its users after the wait use now
  bool computes = false;
  for (const MmaEdge &edge : edges) {
    if (edge.until != until) continue;
    if (!isa<ttg::MmaAsyncOp>(edge.op)) {
      tiles.push_back(edge.op->getResult(0));
      results.push_back(tiles.back());
      computes = true;
    } else if (ttg::MmaAsyncWaitOp wait = waitFor(edge, loop); wait != until && merged.insert(wait)) {
      llvm::append_range(tiles, wait.getTiles());
      llvm::append_range(results, wait.getResults());
    }
  }
  ttg::MmaAsyncWaitOp all = tiles.empty() ? until : extendWait(until, tiles);
  all.setPending(static_cast<uint32_t>(pending));
  if (computes) all.setNamesAll(true);
  for (auto [result, passed] : llvm::zip(results, all.getResults().take_back(tiles.size())))
    result.replaceUsesWithIf(passed,
                             [&](OpOperand &use) { return all->isBeforeInBlock(all->getBlock()->findAncestorOpInBlock(*use.getOwner())); });
  for (Operation *wait : merged)
    wait->erase();
}

LogicalResult endAtEdges(scf::ForOp loop, ArrayRef<MmaEdge> edges) {
  BlockOrder order(*loop.getBody());
  Result<MmaIntervals> intervals = MmaIntervals::atEdges(loop, order, edges);
  if (!intervals) return bug(loop, intervals.error());
  llvm::SetVector<Operation *> waits;
  for (const MmaEdge &edge : edges)
    waits.insert(edge.until);
  for (Operation *wait : waits) {
    auto until = cast<ttg::MmaAsyncWaitOp>(wait);
    endAt(until, edges, intervals->pendingOf(until), loop);
  }
  return success();
}

} // namespace tilewright::gpu
