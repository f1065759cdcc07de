#include "gpu/schedule/loops/chained_mmas.h"

#include "gpu/schedule/loops/two_stages.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/ttg/buffer_accesses.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the MMA reads nothing but the buffer's copies and what the loop does not write, and nothing else reads these copies.
static bool readsAlone(const LoopSchedule &schedule, ttg::MmaAsyncOp mma, const CircularBuffer &circular) {
  for (const Copy &copy : circular.copies)
    for (Operation *access : accessesOf(copy.alloc))
      if (access != mma && access != copy.store) return false;
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    ttg::AllocOp alloc = allocOf(operand);
    if (!alloc) return false;
    if (llvm::any_of(circular.copies, [&](const Copy &copy) { return copy.alloc == alloc; })) continue;
    if (!writersIn(schedule.loop, alloc).empty()) return false;
  }
  return true;
}

/// True if a wait right after the MMA ends it, and passes on nothing else.
static bool isWaitedForAlone(ttg::MmaAsyncOp mma) {
  auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(mma->getNextNode());
  return wait && endsAllMmas(wait) && llvm::equal(wait.getTiles(), ArrayRef<Value>(mma.getD())) && mma.getD().hasOneUse();
}

Result<ttg::MmaAsyncOp> firstOfChain(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  auto isEarlier = [](const CircularBuffer &x, const CircularBuffer &y) { return x.firstReader->isBeforeInBlock(y.firstReader); };
  const CircularBuffer *first = llvm::min_element(schedule.circularBuffers, isEarlier);
  auto mma = first == schedule.circularBuffers.end() ? ttg::MmaAsyncOp() : dyn_cast<ttg::MmaAsyncOp>(first->firstReader);
  if (!mma || !readsAlone(schedule, mma, *first)) return Failure{"no MMA alone reads the first copies"};
  if (mma.getUseC() || !loop.isDefinedOutsideOfLoop(mma.getC())) return Failure{"the first MMA adds to what the loop computes"};
  if (!isWaitedForAlone(mma)) return Failure{"the first MMA is not waited for alone, where it stands"};
  SmallVector<ttg::MmaAsyncOp> mmas = mmasOf(loop);
  ttg::MmaAsyncWaitOp last = lastWaitIn(loop.getBody());
  if (mmas.size() < 2 || last == mma->getNextNode() || !endsAllMmas(last)) return Failure{"no later wait ends all MMAs"};
  if (!schedule.warpSpecialized) return mma;
  int64_t warps = ttg::configOf(loop->getParentOfType<tt::FuncOp>()).getWarps();
  if (warps != 2 * warpsOfGroup) return Failure{"not two warp groups multiply"};
  return mmas.front() == mma && TwoStages(loop).areSeparable() ? Result<ttg::MmaAsyncOp>(mma) : Failure{"its two stages are not separable"};
}

} // namespace tilewright::gpu
