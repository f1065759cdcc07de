#include "gpu/schedule/mma_waits.h"

#include "gpu/schedule/buffers.h"

#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::MmaAsyncWaitOp waitFor(Value result) {
  for (Operation *user : result.getUsers())
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(user)) return wait;
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

bool endsMma(ttg::MmaAsyncWaitOp wait, int64_t issued) {
  return wait.getPending() <= issued;
}

ttg::MmaAsyncWaitOp waitForAllAfter(Operation *op) {
  for (op = op->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op); wait && endsMma(wait, 0)) return wait;
  return {};
}

int64_t pendingAt(ttg::MmaAsyncWaitOp wait, Operation *position, function_ref<Operation *(Operation *)> previous) {
  int64_t count = 0;
  for (Operation *op = previous(position); op; op = previous(op)) {
    if (!isa<ttg::MmaAsyncOp>(op)) continue;
    if (llvm::is_contained(wait.getTiles(), op->getResult(0))) return count;
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
      wait && endsMma(wait, 0) && llvm::any_of(wait.getTiles(), [&](Value tile) { return tile.getDefiningOp() == loop.getOperation(); });
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
  wait.setPending(static_cast<uint32_t>(pendingAt(wait, wait)));
}

ttg::MmaAsyncWaitOp extendWait(ttg::MmaAsyncWaitOp wait, ValueRange tiles) {
  OpBuilder b(wait);
  SmallVector<Value> all(wait.getTiles());
  llvm::append_range(all, tiles);
  auto extended = ttg::MmaAsyncWaitOp::create(b, wait.getLoc(), wait.getPending(), all);
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
  for (const MmaEdge &edge : edges) {
    auto mma = cast<ttg::MmaAsyncOp>(edge.op);
    ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
    unsigned index = mma.getD().getUses().begin()->getOperandNumber();
    sums.push_back(loop.getTiedLoopResult(cast<BlockArgument>(mma.getC())));
    wait.getResults()[index].replaceAllUsesWith(mma.getD());
  }
  SmallVector<ttg::MmaAsyncWaitOp> waits(loop.getBody()->getOps<ttg::MmaAsyncWaitOp>());
  for (ttg::MmaAsyncWaitOp wait : waits)
    if (wait.use_empty()) wait.erase();
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

/// Arithmetic above the wait stays above it: nothing adds its elements up there, and ptxas computes them in an order of its own.
static ttg::MmaAsyncWaitOp passThrough(ttg::MmaAsyncWaitOp wait, Value computed) {
  ttg::MmaAsyncWaitOp both = extendWait(wait, computed);
  both.setNamesAll(true);
  computed.replaceUsesWithIf(both.getResults().back(), [&](OpOperand &use) {
    return both->isBeforeInBlock(both->getBlock()->findAncestorOpInBlock(*use.getOwner()));
  });
  return both;
}

static ttg::MmaAsyncWaitOp merge(ttg::MmaAsyncWaitOp wait, ttg::MmaAsyncWaitOp into) {
  ttg::MmaAsyncWaitOp both = extendWait(into, wait.getTiles());
  wait->replaceAllUsesWith(both.getResults().take_back(wait.getTiles().size()));
  wait.erase();
  return both;
}

/// The wait that an MMA's result, or in the next iteration the value that the loop carries for it, passes through.
static ttg::MmaAsyncWaitOp waitOf(const MmaEdge &edge, scf::ForOp loop) {
  Value result = edge.op->getResult(0);
  if (edge.distance == 0) return waitFor(result);
  for (auto [yielded, carried] : llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs()))
    if (yielded == result) return waitFor(carried);
  return {};
}

LogicalResult endAtEdges(scf::ForOp loop, ArrayRef<MmaEdge> edges) {
  DenseMap<Operation *, ttg::MmaAsyncWaitOp> current; // by the wait that an edge names: extending a wait replaces it
  llvm::SmallPtrSet<Operation *, 4> counted;
  for (const MmaEdge &edge : edges) {
    ttg::MmaAsyncWaitOp &until = current.insert({edge.until, cast<ttg::MmaAsyncWaitOp>(edge.until)}).first->second;
    if (!isa<ttg::MmaAsyncOp>(edge.op)) {
      until = passThrough(until, edge.op->getResult(0));
      continue;
    }
    ttg::MmaAsyncWaitOp wait = waitOf(edge, loop);
    if (!wait) return edge.op->emitError("its schedule is invalid: no wait ends the MMA");
    if (wait != until)
      until = merge(wait, until);
    else if (counted.insert(edge.until).second)
      recount(until);
  }
  return success();
}

} // namespace tilewright::gpu
