#include "gpu/schedule/mma_waits.h"

#include "gpu/schedule/buffers.h"

#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::MmaAsyncWaitOp waitFor(Value result) {
  return result.use_empty() ? ttg::MmaAsyncWaitOp() : dyn_cast<ttg::MmaAsyncWaitOp>(*result.user_begin());
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
    if (wait->hasAttr(ttg::drainsName)) return wait;
  return {};
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

bool endsMma(ttg::MmaAsyncWaitOp wait, int64_t issued) {
  return wait.getPending() <= issued;
}

ttg::MmaAsyncWaitOp waitForAllAfter(Operation *op) {
  for (op = op->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op); wait && endsMma(wait, 0)) return wait;
  return {};
}

int64_t pendingAt(ttg::MmaAsyncWaitOp wait, Operation *position) {
  int64_t count = 0;
  for (Operation *op = position->getPrevNode(); op; op = op->getPrevNode()) {
    if (!isa<ttg::MmaAsyncOp>(op)) continue;
    if (llvm::is_contained(wait.getTiles(), op->getResult(0))) return count;
    ++count;
  }
  return 0;
}

bool accumulatesInPlace(ttg::MmaAsyncOp mma, scf::ForOp loop) {
  auto sum = dyn_cast<BlockArgument>(mma.getC());
  if (!sum || sum.getOwner() != loop.getBody() || !sum.hasOneUse() || !mma.getD().hasOneUse()) return false;
  if (mma.getPromotionInterval()) return false; // threads add up its sums: it has ended by then
  ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
  if (!wait || wait.getPending() != 0 || wait->getBlock() != loop.getBody()) return false;
  Value drained = wait.getResults()[mma.getD().getUses().begin()->getOperandNumber()];
  return drained.hasOneUse() && loop.getTiedLoopYieldedValue(sum)->get() == drained;
}

FailureOr<ttg::MmaAsyncWaitOp> drainAfter(scf::ForOp loop) {
  Operation *wait = firstFrom<ttg::MmaAsyncWaitOp>(loop->getNextNode());
  if (!wait) return bug(loop, "no wait after it drains its MMAs"), failure();
  return cast<ttg::MmaAsyncWaitOp>(wait);
}

} // namespace tilewright::gpu
