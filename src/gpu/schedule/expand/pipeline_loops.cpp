// An MMA waits for its operands, and TMA idles while it multiplies. Loads that only feed a buffer are made to run ahead:
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  start the copies of iterations 0 .. S-2 into stages of a circular buffer
//           scf.for %i { wait for stage i mod S    ttg.mma_async %stage    drain the previous MMA    start the copy of i + S-1 }
// Each circular buffer has one mbarrier a stage; stage and parity are carried, through loops around the loop, too, so that nothing is
// divided and barriers are initialized once. The attribute ttg.loop_schedule says what an iteration looks like. The parts of the rewriting
// are in files of their own (expansion.h).
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/entry_values.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/operation_ids.h"
#include "gpu/schedule/partitions/backward_slice.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/ttg/written_memory.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- one loop

/// An iteration in which the threads that multiply start the copies, too.
static FailureOr<ExpandedIteration> expandCopies(const Expansion &e) {
  // A persistent loop has started the first copies in its previous iteration.
  FailureOr<FirstCopies> copies = FirstCopies();
  if (e.schedule.crossTile) copies = copyFirstTile(e);
  if (failed(copies) || (!e.schedule.crossTile && failed(prologue(e)))) return failure();
  // In iteration i, the copies of iterations up to i - 1 + distance are under way. The copy of i + distance goes to the stage of iteration
  // i + distance - stages, which has been read where it stands (verify_schedule.cpp).
  Operation *end = takeStages(e), *drained = drainPrevious(e);
  FailureOr<Operation *> top = refill(e, waitForOwnCopies(e, end), drained);
  if (failed(top) || (e.schedule.crossTile && failed(copyNextTile(e, *copies)))) return failure();
  return ExpandedIteration{*top, waitForArrivals(e)};
}

namespace {
struct ExpandedLoop {
  scf::ForOp loop;
  StageState after; ///< of the iteration after the last one
};
} // namespace

/// A loop that goes through its iterations in two parts (two_stage_pipeline.cpp) has one iteration less: the producer gets a loop of its
/// own.
static FailureOr<ExpandedLoop> pipelineStages(const Expansion &e) {
  scf::ForOp loop = e.schedule.loop;
  OpBuilder b(loop);
  auto copies = BackwardSlice::ofWarp(loop->getParentOp());
  SmallVector<Operation *> work;
  loop.walk([&](Operation *op) {
    if (ttg::partitionOf(op) != ttg::Partition::producer) return;
    copies.keep(op);
    work.push_back(op);
  });
  IRMapping map;
  ttg::setPartition(copies.clone(loop, b, map), ttg::Partition::producer);
  for (Operation *op : work)
    op->erase();
  // So that neither needs the other's loop, where the circular buffer goes on follows from the number of iterations.
  StageState after = e.first.after(b, e.loc(), LoopIterations(loop).count(b, 2 * e.schedule.stages));
  FailureOr<scf::ForOp> pipelined = pipelineTwoStages(loop);
  if (failed(pipelined)) return failure();
  return ExpandedLoop{*pipelined, after};
}

/// Lets the loop carry the next iteration's stage, and shifts an MMA. Both may replace the loop: nothing uses `e` after them.
static FailureOr<ExpandedLoop> advance(const Expansion &e, const ExpandedIteration &iteration) {
  scf::ForOp loop = e.schedule.loop;
  OpBuilder b(loop.getBody()->getTerminator());
  if (e.schedule.shiftedMma) b.setInsertionPointAfter(iteration.top);
  StageState next = e.stage.next(b, e.loc());
  appendYielded(loop, next.values());
  if (e.schedule.shift < 0) return pipelineStages(e);
  size_t results = loop.getNumResults();
  if (e.schedule.shift > 0) loop = prefetchMma(e.schedule, iteration.shiftedArrival, e.first, next);
  b.setInsertionPointAfter(loop);
  if (hasAsyncCopies(e.schedule)) ttg::CopyWaitOp::create(b, loop.getLoc(), 0); // zeros that were copied for iterations that are none
  StageState after(loop.getResults().take_front(results).take_back(2), e.schedule.stages);
  bool releases = e.schedule.warpSpecialized && !e.schedule.edges.empty(); // then no MMA is shifted
  if (releases && failed(releaseLast(e, after))) return failure();
  return ExpandedLoop{loop, after};
}

/// Runs the loop's loads to registers an iteration ahead, and fences what the consumers read of copies, where the schedule has it. A fence
/// waits for loads that were issued before it, so they stand after it.
static void prefetchAroundPartition(LoopSchedule &schedule) {
  Block *body = schedule.loop.getBody();
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  Operation *lastRead = lastConsumerRead(schedule), *first = *body->getOps<ttg::MmaAsyncOp>().begin(), *fence = nullptr;
  if (lastRead) {
    bool early = schedule.operandPlan.fencesEarly;
    OpBuilder b(body, early ? std::next(lastRead->getIterator()) : firstReaderOfComputed(schedule)->getIterator());
    ttg::FenceAsyncOp::create(b, lastRead->getLoc());
    if (early) fence = ptx::WarpBarrierOp::create(b, lastRead->getLoc()); // no load passes it; ptxas moves one past a fence
  }
  prefetchRegisterLoads(schedule, [&](tt::LoadOp load) { return fence && !ofPartition.contains(load) ? fence : first; });
}

//===------------------------------------------------------------------------------------------------------------- all loops

namespace {

class Pipeliner {
public:
  Pipeliner(tt::FuncOp function, ttg::ConfigAttr config) : function(function), config(config) {}

  LogicalResult run() {
    if (failed(waitLateForStores())) return failure();
    SmallVector<Operation *> ends; // of loops, inner ones first: rewriting a loop replaces the loops around it, but not their terminators
    function.walk([&](scf::ForOp loop) {
      if (loop->hasAttr(ttg::loopScheduleName) && loop->hasAttr(ttg::idName)) ends.push_back(loop.getBody()->getTerminator());
    });
    for (Operation *end : ends)
      if (failed(pipelineLoop(cast<scf::ForOp>(end->getParentOp())))) return failure();
    function.walk([](Operation *op) { op->removeAttr(ttg::idName); });
    ttg::eraseDead(function);
    return success();
  }

private:
  /// What a loop with a producer leaves for one after it with the same tiles: the producer fills the stages for the second one's first
  /// iterations while the first one's last iterations are computed.
  struct LeftBuffers {
    LoopBuffers buffers;
    StageState state; // of the next iteration
  };

  LogicalResult pipelineLoop(scf::ForOp loop) {
    FailureOr<LoopSchedule> schedule = readSchedule(loop);
    if (failed(schedule)) return failure();
    if (Result<void> valid = verify(*schedule); !valid) return loop.emitError("its schedule is invalid: ") << valid.error();
    assumeUnwritten(*schedule);
    overlapOperands(*schedule);
    return schedule->stages > 1 ? expand(*schedule) : success();
  }

  /// Records the launch guards under which the loop does not write what its loads read in an earlier iteration than their own.
  void assumeUnwritten(const LoopSchedule &schedule) {
    SmallVector<tt::LoadOp> loads = schedule.registerLoads;
    SmallVector<Value> addresses;
    for (const Copy &copy : schedule.copies()) {
      if (auto load = dyn_cast<tt::LoadOp>(copy.load)) loads.push_back(load);
      llvm::append_range(addresses, copy.load->getOperands());
    }
    for (tt::LoadOp load : schedule.registerLoads)
      llvm::append_range(addresses, load->getOperands());
    llvm::append_range(loads, LoopIterations(schedule.loop).loads(addresses));
    for (tt::LoadOp load : loads)
      ttg::relyOn(function, *ttg::unwrittenGuards(load, schedule.loop));
  }

  LogicalResult waitLateForStores() {
    WalkResult walk = function.walk([&](scf::ForOp loop) {
      auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
      if (!made || !made.getStoresInFlight()) return WalkResult::advance();
      std::optional<LaunchGuards> guards = LaunchGuards();
      if (made.getStoresPerWarpGroup()) guards = perWarpGroupGuards(loop);
      if (!guards) {
        loop.emitError("its schedule is invalid: a warp group does not store rows that it alone holds");
        return WalkResult::interrupt();
      }
      ttg::relyOn(function, *guards);
      keepStoresInFlight(loop, made.getStoresPerWarpGroup());
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  /// MMAs of operands that threads compute stay in flight while the next iteration's are computed, or at least loaded.
  void overlapOperands(LoopSchedule &schedule) {
    bool computes = !schedule.computed.empty();
    if (computes && !schedule.operandPartition) multiBuffer(schedule);
    if (computes) markInterleavedStores(schedule);
    if (schedule.operandPartition) return prefetchAroundPartition(schedule);
    prefetchRegisterLoads(schedule);
    if (computes && schedule.circularBuffers.empty()) keepInFlight(schedule.loop, schedule.edges);
  }

  LogicalResult expand(LoopSchedule &schedule) {
    int64_t id = idOf(schedule.loop);
    FailureOr<LeftBuffers> done = schedule.continues ? continueBuffers(schedule) : startBuffers(schedule);
    if (failed(done)) return failure();
    left[id] = std::move(*done);
    return success();
  }

  /// Rewrites a loop with these buffers. `first`: the state of its first iteration. Returns that of the iteration after the last one.
  FailureOr<StageState> expand(LoopSchedule &schedule, const LoopBuffers &buffers, const StageState &first) {
    SmallVector<LaterScalar> scalars;
    if (!schedule.warpSpecialized) scalars = carryForCopies(schedule); // a producer runs ahead itself
    schedule.loop = withMoreCarried(schedule.loop, first.values());
    StageState stage(schedule.loop.getRegionIterArgs().take_back(2), schedule.stages);
    Expansion e{function, config, schedule, buffers, first, stage, scalars};
    FailureOr<ExpandedIteration> iteration = schedule.warpSpecialized ? expandPartitions(e) : expandCopies(e);
    if (failed(iteration)) return failure();
    FailureOr<ExpandedLoop> expanded = advance(e, *iteration);
    if (failed(expanded)) return failure();
    schedule.loop = expanded->loop;
    return expanded->after;
  }

  /// Expands a loop whose circular buffers start with the first stage in the kernel, or in each of its runs if only threads fill them.
  FailureOr<LeftBuffers> startBuffers(LoopSchedule &schedule) {
    LeftBuffers made;
    LogicalResult done = success();
    auto expandFrom = [&](ValueRange state) -> SmallVector<Value> {
      made.state = StageState(state, schedule.stages);
      made.buffers = allocateBuffers(function, config, schedule);
      FailureOr<StageState> after = expand(schedule, made.buffers, made.state);
      if (succeeded(after)) made.state = *after;
      done = failure(failed(after));
      return made.state.values();
    };
    Value zero = entryConstant(function, 0);
    bool tma = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; });
    if (!tma) {
      expandFrom({zero, zero});
      return failed(done) ? FailureOr<LeftBuffers>() : made;
    }
    Location loc = schedule.loop.getLoc();
    FailureOr<SmallVector<Value>> after = carryState(schedule.loop, {zero, zero}, expandFrom);
    if (failed(after) || failed(done)) return failure();
    if (schedule.warpSpecialized && config.getCtas() != 1)
      finalWaits.insert_range(outlastArrivals(function, loc, made.buffers, StageState(*after, schedule.stages)));
    return made;
  }

  /// Expands a loop that goes on with the circular buffers of an earlier one.
  FailureOr<LeftBuffers> continueBuffers(LoopSchedule &schedule) {
    auto before = left.extract(idOf(schedule.continues)); // another loop continues with this one's
    if (!before || !before.mapped().buffers.fit(schedule, config))
      return schedule.loop.emitError("its schedule is invalid: the loop before it does not leave such circular buffers");
    LeftBuffers own = std::move(before.mapped());
    FailureOr<StageState> after = expand(schedule, own.buffers, own.state);
    if (failed(after)) return failure();
    Operation *end = schedule.loop->getBlock()->getTerminator(); // of a loop over tiles: the next one begins where this one ends
    for (auto [old, now] : llvm::zip(own.state.values(), after->values()))
      old.replaceUsesWithIf(now, [&](OpOperand &use) { return use.getOwner() == end || finalWaits.contains(use.getOwner()); });
    own.state = *after;
    return own;
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  std::map<int64_t, LeftBuffers> left; // by the loop's number
  DenseSet<Operation *> finalWaits;    // at the kernel's end, until the other CTAs have read all stages
};

} // namespace

LogicalResult pipelineLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) { return Pipeliner(function, config).run(); });
}

} // namespace tilewright::gpu
