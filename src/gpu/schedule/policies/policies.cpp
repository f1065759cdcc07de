// The table of policies, and what several of them use.
#include "gpu/schedule/policies/policies.h"

#include "gpu/schedule/mma_loops.h"
#include "gpu/ttg/buffer_accesses.h"

using namespace mlir;

namespace tilewright::gpu {

ArrayRef<Policy> allPolicies() {
#define POLICY(name, apply) {name, apply},
  static constexpr Policy policies[] = {
#include "gpu/schedule/policies/policies.def"
  };
#undef POLICY
  return policies;
}

void applyPolicies(LoopSchedule &schedule, int64_t stages, const PolicyContext &context, ArrayRef<Policy> policies) {
  schedule.stages = stages;
  static_cast<PolicyDecision &>(schedule) = {};
  for (CircularBuffer &circular : schedule.circularBuffers)
    static_cast<StageUse &>(circular) = {};
  for (const Policy &policy : policies) {
    if (!policy.apply(schedule, context)) continue;
    schedule.policy = policy.name;
    return;
  }
}

void copyAndReleaseAfter(LoopSchedule &schedule, Operation *op, int64_t releaseDistance) {
  for (CircularBuffer &circular : schedule.circularBuffers) {
    circular.copyAfter = circular.releaseAfter = op;
    circular.distance = schedule.warpSpecialized ? 0 : schedule.stages - releaseDistance;
    circular.fillOrder = llvm::count_if(schedule.circularBuffers, [&](const CircularBuffer &other) {
      return schedule.warpSpecialized && other.lastLoad()->isBeforeInBlock(circular.lastLoad());
    });
  }
}

bool staysInBuffer(const LoopSchedule &schedule, Value operand) {
  ttg::AllocOp alloc = allocOf(operand);
  if (!alloc) return false;
  if (llvm::any_of(schedule.copies(), [&](const Copy &copy) { return copy.alloc == alloc; })) return true;
  return writersIn(schedule.loop, alloc).empty();
}

SmallVector<ttg::MmaAsyncOp> mmasInFlight(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  SmallVector<ttg::MmaAsyncOp> mmas = mmasOf(loop);
  auto stays = [&](Value operand) {
    ttg::AllocOp alloc = allocOf(operand);
    bool computed = llvm::any_of(schedule.computed, [&](ttg::StoreSharedOp store) { return allocOf(store.getBuffer()) == alloc; });
    return (alloc && computed) || staysInBuffer(schedule, operand);
  };
  bool all = llvm::all_of(
      mmas, [&](ttg::MmaAsyncOp mma) { return accumulatesInPlace(mma, loop) && stays(mma.getA()) && llvm::all_of(mma.buffers(), stays); });
  // A wait for other tiles, too, has to stay.
  loop.walk([&](ttg::MmaAsyncWaitOp wait) {
    all &= llvm::all_of(wait.getTiles(), [&](Value tile) { return tile.getDefiningOp<ttg::MmaAsyncOp>() != nullptr; });
  });
  return all ? mmas : SmallVector<ttg::MmaAsyncOp>();
}

void keepInFlightUntilNext(LoopSchedule &schedule, ArrayRef<ttg::MmaAsyncOp> mmas) {
  for (ttg::MmaAsyncOp mma : mmas)
    schedule.edges.push_back({mma, ttg::MmaAsyncOp(mmas.back()), /*distance=*/1});
}

void drainLastMmaAt(LoopSchedule &schedule, ttg::MmaAsyncWaitOp wait) {
  schedule.edges.push_back({lastMmaIn(schedule.body()), wait, /*distance=*/1});
  copyAndReleaseAfter(schedule, wait, /*releaseDistance=*/1);
}

Operation *endOfAllReads(const LoopSchedule &schedule) {
  Operation *end = lastWaitIn(schedule.body());
  for (const CircularBuffer &circular : schedule.circularBuffers)
    if (!end || end->isBeforeInBlock(circular.endOfReads)) end = circular.endOfReads;
  return end;
}

} // namespace tilewright::gpu
