#include "gpu/schedule/mma_waits.h"

#include "gpu/schedule/loop_schedule.h"
#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::WgmmaWaitOp waitFor(Value result) {
  return result.use_empty() ? ttg::WgmmaWaitOp() : dyn_cast<ttg::WgmmaWaitOp>(*result.user_begin());
}

template <typename Op> static Op lastIn(Block *block) {
  Op last;
  for (auto op : block->getOps<Op>())
    last = op;
  return last;
}

ttg::WgmmaWaitOp lastWaitIn(Block *block) {
  return lastIn<ttg::WgmmaWaitOp>(block);
}

ttg::WgmmaOp lastMmaIn(Block *block) {
  return lastIn<ttg::WgmmaOp>(block);
}

ttg::WgmmaWaitOp drainingWaitIn(scf::ForOp loop) {
  for (auto wait : loop.getBody()->getOps<ttg::WgmmaWaitOp>())
    if (wait->hasAttr(ttg::drainsName)) return wait;
  return {};
}

ttg::WgmmaWaitOp extendWait(ttg::WgmmaWaitOp wait, ValueRange tiles) {
  OpBuilder b(wait);
  SmallVector<Value> all(wait.getTiles());
  llvm::append_range(all, tiles);
  auto extended = ttg::WgmmaWaitOp::create(b, wait.getLoc(), wait.getPending(), all);
  wait->replaceAllUsesWith(extended.getResults().drop_back(tiles.size()));
  wait.erase();
  return extended;
}

bool endsMma(ttg::WgmmaWaitOp wait, int64_t issued) {
  return wait.getPending() <= issued;
}

ttg::WgmmaWaitOp waitForAllAfter(Operation *op) {
  for (op = op->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<ttg::WgmmaWaitOp>(op); wait && endsMma(wait, 0)) return wait;
  return {};
}

int64_t pendingAt(ttg::WgmmaWaitOp wait, Operation *position) {
  int64_t count = 0;
  for (Operation *op = position->getPrevNode(); op; op = op->getPrevNode()) {
    if (!isa<ttg::WgmmaOp>(op)) continue;
    if (llvm::is_contained(wait.getTiles(), op->getResult(0))) return count;
    ++count;
  }
  return 0;
}

FailureOr<ttg::WgmmaWaitOp> drainAfter(scf::ForOp loop) {
  Operation *wait = firstFrom<ttg::WgmmaWaitOp>(loop->getNextNode());
  if (!wait) return bug(loop, "no wait after it drains its MMAs"), failure();
  return cast<ttg::WgmmaWaitOp>(wait);
}

} // namespace tilewright::gpu
