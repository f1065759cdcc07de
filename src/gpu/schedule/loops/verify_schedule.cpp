// Plans that prove themselves before they become code. The rules are stated independently of how the planners found their answers, so that
// a planner's mistake is a refusal that names it, never a wrong number. What a plan assumes about an iteration of a loop with S stages:
//   A copy that is d iterations ahead is started before the loop for iterations t < d, and in iteration t - d otherwise. So the wait of
//   each iteration has one arrival, which is started before the wait. The copy that iteration i starts goes to the stage of iteration i + d
//   - S. Before it, a barrier shows that all threads have read that stage: the last one that stands where the stage is released. It must
//   come after the end of the reads, which for an MMA in flight is where the next iteration drains it.
#include "gpu/schedule/loops/loop_schedule.h"

#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loops/chained_mmas.h"
#include "gpu/schedule/loops/multicast.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/kernel_target.h"
#include "support/gpu_hardware.h"

#include <limits>

using namespace mlir;

namespace tilewright::gpu {

static constexpr int64_t maxStages = std::numeric_limits<int32_t>::max();

/// True if `op` stands in the block at or after `earlier`.
static bool notBefore(Operation *op, Operation *earlier) {
  return op == earlier || earlier->isBeforeInBlock(op);
}

/// Where this warp is done with what an access reads: for an asynchronous MMA, at the next wait for all MMAs.
static Operation *endOfRead(Operation *access, Operation *inBody) {
  if (!isa<ttg::MmaAsyncOp>(access)) return inBody;
  if (access != inBody) return inBody; // an inner loop drains its MMAs before it ends
  return waitForAllAfter(access);
}

/// Every access to a circular buffer's buffers stands between its first reader and the end of its reads.
static Result<void> verifyReaders(const LoopSchedule &schedule, const CircularBuffer &circular) {
  Block *body = schedule.body();
  if (circular.copies.empty() || !circular.firstReader || !circular.endOfReads)
    return Failure{"a circular buffer has no copies or no readers"};
  if (circular.firstReader->getBlock() != body || circular.endOfReads->getBlock() != body)
    return Failure{"a circular buffer is read outside its loop"};
  for (const Copy &copy : circular.copies) {
    ttg::StoreSharedOp store = copy.store;
    ttg::AllocOp alloc = copy.alloc;
    if (llvm::is_contained(schedule.computed, store)) return Failure{"threads fill a buffer of copies"};
    for (Operation *access : accessesOf(alloc)) {
      if (access == store) continue;
      Operation *inBody = body->findAncestorOpInBlock(*access);
      if (!inBody) return Failure{"a stage is read outside the loop"};
      if (!notBefore(inBody, circular.firstReader)) return Failure{"a stage is read before the wait for its copy"};
      Operation *end = endOfRead(access, inBody);
      if (!end) return Failure{"an MMA is never waited for"};
      if (!notBefore(circular.endOfReads, end)) return Failure{"a stage is released while it is still being read"};
    }
  }
  return {};
}

namespace {
/// A point in the pipelined loop: after `op` (null: at the top) of an iteration, relative to the iteration whose tiles are in a stage.
struct Point {
  int64_t iteration = 0;
  Operation *after = nullptr;
  bool operator<(const Point &other) const {
    if (iteration != other.iteration) return iteration < other.iteration;
    return other.after && (!after || (after != other.after && after->isBeforeInBlock(other.after)));
  }
};
} // namespace

/// Where the last read of an iteration's stage ends: where the MMA in flight is drained, or the shifted MMA.
static Point endOfReads(const LoopSchedule &schedule, const CircularBuffer &circular) {
  Point end{circular.firstReader == schedule.shiftedMma ? -schedule.shift : 0, circular.endOfReads};
  if (schedule.shift > 0 && circular.firstReader == schedule.shiftedMma) end.after = lastWaitIn(schedule.body());
  for (const MmaEdge &edge : schedule.edges)
    for (const Copy &copy : circular.copies)
      if (llvm::is_contained(accessesOf(copy.alloc), edge.op)) end = std::max(end, Point{1, edge.until});
  return end;
}

/// Copies that an operand partition and its consumers read to registers. The partition arrives where it has read them, and the consumers in
/// the same iteration, at the fence after their last read.
static Result<void> verifyEarlyRelease(const LoopSchedule &schedule, const CircularBuffer &circular) {
  if (circular.mmasRead) return Failure{"a stage is released while an MMA reads it"};
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  for (const Copy &copy : circular.copies)
    for (Operation *access : accessesOf(copy.alloc)) {
      if (access == ttg::StoreSharedOp(copy.store) || ofPartition.contains(access)) continue;
      if (!circular.releaseAfter || !notBefore(circular.releaseAfter, schedule.body()->findAncestorOpInBlock(*access)))
        return Failure{"a stage is released while it is still being read"};
    }
  if (!isa_and_nonnull<ttg::LoadSharedOp>(circular.releaseAfter) || ofPartition.contains(circular.releaseAfter))
    return Failure{"a stage is not released at a read of the consumers, which a fence follows"};
  for (ttg::StoreSharedOp store : schedule.computed)
    for (Operation *access : accessesOf(allocOf(store.getBuffer()))) {
      Operation *inBody = schedule.body()->findAncestorOpInBlock(*access);
      if (access != store && (!inBody || !circular.releaseAfter->isBeforeInBlock(inBody)))
        return Failure{"a stage is released after the fence of the consumers"};
    }
  return {};
}

/// The refill of a circular buffer comes after the last read of the stage that it fills, and all threads know that.
static Result<void> verifyRefill(const LoopSchedule &schedule, const CircularBuffer &circular) {
  for (Operation *op : {circular.copyAfter, circular.releaseAfter})
    if (op && op->getBlock() != schedule.body()) return Failure{"stages are filled or released outside the loop"};
  if (schedule.operandPlan.releaseAfter) return verifyEarlyRelease(schedule, circular);
  bool readsShifted = schedule.shiftedMma && circular.firstReader == schedule.shiftedMma;
  Point end = endOfReads(schedule, circular), release;
  if (schedule.warpSpecialized) {
    release = {(schedule.edges.empty() ? 0 : 1) - (readsShifted ? schedule.shift : 0), circular.releaseAfter};
  } else {
    if (circular.distance < 1) return Failure{"a copy is started after it is waited for"};
    if (readsShifted && circular.distance <= schedule.shift) return Failure{"a copy is started after the shifted MMA that reads it"};
    Point copy{schedule.stages - circular.distance, circular.copyAfter};
    release = {copy.iteration, circular.releaseAfter};
    if (copy < release) --release.iteration; // that of the iteration before
  }
  if (release < end) return Failure{"a stage is released while it is still being read"};
  return {};
}

/// True if the loop writes what the MMA reads to a buffer of one stage.
static bool readsSingleStage(const LoopSchedule &schedule, ttg::MmaAsyncOp mma) {
  llvm::SmallPtrSet<Operation *, 8> fillsStages(llvm::from_range, schedule.computed);
  for (const Copy &copy : schedule.copies())
    fillsStages.insert(copy.store);
  return llvm::any_of(mma.buffers(), [&](Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    return alloc && !llvm::all_of(writersIn(schedule.loop, alloc), [&](Operation *writer) { return fillsStages.contains(writer); });
  });
}

/// MMAs in flight: all of them until one place, the last of them, or a wait before it that drains one MMA.
static Result<void> verifyEdges(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  llvm::SmallPtrSet<Operation *, 4> inFlight;
  for (const MmaEdge &edge : schedule.edges) {
    auto mma = cast<ttg::MmaAsyncOp>(edge.op);
    if (mma->getBlock() != loop.getBody()) return Failure{"an MMA of an inner loop is in flight"};
    if (!inFlight.insert(mma).second) return Failure{"an MMA has two edges"};
    if (readsSingleStage(schedule, mma)) return Failure{"an MMA in flight reads a buffer of one stage"};
    if (!edge.until || edge.until->getBlock() != loop.getBody())
      return Failure{"the MMA in flight is not waited for in the next iteration"};
    auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(edge.until);
    if (!wait && (edge.until != schedule.edges.back().op || edge.until->isBeforeInBlock(mma)))
      return Failure{"MMAs in flight are not drained by the last of them"};
    bool isDrained = wait && drainingWaitIn(loop) == wait; // a step has split that MMA
    if (!isDrained && !accumulatesInPlace(mma, loop)) return Failure{"an iteration uses the result of its MMA in flight"};
    if (!wait) continue;
    if (schedule.edges.size() != 1) return Failure{"not exactly one MMA is in flight until a wait of the next iteration"};
    if (!isDrained && wait.getPending() != 0) return Failure{"the MMA in flight is not waited for in the next iteration"};
    if (!wait->isBeforeInBlock(mma)) return Failure{"a sum is added to before it is waited for"};
  }
  if (schedule.shiftedMma && !schedule.edges.empty()) return Failure{"an MMA is shifted while others are in flight"};
  return {};
}

/// The shifted MMA is one that the rewriting can shift: the first one of a chain, an iteration early; or with a producer the last one, an
/// iteration late, which two warp groups run alternately.
static Result<void> verifyShift(const LoopSchedule &schedule) {
  if (!schedule.shiftedMma) return {};
  if ((schedule.shift < 0) != schedule.warpSpecialized || schedule.operandPartition)
    return Failure{"an MMA is shifted for which the partitions of the loop are not made"};
  Result<ttg::MmaAsyncOp> first = firstOfChain(schedule);
  if (!first) return Failure{"no MMA can be shifted: " + first.error()};
  Operation *shiftable = schedule.shift > 0 ? *first : lastMmaIn(schedule.body());
  if (schedule.shiftedMma != shiftable) return Failure{"the shifted MMA is not the first one of its chain, or the last one"};
  auto isRead = [&](const CircularBuffer &circular) { return circular.tma && circular.firstReader == *first; };
  return llvm::any_of(schedule.circularBuffers, isRead) ? Result<void>() : Failure{"TMA does not copy what the shifted MMA reads"};
}

/// The copies can run ahead, and may continue in the enclosing loop, or those of an earlier loop, if the schedule says so.
static Result<void> verifyCopies(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  Operation *before = schedule.continues;
  bool mayContinue = schedule.warpSpecialized && !schedule.operandPartition && before && before->getBlock() == loop->getBlock();
  if (before && (!mayContinue || !before->isBeforeInBlock(loop))) return Failure{"no loop before it leaves circular buffers"};
  std::optional<GpuTarget> target = ttg::targetOf(loop);
  ttg::ConfigAttr config = ttg::configOf(loop->getParentOfType<tt::FuncOp>());
  for (const CircularBuffer &circular : schedule.circularBuffers)
    for (const Copy &copy : circular.copies)
      if (copy.multicast && !(schedule.warpSpecialized && multicastParts(circular, copy, config, schedule.paired)))
        return Failure{"the CTAs of a cluster share a copy, but not its tile"};
      else if (copy.multicast && std::max(copy.lifetime, ttg::AllocOp(copy.alloc).getLifetime()) == ttg::Lifetime::uses)
        return Failure{"other CTAs write a buffer whose bytes have another use"};
  for (const Copy &copy : schedule.copies())
    if (Result<void> valid = checkPrefetch(copy.load, copy.alloc, loop, target && target->cpAsync); !valid)
      return Failure{"a load cannot run ahead: " + valid.error()};
  if (!schedule.crossTile) return {};
  bool isPersistent = bool(schedule.warpSpecialized ? topLevelLoopAround(loop) : persistentLoop(schedule));
  return isPersistent ? Result<void>() : Failure{"the loop around it is not one over tiles"};
}

/// A warp that does not wait for a copy must not read it. A producer fills the buffers in one order.
static Result<void> verifyWarps(const LoopSchedule &schedule, const CircularBuffer &circular) {
  std::optional<GpuTarget> target = ttg::targetOf(schedule.loop);
  bool mayNotWait = circular.tma && !circular.threadsRead && target && target->tcgen05; // where one warp issues the MMAs
  if (circular.firstWarp && !mayNotWait) return Failure{"warps that do not wait for a copy read it"};
  if (!schedule.warpSpecialized) return {};
  if (!circular.tma) return Failure{"copies by threads have no producer"};
  for (const CircularBuffer &other : schedule.circularBuffers) {
    if (&other != &circular && other.fillOrder == circular.fillOrder) return Failure{"two buffers have the same order of copies"};
  }
  return {};
}

static Result<void> verifyCircularBuffers(const LoopSchedule &schedule) {
  if (schedule.stages < 2) return Failure{"a single stage cannot be filled while it is read"};
  if (schedule.stages > maxStages) return Failure{"an i32 does not hold the index of a stage"};
  if (schedule.circularBuffers.empty()) return Failure{"no load is prefetched"};
  for (auto rule : {verifyShift, verifyCopies})
    if (Result<void> valid = rule(schedule); !valid) return valid;
  const CircularBuffer *firstAsync = nullptr; // one commit and one wait serve all circular buffers by cp.async: a group an iteration
  for (const CircularBuffer &circular : schedule.circularBuffers) {
    if (Result<void> valid = verifyWarps(schedule, circular); !valid) return valid;
    if (!circular.tma) {
      if (!firstAsync) firstAsync = &circular;
      if (firstAsync->distance != circular.distance || firstAsync->copyAfter != circular.copyAfter)
        return Failure{"copies of different iterations are waited for together"};
    }
    if (Result<void> valid = verifyReaders(schedule, circular); !valid) return valid;
    if (Result<void> valid = verifyRefill(schedule, circular); !valid) return valid;
    if (schedule.warpSpecialized && !circular.releaseAfter)
      return Failure{"a stage that a producer fills is not released after an operation"};
  }
  return {};
}

/// A plan for an operand partition goes with the stores of that partition. Their buffers are as deep as those of the copies.
static Result<void> verifyOperandPartition(const LoopSchedule &schedule) {
  auto ofPartition = llvm::make_filter_range(schedule.body()->getOps<ttg::StoreSharedOp>(),
                                             [](ttg::StoreSharedOp store) { return ttg::partitionOf(store) == ttg::Partition::operands; });
  if (ofPartition.empty() == schedule.operandPartition) return Failure{"a partition has no plan, or a plan has no partition"};
  if (!llvm::all_of(ofPartition, [&](ttg::StoreSharedOp store) { return llvm::is_contained(schedule.computed, store); }))
    return Failure{"a partition stores an operand for which there is no buffer"};
  if (!schedule.operandPartition) return {};
  if (schedule.computedStages != schedule.stages)
    return Failure{"buffers of copies and of the operands that a partition computes differ in depth"};
  Operation *fence = firstFrom<ttg::FenceAsyncOp>(schedule.computed.back());
  if (!fence || ttg::partitionOf(fence) != ttg::Partition::operands ||
      !llvm::all_of(schedule.computed, [&](ttg::StoreSharedOp store) { return store->isBeforeInBlock(fence); }))
    return Failure{"no fence of the partition stands after the operands that it computes"};
  return {};
}

/// The partition fills a stage of a computed operand again after the MMAs that read it have finished.
static Result<void> verifyComputedRelease(const LoopSchedule &schedule) {
  if (schedule.circularBuffers.empty()) return Failure{"a partition computes an operand, but the loop copies nothing"};
  Operation *after = schedule.operandPlan.releaseAfter ? schedule.operandPlan.releaseAfter : schedule.circularBuffers.front().releaseAfter;
  if (!after || after->getBlock() != schedule.body()) return Failure{"stages of a computed operand are not released in the loop"};
  Point release{schedule.edges.empty() ? 0 : 1, after};
  for (ttg::StoreSharedOp store : schedule.computed)
    for (Operation *access : accessesOf(allocOf(store.getBuffer()))) {
      if (access == store) continue;
      Operation *last = endOfRead(access, access);
      if (!last && schedule.edges.empty()) return Failure{"an MMA is never waited for"};
      Point end = schedule.edges.empty() || !isa<ttg::MmaAsyncOp>(access) ? Point{0, last} : Point{1, schedule.edges.back().until};
      if (release < end) return Failure{"a stage of a computed operand is released while it is still being read"};
    }
  return {};
}

Result<void> verifyComputed(const LoopSchedule &schedule) {
  if (schedule.computed.empty()) return {};
  if (schedule.computedStages < 2) return Failure{"a single buffer of a computed operand cannot be filled while an MMA reads it"};
  if (schedule.computedStages > maxStages) return Failure{"an i32 does not hold the index of a stage"};
  for (ttg::StoreSharedOp store : schedule.computed)
    if (Result<void> valid = checkComputedOperand(store); !valid) return Failure{"a computed operand has no stages: " + valid.error()};
  if (!schedule.operandPartition) return schedule.edges.empty() ? Failure{"computed operands without MMAs in flight"} : Result<void>();
  if (!schedule.warpSpecialized) return Failure{"a partition computes an operand, but no producer copies for it"};
  return verifyComputedRelease(schedule);
}

Result<void> verify(const LoopSchedule &schedule) {
  Result<void> valid;
  for (tt::LoadOp load : schedule.registerLoads)
    if (valid = checkRegisterPrefetch(load, schedule.loop); !valid)
      return Failure{"a load to registers cannot run ahead: " + valid.error()};
  valid = verifyOperandPartition(schedule);
  bool copies = schedule.stages > 1 || !schedule.circularBuffers.empty();
  if (valid && (copies || !schedule.computed.empty())) valid = verifyEdges(schedule); // otherwise nothing stays in flight
  if (valid && copies) valid = verifyCircularBuffers(schedule);
  return valid ? verifyComputed(schedule) : valid;
}

} // namespace tilewright::gpu
