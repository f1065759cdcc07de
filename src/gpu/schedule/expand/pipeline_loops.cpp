// An MMA waits for its operands, and TMA idles while it multiplies. Loads that only feed a buffer are made to run ahead:
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  start the copies of iterations 0 .. S-2 into stages of a circular buffer
//           scf.for %i { wait for stage i mod S    ttg.mma_async %stage    drain the previous MMA    start the copy of i + S-1 }
// Each circular buffer has one mbarrier a stage; stage and parity are carried, through loops around the loop, too, so that nothing is
// divided and barriers are initialized once. The attribute ttg.loop_schedule says what an iteration looks like. The parts of the rewriting
// are in files of their own (expansion.h).
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/expand/multi_buffer.h"
#include "gpu/schedule/expand/per_warp_group_store.h"
#include "gpu/schedule/expand/prefetch_mma.h"
#include "gpu/schedule/expand/register_loads.h"
#include "gpu/schedule/expand/two_stage_pipeline.h"
#include "gpu/schedule/expand/verify_schedule.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/operation_ids.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/partitions/skeleton.h"
#include "gpu/ttg/copied_boxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- one loop

/// A loop that goes through its iterations in two parts (two_stage_pipeline.cpp) has one iteration less: the producer gets a loop of its
/// own. `state` becomes that of the iteration after the last one.
static LogicalResult pipelineStages(Expansion &e, StageState &state) {
  OpBuilder &b = e.b;
  scf::ForOp loop = e.schedule.loop;
  b.setInsertionPoint(loop);
  Skeleton copies(loop->getParentOp());
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
  state = state.after(b, e.loc, LoopIterations(loop).count(b, 2 * e.stages));
  FailureOr<scf::ForOp> pipelined = pipelineTwoStages(loop, *loop.getBody()->getOps<ttg::MmaAsyncOp>().begin());
  if (failed(pipelined)) return failure();
  e.schedule.loop = *pipelined;
  b.setInsertionPointAfter(e.schedule.loop);
  return success();
}

/// Runs the loop's loads to registers an iteration ahead, and fences what the consumers read of copies, where the schedule has it. A fence
/// waits for loads that were issued before it, so they stand after it.
static void prefetchAroundPartition(LoopSchedule &schedule) {
  Block *body = schedule.loop.getBody();
  llvm::SetVector<Operation *> ofPartition = operandPartitionOf(schedule);
  Operation *lastRead = lastConsumerRead(schedule), *first = *body->getOps<ttg::MmaAsyncOp>().begin(), *fence = nullptr;
  if (lastRead) {
    OpBuilder b(body,
                schedule.operandPlan->fencesEarly ? std::next(lastRead->getIterator()) : firstReaderOfComputed(schedule)->getIterator());
    ttg::FenceAsyncOp::create(b, lastRead->getLoc());
    if (schedule.operandPlan->fencesEarly)
      fence = ptx::WarpBarrierOp::create(b, lastRead->getLoc()); // no load passes it; ptxas moves one past a fence
  }
  prefetchRegisterLoads(schedule, [&](tt::LoadOp load) { return fence && !ofPartition.contains(load) ? fence : first; });
}

/// The next iteration's stage. `state` becomes that of the iteration after the last one.
static LogicalResult advance(Expansion &e, StageState &state) {
  OpBuilder &b = e.b;
  scf::ForOp loop = e.schedule.loop;
  Operation *yield = loop.getBody()->getTerminator();
  b.setInsertionPoint(yield);
  if (e.schedule.shiftedMma) b.setInsertionPointAfter(e.top);
  StageState next = e.stage.next(b, e.loc);
  yield->insertOperands(yield->getNumOperands(), next.values());
  if (e.schedule.shift < 0) return pipelineStages(e, state);
  if (e.schedule.shift > 0) loop = e.schedule.loop = prefetchMma(e.schedule, e.arrival, state, next);
  ResultRange results = loop.getResults();
  state = StageState((e.schedule.shift > 0 ? results.drop_back() : results).take_back(2), e.stages);
  b.setInsertionPointAfter(loop);
  if (e.copyAsync) ttg::CopyWaitOp::create(b, e.loc, 0); // zeros that were copied for iterations that are none
  return success();
}

/// A loop in which the threads that multiply start the copies, too.
static LogicalResult expandCopies(Expansion &e, const StageState &first) {
  // A persistent loop has started the first copies in its previous iteration.
  FailureOr<FirstCopies> copies;
  if (e.schedule.crossTile) copies = copyFirstTile(e);
  if (e.schedule.crossTile ? failed(copies) : failed(prologue(e, first))) return failure();
  // The copies of iterations 0 .. distance-1 are under way, iteration t's to stage first + t; the loop begins.
  carryStage(e, first);
  takeStages(e);
  // In iteration i every reader reads stage i mod stages. The copies of iteration i + distance go to the stage of iteration
  // i + distance - stages, which has been read where they stand.
  e.drained = drainPrevious(e);
  waitForOwnCopies(e);
  if (failed(refill(e))) return failure();
  if (e.schedule.crossTile && failed(copyNextTile(e, *copies))) return failure();
  // Iteration i + 1 finds the copies of iterations up to i + distance under way, as iteration i found those up to i - 1 + distance. Every
  // reader stands after the wait for its stage's copy, so no copy is in flight after the loop. The loads themselves are gone.
  waitForArrivals(e);
  return success();
}

//===------------------------------------------------------------------------------------------------------------- all loops

namespace {

class Pipeliner {
public:
  Pipeliner(tt::FuncOp function, ttg::ConfigAttr config) : function(function), config(config) {}

  LogicalResult run() {
    if (failed(keepStoresInFlight())) return failure();
    llvm::SmallDenseSet<Attribute> done; // by loop id: rewriting a loop replaces the loops around it
    while (scf::ForOp loop = nextLoop(done))
      if (failed(pipelineLoop(loop))) return failure();
    function.walk([](Operation *op) { op->removeAttr(ttg::idName); });
    ttg::eraseDead(function);
    return success();
  }

private:
  /// What a loop with a producer leaves for one after it with the same tiles: the producer fills the stages for the second one's first
  /// iterations while the first one's last iterations are computed.
  struct LeftBuffers {
    std::vector<StageBuffers> stageBuffers; // of each circular buffer
    StageState state;                       // of the next iteration
    bool firstWarp;                         // Expansion::firstWarp

    /// True if they are like those that the schedule needs.
    bool fit(const LoopSchedule &schedule) const {
      auto fitsCopy = [&](Value buffer, Copy copy) {
        bool isSame = buffer.getType() == withDepth(copy.alloc.getType(), schedule.stages);
        return isSame && buffer.getDefiningOp<ttg::AllocOp>().getCopiedExtent() == ttg::AllocOp(copy.alloc).getCopiedExtent();
      };
      auto fits = [&](const StageBuffers &own, const CircularBuffer &circular) {
        return own.empty && llvm::equal(own.buffers, circular.copies, fitsCopy);
      };
      bool isSame = firstWarp == schedule.circularBuffers.front().firstWarp;
      return isSame && llvm::equal(stageBuffers, schedule.circularBuffers, fits);
    }
  };

  /// The next loop with a schedule, inner ones first.
  scf::ForOp nextLoop(llvm::SmallDenseSet<Attribute> &done) {
    scf::ForOp next;
    function.walk([&](scf::ForOp loop) {
      Attribute id = loop->getAttr(ttg::idName);
      if (!id || !loop->hasAttr(ttg::loopScheduleName) || !done.insert(id).second) return WalkResult::advance();
      next = loop;
      return WalkResult::interrupt();
    });
    return next;
  }

  LogicalResult pipelineLoop(scf::ForOp loop) {
    FailureOr<LoopSchedule> schedule = readSchedule(loop);
    if (failed(schedule)) return failure();
    if (Result<void> valid = verify(*schedule); !valid) return loop.emitError("its schedule is invalid: ") << valid.error();
    if (failed(assumeUnwritten(*schedule))) return failure();
    overlapOperands(*schedule);
    return schedule->stages > 1 ? expand(*schedule) : success();
  }

  /// Records the launch guards under which the loop does not write what its loads read in an earlier iteration than their own.
  LogicalResult assumeUnwritten(const LoopSchedule &schedule) {
    SmallVector<tt::LoadOp> loads;
    for (const Copy &copy : schedule.copies())
      if (auto load = dyn_cast<tt::LoadOp>(copy.load)) loads.push_back(load);
    llvm::append_range(loads, schedule.registerLoads);
    for (tt::LoadOp load : loads) {
      std::optional<LaunchGuards> guards = noWriteGuards(load, schedule.loop);
      if (!guards) return load.emitError("its schedule is invalid: the loop may write what the load reads in an earlier iteration");
      ttg::relyOn(function, *guards);
    }
    return success();
  }

  LogicalResult keepStoresInFlight() {
    WalkResult walk = function.walk([](scf::ForOp loop) {
      auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
      if (!made || !made.getStoresInFlight()) return WalkResult::advance();
      if (made.getStoresPerWarpGroup() && !canStorePerWarpGroup(loop)) {
        loop.emitError("its schedule is invalid: a warp group does not store rows that it alone holds");
        return WalkResult::interrupt();
      }
      letStoresRun(loop);
      if (made.getStoresPerWarpGroup()) storePerWarpGroup(loop);
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  /// MMAs of operands that threads compute stay in flight while the next iteration's are computed, or at least loaded.
  void overlapOperands(LoopSchedule &schedule) {
    bool computes = !schedule.computed.empty();
    if (computes && !schedule.operandPlan) multiBuffer(schedule);
    if (computes) markInterleavedStores(schedule);
    if (schedule.operandPlan) return prefetchAroundPartition(schedule);
    prefetchRegisterLoads(schedule);
    if (computes && schedule.circularBuffers.empty()) keepInFlight(schedule.loop, schedule.edges);
  }

  /// `state`: of the first iteration, then of the one after the last.
  static LogicalResult expand(Expansion &e, StageState &state) {
    if (!e.schedule.continues) allocateStages(e);
    if (failed(e.schedule.warpSpecialized ? expandPartitions(e, state) : expandCopies(e, state)) || failed(advance(e, state)))
      return failure();
    return e.schedule.warpSpecialized && !e.schedule.edges.empty() ? releaseLast(e, state) : success();
  }

  LogicalResult expand(LoopSchedule &schedule) {
    int64_t id = idOf(schedule.loop);
    Expansion e(function, config, schedule);
    StageState state;
    auto done = schedule.continues ? continueBuffers(e, state) : startBuffers(e, state);
    left[id] = {e.stageBuffers, state, e.firstWarp};
    return done;
  }

  /// Expands a loop whose circular buffers start with the first stage in the kernel, or in each of its runs if only threads fill them.
  LogicalResult startBuffers(Expansion &e, StageState &state) {
    Value zero = entryConstant(function, 0);
    state = StageState(zero, zero, e.stages);
    bool tma = llvm::any_of(e.schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; });
    if (!tma) return expand(e, state);
    LogicalResult done = success();
    FailureOr<SmallVector<Value>> after = carryState(e.schedule.loop, state.values(), [&](ValueRange carried) {
      state = StageState(carried, e.stages);
      done = expand(e, state);
      return state.values();
    });
    if (failed(after) || failed(done)) return failure();
    if (e.schedule.warpSpecialized && config.getCtas() != 1) outlastArrivals(e, StageState(*after, e.stages), finalWaits);
    return success();
  }

  /// Expands a loop that goes on with the circular buffers of an earlier one.
  LogicalResult continueBuffers(Expansion &e, StageState &state) {
    auto before = left.find(idOf(e.schedule.continues));
    if (before == left.end() || !before->second.fit(e.schedule))
      return e.schedule.loop.emitError("its schedule is invalid: the loop before it does not leave such circular buffers");
    e.stageBuffers = before->second.stageBuffers;
    StageState first = state = before->second.state;
    if (failed(expand(e, state))) return failure();
    Operation *end = e.schedule.loop->getBlock()->getTerminator(); // of a loop over tiles: the next one begins where this one ends
    for (auto [old, now] : llvm::zip(first.values(), state.values()))
      old.replaceUsesWithIf(now, [&](OpOperand &use) { return use.getOwner() == end || finalWaits.contains(use.getOwner()); });
    return success();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  DenseMap<int64_t, LeftBuffers> left; // by the loop's number
  DenseSet<Operation *> finalWaits;    // at the kernel's end, until the other CTAs have read all stages
};

} // namespace

LogicalResult pipelineLoops(tt::FuncOp function, ttg::ConfigAttr config) {
  return Pipeliner(function, config).run();
}

LogicalResult pipelineLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) { return pipelineLoops(function, config); });
}

} // namespace tilewright::gpu
