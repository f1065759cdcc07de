// Plans that prove themselves before they become code. The rules are stated independently of how the planners found their answers, so that
// a planner's mistake is a refusal that names it, never a wrong number. What a plan assumes about an iteration of a loop with S stages:
//   With the release distance d, a circular buffer's copy for iteration t is started before the loop, for t < S - d, or in iteration t - (S
//   - d): so each iteration's wait has one arrival, and it is started before the wait. The copy that iteration i starts goes to the stage
//   that iteration i - d has read. With d = 0 this iteration's own readers must stand before the barrier that the refills stand after; with
//   d = 1 the iteration before's are over, but for MMAs that stay in flight across the back edge, which are drained after the last MMA that
//   starts, or at a wait of the iteration for all; with d = 2 these are over, too.
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_plan.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- schedules

/// Whether `op` stands in the block at or after `earlier`.
static bool notBefore(Operation *op, Operation *earlier) {
  return op == earlier || earlier->isBeforeInBlock(op);
}

/// Where this warp is done with what an access reads: for an asynchronous MMA, at the next wait for all MMAs.
static Operation *endOfRead(Operation *access, Operation *inBody) {
  if (!isa<ttg::WgmmaOp>(access)) return inBody;
  if (access != inBody) return inBody; // an inner loop drains its MMAs before it ends
  return waitForAllAfter(access);
}

/// Every access to a circular buffer's buffers stands between its first reader and the end of its reads.
static std::optional<std::string> verifyReaders(const CircularBuffer &circular, scf::ForOp loop) {
  if (circular.copies.empty() || !circular.firstReader || !circular.endOfReads) return "a circular buffer has no copies or no readers";
  if (circular.firstReader->getBlock() != loop.getBody() || circular.endOfReads->getBlock() != loop.getBody())
    return "a circular buffer is read outside its loop";
  for (const Copy &copy : circular.copies) {
    ttg::StoreSharedOp store = copy.store;
    ttg::AllocOp alloc = copy.alloc;
    for (Operation *access : accessesOf(alloc)) {
      if (access == store) continue;
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*access);
      if (!inBody) return "a stage is read outside the loop";
      if (!notBefore(inBody, circular.firstReader)) return "a stage is read before the wait for its copy";
      Operation *end = endOfRead(access, inBody);
      if (!end) return "an MMA is never waited for";
      if (!notBefore(circular.endOfReads, end)) return "a stage is released while it is still being read";
    }
  }
  return {};
}

/// The refill of a circular buffer comes after the last read of the stage that it fills.
static std::optional<std::string> verifyRefill(const LoopSchedule &schedule, const CircularBuffer &circular, bool isPrefetched) {
  if (schedule.warpSpecialized) {
    // The place where an iteration says that it has read the stage of iteration i - releaseDistance.
    if (!schedule.refillAfter) return "no warp releases the stages";
    if (circular.releaseDistance != (schedule.inFlight.empty() ? 0 : 1)) return "an iteration releases a stage of another iteration";
  }
  if (isPrefetched) {
    // Its MMA of the previous iteration was drained at the end of that iteration, and the barrier there has made that known to all.
    ttg::WgmmaOp prefetched = schedule.prefetchedMma;
    if (circular.firstReader != prefetched.getOperation()) return "the prefetched MMA does not read the first circular buffer";
    scf::ForOp loop = schedule.loop;
    if (schedule.warpSpecialized)
      for (auto wait : loop.getBody()->getOps<ttg::WgmmaWaitOp>())
        if (!notBefore(schedule.refillAfter, wait)) return "a stage is released while the prefetched MMA reads it";
    if (circular.releaseDistance != 0 || !schedule.refillAfter)
      return "the circular buffer of the prefetched MMA has a wrong release distance";
    return {};
  }
  if (schedule.inFlight.empty()) {
    if (circular.releaseDistance >= 1) return {};
    if (!schedule.refillAfter) return "a stage is filled at the top of the iteration that reads it";
    if (!notBefore(schedule.refillAfter, circular.endOfReads)) return "a stage is filled before its last read";
    return {};
  }
  if (ttg::FenceAsyncOp publishFence = schedule.publishFence) {
    bool read = circular.mmasRead ? circular.releaseDistance >= 2 : circular.endOfReads->isBeforeInBlock(publishFence);
    if (!read || schedule.refillAfter != publishFence) return "a stage is filled before it has been read";
    if (schedule.computedStages < stagesWithoutWaiting) return "a buffer is filled while an MMA reads it";
    return {};
  }
  if (circular.releaseDistance == 0) return "a stage is filled while an MMA in flight reads it";
  ttg::WgmmaOp last = schedule.inFlight.back();
  ttg::WgmmaWaitOp wait = schedule.drainingWait;
  Operation *drains = wait ? wait.getOperation() : last.getOperation();
  if (circular.releaseDistance == 1 && (!schedule.refillAfter || !notBefore(schedule.refillAfter, drains)))
    return "a stage is filled before the MMA that reads it is drained";
  return {};
}

/// The wait that drains the MMAs of the iteration before waits for all that were started, and stands before the next ones start.
static std::optional<std::string> verifyDraining(const LoopSchedule &schedule) {
  ttg::WgmmaWaitOp wait = schedule.drainingWait;
  scf::ForOp loop = schedule.loop;
  if (!wait) return {};
  if (schedule.inFlight.size() != 1) return "not exactly one MMA is in flight until a wait of the next iteration";
  if (wait->getBlock() != loop.getBody() || wait.getPending() != 0) return "the MMA in flight is not waited for in the next iteration";
  ttg::WgmmaOp mma = schedule.inFlight.front();
  if (!wait->isBeforeInBlock(mma)) return "a sum is added to before it is waited for";
  return {};
}

std::optional<std::string> verify(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  if (schedule.stages < 2) return "a single stage cannot be filled while it is read";
  if (schedule.circularBuffers.empty()) return "no load is prefetched";
  if (schedule.refillAfter && schedule.refillAfter->getBlock() != loop.getBody()) return "stages are filled outside the loop";
  if (schedule.prefetchedMma && !schedule.inFlight.empty()) return "an MMA is prefetched while others are in flight";
  for (ttg::WgmmaOp mma : schedule.inFlight)
    if (mma->getBlock() != loop.getBody()) return "an MMA of an inner loop is in flight";
  if (std::optional<std::string> error = verifyDraining(schedule)) return error;
  std::optional<int64_t> asyncDistance; // one wait serves all circular buffers by cp.async: it counts groups, one an iteration
  for (const CircularBuffer &circular : schedule.circularBuffers) {
    if (circular.releaseDistance < 0 || circular.distance(schedule.stages) < 1) return "a copy is started after it is waited for";
    if (!circular.tma) {
      if (schedule.warpSpecialized) return "copies by threads have no producer";
      if (schedule.refillAfter && schedule.inFlight.empty())
        return "copies by threads only become visible to all threads at the top of an iteration";
      if (asyncDistance.value_or(circular.distance(schedule.stages)) != circular.distance(schedule.stages))
        return "copies of different iterations are waited for together";
      asyncDistance = circular.distance(schedule.stages);
    }
    if (std::optional<std::string> error = verifyReaders(circular, loop)) return error;
    bool isPrefetched = schedule.prefetchedMma && &circular == schedule.circularBuffers.begin();
    if (std::optional<std::string> error = verifyRefill(schedule, circular, isPrefetched)) return error;
  }
  return {};
}

//===---------------------------------------------------------------------------------------------------------- shared memory

std::optional<std::string> verify(const SharedPlan &plan) {
  constexpr int64_t swizzleStart = 1024, plainStart = 128, barrierBytes = 8;
  SmallVector<const Reservation *> byOffset;
  for (const Reservation &reservation : plan.reservations) {
    if (reservation.offset < 0 || reservation.bytes < 0 || reservation.offset + reservation.bytes > plan.bytes)
      return "a reservation is outside the requested memory";
    if (reservation.first > reservation.last) return "a reservation ends before it begins";
    auto alloc = dyn_cast<ttg::AllocOp>(reservation.op);
    bool isPlain = alloc && alloc.getType().tileBytes() % swizzleStart != 0; // small, and in order
    if (alloc && reservation.offset % (isPlain ? plainStart : swizzleStart)) return "a buffer does not start where its swizzle does";
    if (reservation.isBarriers && reservation.offset % barrierBytes) return "a barrier is not aligned";
    byOffset.push_back(&reservation);
  }
  llvm::sort(byOffset, [](const Reservation *x, const Reservation *y) { return x->offset < y->offset; });
  for (size_t i = 0; i < byOffset.size(); ++i)
    for (size_t j = i + 1; j < byOffset.size() && byOffset[j]->offset < byOffset[i]->offset + byOffset[i]->bytes; ++j) {
      const Reservation &x = *byOffset[i], &y = *byOffset[j];
      bool together = x.isBarriers || y.isBarriers || (x.first <= y.last && y.first <= x.last);
      if (together && x.overlaps(y)) return "two reservations that are in use at the same time overlap";
    }
  return {};
}

} // namespace tilewright::gpu
