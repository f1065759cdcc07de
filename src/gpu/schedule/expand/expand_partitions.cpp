// A loop whose copies have a producer. The producer goes through the iterations on its own, so nothing starts before the loop. A stage's
// first use finds it empty: a fresh barrier has completed the phase of parity 1.
//   before: for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  for %i { wait: stage is empty (producer)    start copy (producer)    wait: stage is full    ttg.mma_async %stage ... wait
//                    arrive: stage is empty }
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// In iteration i the producer fills stage i mod stages, once all have read what iteration i - stages had there: one circular buffer after
/// the other, as soon as the addresses are known.
static LogicalResult fillByProducer(const Expansion &e, Operation *top) {
  OpBuilder b = e.builder();
  ArrayRef<CircularBuffer> buffers = e.schedule.circularBuffers;
  auto order = llvm::to_vector(llvm::seq<size_t>(buffers.size()));
  llvm::sort(order, [&](size_t x, size_t y) { return buffers[x].fillOrder < buffers[y].fillOrder; });
  Value firstEmpty = e.buffers.ofCopies[order.front()].empty;
  b.setInsertionPointAfter(top);
  Value before = e.stage.previousParity(b, e.loc());
  e.assignToProducer(ttg::BarrierWaitOp::create(b, e.loc(), firstEmpty, e.stage.index, before));
  Operation *filled = nullptr; // the last operation for the circular buffers so far
  for (size_t index : order) {
    b.setInsertionPoint(buffers[index].lastLoad());
    if (filled && !filled->isBeforeInBlock(buffers[index].lastLoad())) b.setInsertionPointAfter(filled);
    Value empty = e.buffers.ofCopies[index].empty;
    if (empty != firstEmpty) e.assignToProducer(ttg::BarrierWaitOp::create(b, e.loc(), empty, e.stage.index, before));
    FailureOr<SmallVector<Operation *>> started = issueCopies(e, b, index, buffers[index].operands(), e.stage.index, Value());
    if (failed(started)) return failure();
    filled = started->back();
  }
  return success();
}

/// Says that this warp has read a stage: to the producers of all CTAs, which fill it.
static void arrive(const Expansion &e, OpBuilder &b, Value empty, bool firstWarp, Value stageIndex, Value exists) {
  ttg::BarrierArriveOp::create(b, e.loc(), empty, stageIndex, exists, /*inAllCtas=*/e.config.getCtas() != 1, firstWarp);
}

/// True if a fence stands between the reads of the buffer's stages and their release: TMA writes where threads read. An operand partition
/// and its consumers have fences of their own.
static bool needsFence(const Expansion &e, const CircularBuffer &circular) {
  return circular.threadsRead && !e.schedule.operandPartition;
}

namespace {
/// Where the stages are released whose readers arrive at the same mbarriers.
struct Release {
  Value empty;
  bool firstWarp = false;     ///< of the consumers, only the first warp arrives
  Operation *after = nullptr; ///< the last release of their circular buffers
  bool fence = false;
};
} // namespace

/// Releases this iteration's stages of copies that the consumers only read to registers: after the fence that follows their last read.
static LogicalResult releaseCopiesEarly(const Expansion &e, const Release &release) {
  Operation *lastRead = release.after, *fence = firstFrom<ttg::FenceAsyncOp>(lastRead);
  while (fence && ttg::partitionOf(fence) == ttg::Partition::operands)
    fence = firstFrom<ttg::FenceAsyncOp>(fence->getNextNode());
  if (!fence) return bug(lastRead, "no fence of the consumers stands between it and the release of its stage");
  OpBuilder b = e.builder();
  b.setInsertionPointAfter(fence);
  arrive(e, b, release.empty, release.firstWarp, e.stage.index, Value());
  return success();
}

/// Returns the releases of copies, the first one in an iteration first.
static SmallVector<Release> releasesOfCopies(const Expansion &e) {
  SmallVector<Release> releases;
  for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.buffers.ofCopies)) {
    Release *own = llvm::find_if(releases, [&](const Release &release) { return release.empty == stageBuffers.empty; });
    if (own == releases.end()) own = &releases.emplace_back(Release{stageBuffers.empty, stageBuffers.firstWarp, circular.releaseAfter});
    if (own->after->isBeforeInBlock(circular.releaseAfter)) own->after = circular.releaseAfter;
    own->fence |= needsFence(e, circular);
  }
  llvm::sort(releases, [](const Release &x, const Release &y) { return x.after->isBeforeInBlock(y.after); });
  return releases;
}

/// Where an iteration has read its stages, or those of the previous one if MMAs stay in flight, the warp arrives at their empty barriers.
/// Operands that a partition computes may have empty barriers of their own. Then those of the copies are released earlier.
static LogicalResult release(const Expansion &e) {
  SmallVector<Release> releases = releasesOfCopies(e);
  if (Operation *ofComputed = e.schedule.operandPlan.releaseAfter) {
    for (const Release &release : releases)
      if (failed(releaseCopiesEarly(e, release))) return failure();
    releases = {Release{e.buffers.computedEmpty, false, ofComputed}};
  }
  Operation *drained = drainPrevious(e), *last = nullptr;
  OpBuilder b = e.builder();
  Value stageIndex = e.stage.index, exists;
  for (const Release &release : releases) {
    if (release.after != last) b.setInsertionPointAfter(e.positionOf(release.after, drained));
    if (!last && !e.schedule.edges.empty()) {
      scf::ForOp loop = e.schedule.loop;
      stageIndex = e.stage.indexAfter(b, e.loc(), -1);
      exists = arith::CmpIOp::create(b, e.loc(), arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    }
    auto isHere = [&](const Release &other) { return other.after == release.after && other.fence; };
    if (release.after != last && llvm::any_of(releases, isHere)) ttg::FenceAsyncOp::create(b, e.loc());
    arrive(e, b, release.empty, release.firstWarp, stageIndex, exists);
    last = release.after;
  }
  return success();
}

FailureOr<ExpandedIteration> expandPartitions(const Expansion &e) {
  Operation *top = takeStages(e);
  if (failed(fillByProducer(e, top)) || failed(release(e))) return failure();
  if (e.schedule.operandPartition) {
    llvm::MapVector<Value, bool> empty = e.buffers.empty();
    PartitionBarriers barriers{llvm::to_vector(llvm::make_first_range(empty)), e.buffers.computedFull, e.buffers.computedEmpty};
    if (failed(fillByPartition(e.schedule, e.stage, barriers))) return failure();
  }
  waitForArrivals(e);
  return ExpandedIteration{top};
}

LogicalResult releaseLast(const Expansion &e, const StageState &after) {
  FailureOr<ttg::MmaAsyncWaitOp> drain = drainAfter(e.schedule.loop);
  if (failed(drain)) return failure();
  OpBuilder b = e.builder();
  b.setInsertionPointAfter(*drain);
  Value stageIndex = after.indexAfter(b, e.loc(), -1);
  auto fences = [&](const CircularBuffer &circular) { return needsFence(e, circular); };
  if (llvm::any_of(e.schedule.circularBuffers, fences)) ttg::FenceAsyncOp::create(b, e.loc());
  auto unreleased = e.buffers.empty().takeVector();
  if (e.buffers.computedEmpty) unreleased = {{e.buffers.computedEmpty, false}}; // the copies have been released
  for (auto [empty, firstWarp] : unreleased)
    arrive(e, b, empty, firstWarp, stageIndex, LoopIterations(e.schedule.loop).existsIteration(b, 0));
  return success();
}

SmallVector<Operation *> outlastArrivals(tt::FuncOp function, Location loc, const LoopBuffers &buffers, const StageState &after) {
  Operation *end = function.getBody().front().getTerminator(), *before = end->getPrevNode();
  OpBuilder b(end);
  StageState filled(after.index, after.previousParity(b, loc), after.stages);
  for (int64_t iteration = 0; iteration < after.stages; ++iteration) {
    for (auto [empty, firstWarp] : buffers.empty())
      ttg::setPartition(ttg::BarrierWaitOp::create(b, loc, empty, filled.index, filled.parity), ttg::Partition::producer);
    filled = filled.next(b, loc);
  }
  return llvm::to_vector(llvm::make_pointer_range(llvm::make_range(std::next(before->getIterator()), end->getIterator())));
}

} // namespace tilewright::gpu
