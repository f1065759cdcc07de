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
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/partitions/skeleton.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- one loop

/// A loop that goes through its iterations in two parts (two_stage_pipeline.cpp) has one iteration less: the producer gets a loop of its
/// own. `state` becomes that of the iteration after the last one.
static LogicalResult pipelineStages(Expansion &e, SmallVector<Value> &state) {
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
  auto i32 = [&](int64_t value) { return arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); };
  Value rounds = LoopIterations(loop).count(b, 2 * e.stages);
  Value total = arith::AddIOp::create(b, e.loc, state[0], rounds), stages = i32(e.stages);
  Value flips = arith::AndIOp::create(b, e.loc, arith::DivUIOp::create(b, e.loc, total, stages), i32(1));
  state = {arith::RemUIOp::create(b, e.loc, total, stages), arith::XOrIOp::create(b, e.loc, state[1], flips)};
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
static LogicalResult advance(Expansion &e, ttg::BarrierWaitOp arrival, SmallVector<Value> &state) {
  OpBuilder &b = e.b;
  scf::ForOp loop = e.schedule.loop;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  b.setInsertionPoint(yield);
  if (e.schedule.shiftedMma) b.setInsertionPointAfter(e.top);
  auto [nextStage, nextParity] = stageAfter(b, e.loc, e.stageIndex, e.parity, e.stages);
  yield->insertOperands(yield->getNumOperands(), {nextStage, nextParity});
  if (e.schedule.shift < 0) return pipelineStages(e, state);
  if (e.schedule.shift > 0) {
    loop = e.schedule.loop = prefetchMma(e.schedule, arrival, state, {nextStage, nextParity}, nextParity.getDefiningOp());
    state = SmallVector<Value>(loop->getResults().drop_back().take_back(2));
  } else {
    state = SmallVector<Value>(loop->getResults().take_back(2));
  }
  b.setInsertionPointAfter(loop);
  if (e.copyAsync) ttg::CopyWaitOp::create(b, e.loc, 0); // zeros that were copied for iterations that are none
  return success();
}

/// A loop in which the threads that multiply start the copies, too.
static FailureOr<ttg::BarrierWaitOp> expandCopies(Expansion &e, ArrayRef<Value> state) {
  // A persistent loop has started the first copies in its previous iteration.
  FailureOr<FirstCopies> copies;
  if (e.schedule.crossTile) copies = copyFirstTile(e);
  if (e.schedule.crossTile ? failed(copies) : failed(prologue(e, state[0]))) return failure();
  // The copies of iterations 0 .. distance-1 are under way, iteration t's to stage state[0] + t; the loop begins.
  carryStage(e, state);
  takeStages(e);
  // In iteration i every reader reads stage i mod stages. The copies of iteration i + distance go to the stage of iteration
  // i + distance - stages, which has been read where they stand.
  e.drained = drainPrevious(e);
  waitForOwnCopies(e);
  if (failed(refill(e))) return failure();
  if (e.schedule.crossTile && failed(copyNextTile(e, *copies))) return failure();
  // Iteration i + 1 finds the copies of iterations up to i + distance under way, as iteration i found those up to i - 1 + distance. Every
  // reader stands after the wait for its stage's copy, so no copy is in flight after the loop. The loads themselves are gone.
  return waitForArrivals(e);
}

//===------------------------------------------------------------------------------------------------------------- all loops

namespace {

class Pipeliner {
public:
  Pipeliner(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) : function(function), config(config), target(target) {}

  LogicalResult run() {
    keepStoresInFlight();
    firstWarp = target.tcgen05 && onlyMmasRead();
    llvm::SmallDenseSet<Attribute> done; // by loop id: rewriting a loop replaces the loops around it
    while (scf::ForOp loop = nextLoop(done))
      if (failed(pipelineLoop(loop))) return failure();
    function.walk([](Operation *op) { op->removeAttr(ttg::idName); });
    ttg::eraseDead(function);
    return success();
  }

private:
  /// What a loop at the top of a kernel has left for one after it with the same tiles: the producer fills the stages for the second one's
  /// first iterations while the first one's last iterations are computed.
  struct LeftBuffers {
    std::vector<StageBuffers> stageBuffers; // of each circular buffer
    SmallVector<Value> state;               // stage and parity of the next iteration
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

  /// True if nothing but MMAs reads the circular buffers of all loops. If one warp issues the MMAs, others need not wait for their
  /// operands. They must not release a stage then, because nothing keeps them from being far ahead.
  bool onlyMmasRead() {
    bool all = true;
    function.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(ttg::loopScheduleName)) return;
      FailureOr<LoopSchedule> schedule = readSchedule(loop);
      all &= succeeded(schedule) && llvm::all_of(schedule->circularBuffers,
                                                 [](const CircularBuffer &circular) { return circular.mmasRead && !circular.threadsRead; });
    });
    return all;
  }

  LogicalResult pipelineLoop(scf::ForOp loop) {
    FailureOr<LoopSchedule> schedule = readSchedule(loop);
    if (failed(schedule)) return failure();
    Result<void> valid = schedule->stages > 1 ? verify(*schedule) : Result<void>();
    if (valid) valid = verifyComputed(*schedule);
    if (!valid) return loop.emitError("its schedule is invalid: ") << valid.error();
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

  void keepStoresInFlight() {
    function.walk([](scf::ForOp loop) {
      auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
      if (!made || !made.getStoresInFlight()) return;
      letStoresRun(loop);
      if (made.getStoresPerWarpGroup()) storePerWarpGroup(loop);
    });
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

  /// `state`: stage and parity of the first iteration, then of the iteration after the last one.
  LogicalResult expand(Expansion &e, SmallVector<Value> &state) {
    if (e.schedule.continued)
      e.stageBuffers = left->stageBuffers;
    else
      allocateStages(e);
    FailureOr<ttg::BarrierWaitOp> arrival = e.schedule.warpSpecialized ? expandPartitions(e, state) : expandCopies(e, state);
    if (failed(arrival) || failed(advance(e, *arrival, state))) return failure();
    if (!e.schedule.warpSpecialized) return success();
    if (!e.schedule.edges.empty() && failed(releaseLast(e, state))) return failure();
    left.reset();
    if (isa<tt::FuncOp>(e.schedule.loop->getParentOp()) || e.schedule.crossTile) left = {e.stageBuffers, state};
    return success();
  }

  LogicalResult expand(LoopSchedule &schedule) {
    if (!schedule.continued) left.reset();
    Expansion e(function, config, schedule, target.tcgen05, firstWarp);
    bool tma = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; });
    Value zero = entryConstant(function, 0);
    LogicalResult done = success();
    auto update = [&](ValueRange state) -> SmallVector<Value> {
      SmallVector<Value> next(state);
      done = expand(e, next);
      return next;
    };
    if (!tma) {
      update({zero, zero}); // no phase to be continued: every run of the loop starts at stage 0
      return done;
    }
    if (schedule.continued) {
      if (!left) return schedule.loop.emitError("no loop before it leaves the circular buffers that it continues with");
      SmallVector<Value> before(left->state), after = update(before);
      Operation *end = schedule.loop->getBlock()->getTerminator(); // of a loop over tiles: the next one begins where this one ends
      for (auto [old, now] : llvm::zip(before, after))
        old.replaceUsesWithIf(now, [&](OpOperand &use) { return use.getOwner() == end || finalWaits.contains(use.getOwner()); });
      return done;
    }
    FailureOr<SmallVector<Value>> stateAfter = carryState(schedule.loop, {zero, zero}, update);
    if (failed(stateAfter) || failed(done)) return failure();
    if (schedule.warpSpecialized && config.getCtas() != 1) outlastArrivals(e, *stateAfter, finalWaits);
    return success();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  bool firstWarp = false; ///< Expansion::firstWarp of all loops
  std::optional<LeftBuffers> left;
  DenseSet<Operation *> finalWaits; // at the kernel's end, until the other CTAs have read all stages
};

} // namespace

LogicalResult pipelineLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return Pipeliner(function, config, target).run();
  });
}

} // namespace tilewright::gpu
