#include "gpu/schedule/clusters/cta_pairs.h"

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/mma_loops.h"

using namespace mlir;

namespace tilewright::gpu {

bool pairsPay(tt::FuncOp scheduled) {
  llvm::SetVector<Operation *> loops = loopsWithMmas(scheduled);
  auto isOutside = [](ttg::MmaAsyncOp mma) { return mma->getParentOfType<scf::ForOp>() ? WalkResult::advance() : WalkResult::interrupt(); };
  if (loops.empty() || scheduled.walk(isOutside).wasInterrupted()) return false;
  return llvm::all_of(loops, [](Operation *op) {
    auto loop = cast<scf::ForOp>(op);
    if (!hasPairedMmas(loop) || !loop->hasAttr(ttg::loopScheduleName)) return false;
    FailureOr<LoopSchedule> schedule = readSchedule(loop);
    return succeeded(schedule) && coverCopies(schedule->stages, dotShapesOf(loop));
  });
}

} // namespace tilewright::gpu
