// An MMA's operand that threads compute, from smaller numbers or from what was loaded to registers, goes through a buffer. With one
// buffer threads and tensor cores alternate; with two, threads fill one while the MMA before reads the other:
//   before: for i { compute    store to %p    fence    start MMA i    wait 0 }
//   after:  for i { compute    store to %p[i mod 2]    fence    start MMA i    wait 1: MMA i - 1 is over }
// insert-barriers adds a barrier before the MMA, and one after the wait: stage i mod 2 was read by MMA i - 2, for which each warp has
// waited after MMA i - 1. With three stages the barrier before MMA i - 1 shows that MMA i - 3 is over, and there is no other one.
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/ttg/buffer_accesses.h"

using namespace mlir;

namespace tilewright::gpu {

void multiBuffer(LoopSchedule &schedule) {
  scf::ForOp old = schedule.loop;
  Location loc = old.getLoc();
  OpBuilder b(old);
  Value zero = i32Constant(b, loc, 0);
  scf::ForOp loop = schedule.loop = withMoreCarried(old, zero);
  StageState stage(loop.getRegionIterArgs().back(), /*parity=*/{}, schedule.computedStages);
  for (ttg::StoreSharedOp store : schedule.computed) {
    b.setInsertionPoint(loop);
    replaceByStages(b, allocOf(store.getBuffer()), loop, stage);
  }
  b.setInsertionPoint(loop.getBody()->getTerminator());
  appendYielded(loop, stage.next(b, loc).index);
}

void markInterleavedStores(const LoopSchedule &schedule) {
  auto isLoaded = [](ttg::StoreSharedOp store) {
    return isa_and_nonnull<ttg::LoadSharedOp, tt::LoadOp, ttg::DescriptorLoadOp>(store.getSrc().getDefiningOp());
  };
  if (llvm::all_of(schedule.computed, isLoaded)) return;
  Operation *op = schedule.computed.back();
  while (isa_and_nonnull<ttg::StoreSharedOp>(op))
    op = op->getNextNode();
  if (auto fence = dyn_cast_or_null<ttg::FenceAsyncOp>(op)) fence.setInterleavedStores(true);
}

} // namespace tilewright::gpu
