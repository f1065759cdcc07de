// An MMA waits for its operands, and TMA idles while it multiplies. Loads that only feed a buffer are made to run ahead:
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.wgmma %p ... wait }
//   after:  start the copies of iterations 0 .. S-2 into stages of a circular buffer
//           scf.for %i { wait for stage i mod S    ttg.wgmma %stage    drain the MMA before    barrier    start the copy of i + S-1 }
// Each circular buffer has one mbarrier a stage; stage and parity are carried, through loops around the loop, too, so that nothing is
// divided and barriers are initialized once. What an iteration looks like is decided in schedule_loop.cpp.
#include "gpu/passes.h"
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_plan.h"
#include "gpu/schedule/skeleton.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/tiles/demanded_extent.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Pipeliner {
public:
  Pipeliner(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), b(function.getContext()) {}

  LogicalResult run() {
    function.walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner ones first
    isKernelWarpSpecialized = function->hasAttr(ttg::dequantizePartitionName) || choosePartitions();
    for (size_t i = 0; i < loops.size(); ++i)
      if (failed(pipelineLoop(cast<scf::ForOp>(loops[i])))) return failure();
    ttg::eraseDead(function);
    return success();
  }

private:
  Value i32(Location loc, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); }

  int64_t wantedStages(scf::ForOp loop) {
    if (auto asked = loop->getAttrOfType<IntegerAttr>(tt::numStagesName)) return asked.getInt();
    return config.getStages();
  }

  /// The deepest circular buffers that fit, counted in iterations, if they are in use throughout `around`: what else is in shared memory
  /// meanwhile stays where it is.
  int64_t affordableStages(const LoopSchedule &schedule, int64_t wanted, scf::ForOp around, ArrayRef<DeeperBuffer> others) {
    for (int64_t stages = wanted; stages > 1; --stages) {
      SmallVector<DeeperBuffer> deeper(others);
      for (ttg::StoreSharedOp store : schedule.computed)
        deeper.push_back(isDequantizing(schedule.loop) ? DeeperBuffer{allocOf(store.getBuffer()), stages, around}
                                                       : DeeperBuffer{allocOf(store.getBuffer()), schedule.computedStages, schedule.loop});
      int64_t barriers = (isKernelWarpSpecialized ? 8 * stages : 0) + (isDequantizing(schedule.loop) ? 16 * stages : 0);
      for (const CircularBuffer &circular : schedule.circularBuffers) {
        barriers += circular.tma ? 8 * stages : 0;
        for (const Copy &copy : circular.copies)
          deeper.push_back({copy.alloc, stages, around});
      }
      if (planShared(function, deeper).bytes + barriers <= target.sharedBytes) return stages;
    }
    return 1;
  }

  /// As many stages are enough to keep a circular buffer through a loop over tiles, if that takes one of more.
  static constexpr int64_t enoughStages = 3;

  /// Whether a warp of its own starts the copies of all loops.
  bool choosePartitions() {
    notWarpSpecialized = warpSpecializationObstacle(function, config, target);
    if (notWarpSpecialized) return false; // said where a loop loads ahead
    std::vector<LoopSchedule> schedules;
    for (Operation *loop : loops) {
      int64_t wanted = wantedStages(cast<scf::ForOp>(loop));
      if (wanted < 2) continue;
      LoopSchedule schedule = scheduleLoop(cast<scf::ForOp>(loop), target.cpAsync);
      if (schedule.circularBuffers.empty()) continue;
      scheduleRefills(schedule, wanted, config, target);
      schedule.runsDecoupled = mayRunDecoupled(schedule);
      schedules.push_back(std::move(schedule));
    }
    std::optional<std::string> reason = warpSpecializationObstacle(schedules, config, target);
    if (reason && !schedules.empty()) function->setAttr(ttg::notWarpSpecializedName, b.getStringAttr(*reason));
    return !reason;
  }

  /// Whether the warpgroups of a kernel with warp specialization need no barrier from one tile of this loop to the next.
  bool mayRunDecoupled(const LoopSchedule &schedule) {
    scf::ForOp tiles = persistentLoop(schedule);
    if (!tiles || !canStorePerWarpGroup(tiles)) return false;
    return affordableStages(schedule, schedule.stages, tiles, buffersHeldByStores(tiles)) >= std::min(schedule.stages, enoughStages);
  }

  LogicalResult pipelineLoop(scf::ForOp loop) {
    int64_t wanted = wantedStages(loop);
    LoopSchedule schedule;
    schedule.loop = loop;
    if (wanted > 1) schedule = scheduleLoop(loop, target.cpAsync);
    isLoopWarpSpecialized = isKernelWarpSpecialized && (isDequantizing(loop) || !function->hasAttr(ttg::dequantizePartitionName));
    bool goesOn = isLoopWarpSpecialized && left && !schedule.circularBuffers.empty() && mayGoOn(schedule, wanted);
    if (!schedule.circularBuffers.empty() && notWarpSpecialized)
      function->setAttr(ttg::notWarpSpecializedName, b.getStringAttr(*notWarpSpecialized));
    if (!goesOn && !schedule.circularBuffers.empty()) left.reset();
    int64_t stages = goesOn ? left->stages : stagesOf(schedule, wanted);
    schedule.warpSpecialized = isLoopWarpSpecialized;
    if (isDequantizing(schedule.loop) && stages < 2)
      return bug(loop, "the circular buffers of a dequantized operand do not fit in shared memory");
    if (isLoopWarpSpecialized && stages > 1) stages = keepStagesAcrossTiles(schedule, stages, goesOn);
    if (stages > 1 || !schedule.computed.empty()) scheduleRefills(schedule, stages, config, target);
    if (ttg::WgmmaWaitOp drains = drainingWaitIn(loop)) releaseAfter(schedule, drains);
    if ((schedule.inFlight.empty() || schedule.drainingWait) && !isDequantizing(schedule.loop)) schedule.computed.clear();
    if (stages > 1 && !isLoopWarpSpecialized) stages = prefetchAcrossTiles(schedule);
    if (stages > 1) letStoresRun(schedule.loop);
    recordDecision(schedule, wanted);
    if (stages < 2) return overlap(schedule, wanted), success();
    if (std::optional<std::string> wrong = drainingWaitIn(loop) ? std::nullopt : verify(schedule))
      return bug(loop, "its schedule is invalid: " + *wrong);
    overlap(schedule, wanted);
    return expand(schedule);
  }

  /// The deepest circular buffers that fit, 1 if there are none: with two of each buffer that threads fill, or else without.
  int64_t stagesOf(LoopSchedule &schedule, int64_t wanted) {
    if (schedule.circularBuffers.empty()) {
      schedule.computedStages = stagesForComputed(schedule, function, target);
      if (schedule.computedStages < 2) schedule.computed.clear();
      return 1;
    }
    SmallVector<DeeperBuffer> stored = buffersHeldByStores(schedule.loop);
    if (isDequantizing(schedule.loop)) return affordableStages(schedule, wanted, schedule.loop, stored);
    // Where registers leave space for a second CTA, a third stage would take its shared memory.
    if (limitsToOneCtaPerSM(schedule, config, target) && fenceAfterComputed(schedule, wanted)) {
      schedule.computedStages = stagesWithoutWaiting;
      int64_t stages = affordableStages(schedule, wanted, schedule.loop, stored);
      if (stages >= std::min(wanted, enoughStages) && fenceAfterComputed(schedule, stages)) return stages;
      schedule.computedStages = 2;
    }
    int64_t stages = affordableStages(schedule, wanted, schedule.loop, stored);
    if (stages > 1 || schedule.computed.empty()) return stages;
    schedule.computed.clear();
    return affordableStages(schedule, wanted, schedule.loop, stored);
  }

  /// MMAs of operands that threads compute stay in flight while the next iteration's are computed, or at least loaded.
  void overlap(LoopSchedule &schedule, int64_t wanted) {
    bool byThreads = wanted > 1 && !isLoopWarpSpecialized && multipliesByThreads(schedule.loop);
    if (schedule.computed.empty() && !byThreads) return;
    Operation *before = schedule.loop;
    int64_t registers = registersForTiles(config, target, isKernelWarpSpecialized) - accumulatorsOf(schedule.loop);
    if (schedule.computed.empty()) {
      prefetchLoads(schedule, registers - registersOfMmas(schedule.loop));
    } else if (isDequantizing(schedule.loop)) {
      markInterleavedStores(schedule);
      prefetchLoadsInPartitions(schedule, registers);
    } else {
      overlapComputedOperands(schedule, registers);
    }
    llvm::replace(loops, before, schedule.loop.getOperation());
  }

  /// Where a loop over tiles is around the loop, its circular buffer need not drain between them. Returns the stages there are then: that
  /// may take one of many.
  int64_t prefetchAcrossTiles(LoopSchedule &schedule) {
    scf::ForOp tiles = persistentLoop(schedule);
    if (!tiles) return schedule.stages;
    int64_t stages = affordableStages(schedule, schedule.stages, tiles, buffersHeldByStores(tiles));
    if (stages < std::min(schedule.stages, enoughStages)) return schedule.stages;
    schedule.crossTilePrefetch = true;
    letStoresRun(tiles);
    scheduleRefills(schedule, stages, config, target);
    return stages;
  }

  /// The same for a loop whose copies have a producer: it fills the circular buffer for the next tile while this one is stored, if the
  /// circular buffer's bytes have no other use meanwhile.
  int64_t keepStagesAcrossTiles(LoopSchedule &schedule, int64_t stages, bool goesOn) {
    auto tiles = dyn_cast<scf::ForOp>(schedule.loop->getParentOp());
    if (!tiles || !isa<tt::FuncOp>(tiles->getParentOp())) return stages;
    SmallVector<DeeperBuffer> shared; // by a loop after this one that goes on with the circular buffer
    for (auto next : tiles.getBody()->getOps<scf::ForOp>()) {
      if (!schedule.loop->isBeforeInBlock(next)) continue;
      for (const CircularBuffer &circular : scheduleLoop(next, target.cpAsync).circularBuffers)
        for (const Copy &copy : circular.copies)
          shared.push_back({copy.alloc, 0, next});
    }
    bool own = canStorePerWarpGroup(tiles), runs = own || isDequantizing(schedule.loop);
    if (runs) llvm::append_range(shared, buffersHeldByStores(tiles));
    int64_t affordable = goesOn ? stages : affordableStages(schedule, stages, tiles, shared);
    schedule.crossTilePrefetch = affordable >= std::min(stages, enoughStages);
    if (!schedule.crossTilePrefetch) return stages;
    if (runs) letStoresRun(tiles);
    if (own) storePerWarpGroup(tiles);
    return affordable;
  }

  /// The buffers and barriers of a circular buffer.
  struct StageBuffers {
    SmallVector<Value> buffers; // one for each copy
    Value barriers;             // its copies are there
    Value empty;                // its stages have been read; set if copies have a producer
    int64_t bytes = 0;
  };

  /// What a loop at the top of a kernel has left for one after it with the same tiles: the producer fills the stages for the second one's
  /// first iterations while the first one's last iterations are computed.
  struct LeftBuffers {
    Operation *loop;
    int64_t stages;
    std::vector<StageBuffers> stageBuffers; // of each circular buffer
    SmallVector<Value> state;               // stage and parity of the next iteration
  };

  /// Whether a loop's circular buffers may be those that an earlier loop has left. They stay in use up to this loop, so all of them must
  /// fit.
  bool mayGoOn(const LoopSchedule &schedule, int64_t wanted) {
    if (left->loop->getBlock() != schedule.loop->getBlock() || wanted < left->stages) return false;
    if (left->stageBuffers.size() != schedule.circularBuffers.size()) return false;
    SmallVector<DeeperBuffer> deeper = buffersHeldByStores(schedule.loop);
    for (auto [circular, stageBuffers] : llvm::zip(schedule.circularBuffers, left->stageBuffers)) {
      if (circular.copies.size() != stageBuffers.buffers.size()) return false;
      for (auto [copy, buffer] : llvm::zip(circular.copies, stageBuffers.buffers)) {
        ttg::BufferType own = ttg::AllocOp(copy.alloc).getType(), there = cast<ttg::BufferType>(buffer.getType());
        bool isSame = own.getElementType() == there.getElementType() && own.getLayout() == there.getLayout();
        if (!isSame || copiedExtent(copy.alloc) != copiedExtent(buffer.getDefiningOp())) return false;
        deeper.push_back({copy.alloc, 0, schedule.loop});
        deeper.push_back({buffer.getDefiningOp<ttg::AllocOp>(), left->stages, schedule.loop});
      }
    }
    return planShared(function, deeper).bytes <= target.sharedBytes;
  }

  /// Starts the copies of one iteration. `operands`: those of all loads, one after the other.
  LogicalResult issue(const CircularBuffer &circular, const StageBuffers &stageBuffers, ArrayRef<Value> operands, Value stageIndex,
                      Value exists) {
    Location loc = circular.copies.front().load->getLoc();
    if (circular.tma)
      producersWork(
          ttg::BarrierExpectOp::create(b, loc, stageBuffers.barriers, stageIndex, static_cast<int32_t>(stageBuffers.bytes), exists));
    for (size_t i = 0; i < circular.copies.size(); ++i) {
      Copy copy = circular.copies[i];
      loc = copy.load->getLoc();
      auto type = copy.alloc.getType();
      ArrayRef<Value> own = operands.take_front(copy.load->getNumOperands());
      operands = operands.drop_front(copy.load->getNumOperands());
      Value buffer = ttg::StageOp::create(b, loc, type, stageBuffers.buffers[i], stageIndex);
      if (auto load = dyn_cast<ttg::DescriptorLoadOp>(copy.load)) {
        bool forAll = isLoopWarpSpecialized && config.getCtas() != 1 && isMulticastToAllCtas(circular, copy, config);
        int64_t parts = forAll ? *partsPerBox(type, config.getCtas()) : 1;
        FailureOr<Value> map = mapFor(function, load, load.getMap(), load.getCoordinates().size(), type, load.getOrder(), parts);
        if (failed(map)) return failure();
        auto started = ttg::TmaLoadOp::create(b, loc, *map, own.drop_front(), buffer, stageBuffers.barriers, stageIndex, exists,
                                              load.getEvict(), /*multicast=*/forAll);
        if (Attribute split = load->getAttr(ttg::ctaSplitName)) started->setAttr(ttg::ctaSplitName, split);
        producersWork(started);
        continue;
      }
      auto load = cast<tt::LoadOp>(copy.load);
      auto tile = cast<RankedTensorType>(load.getType());
      auto bits = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
      Value mask = tt::SplatOp::create(b, loc, bits, exists);
      if (load.getMask()) mask = arith::AndIOp::create(b, loc, mask, own[1]);
      auto async = ttg::CopyAsyncOp::create(b, loc, own[0], buffer, mask);
      for (NamedAttribute attribute : load->getDiscardableAttrs()) // its width; why it has no descriptor
        async->setAttr(attribute.getName(), attribute.getValue());
    }
    return success();
  }

  void producersWork(Operation *op) {
    if (isLoopWarpSpecialized) op->setAttr(ttg::producerName, b.getUnitAttr());
  }

  LogicalResult expand(LoopSchedule &schedule) {
    bool tma = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; });
    Value zero = entryConstant(function, 0);
    LogicalResult done = success();
    auto update = [&](ValueRange state) -> SmallVector<Value> {
      SmallVector<Value> next(state);
      done = expand(schedule, next);
      return next;
    };
    auto replaced = [&](Operation *old, Operation *now) { llvm::replace(loops, old, now); };
    if (!tma) {
      update({zero, zero}); // no phase to be continued: every run of the loop starts at stage 0
      return done;
    }
    if (left) {
      SmallVector<Value> before(left->state), after = update(before);
      Operation *end = schedule.loop->getBlock()->getTerminator(); // of a loop over tiles: the next one begins where this one ends
      for (auto [old, now] : llvm::zip(before, after))
        old.replaceUsesWithIf(now, [&](OpOperand &use) { return use.getOwner() == end || finalWaits.contains(use.getOwner()); });
      return done;
    }
    FailureOr<SmallVector<Value>> stateAfter = carryState(schedule.loop, {zero, zero}, update, replaced);
    if (failed(stateAfter) || failed(done)) return failure();
    if (schedule.warpSpecialized && config.getCtas() != 1) outlastArrivals(schedule, *stateAfter);
    return success();
  }

  /// A CTA must not end before the other CTAs have told it what they have read: its producer waits until all stages are empty, in the order
  /// in which it would fill them. At a barrier of the cluster all warps would wait until their stores have reached memory.
  void outlastArrivals(LoopSchedule &schedule, ArrayRef<Value> stateAfter) {
    Location loc = schedule.loop.getLoc();
    Operation *end = function.getBody().front().getTerminator(), *before = end->getPrevNode();
    b.setInsertionPoint(end);
    Value stageIndex = stateAfter[0], parity = arith::XOrIOp::create(b, loc, stateAfter[1], i32(loc, 1));
    for (int64_t iteration = 0; iteration < schedule.stages; ++iteration) {
      for (Value empty : lastEmpty)
        producersWork(ttg::BarrierWaitOp::create(b, loc, empty, stageIndex, parity));
      std::tie(stageIndex, parity) = stageAfter(b, loc, stageIndex, parity, schedule.stages);
    }
    for (Operation *op = before->getNextNode(); op != end; op = op->getNextNode())
      finalWaits.insert(op);
  }

  /// What the steps of an expansion hand on to one another.
  struct Expansion {
    LoopSchedule &schedule;
    Location loc;
    int64_t stages;
    bool copyAsync;                               ///< some circular buffer is filled by cp.async
    bool fence;                                   ///< TMA writes where threads read
    std::vector<StageBuffers> stageBuffers = {};  ///< of each circular buffer
    std::vector<SmallVector<Value>> sources = {}; ///< operands of each circular buffer's loads, in an iteration
    Value stageIndex = {}, parity = {};           ///< of an iteration
    Operation *lastStage = nullptr;               ///< the stages of an iteration stand at its top, up to here
    Operation *top = nullptr;                     ///< and what else stands there, up to here
    Value dequantizedEmpty = {};                  ///< what has been dequantized in a stage has been read; null: released with the copies
  };

  static bool isAsync(const CircularBuffer &circular) { return !circular.tma; }

  /// `state`: stage and parity of the first iteration, then of the iteration after the last one.
  LogicalResult expand(LoopSchedule &schedule, SmallVector<Value> &state) {
    bool fence =
        llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma && circular.threadsRead; });
    Expansion e{schedule, schedule.loop.getLoc(), schedule.stages, llvm::any_of(schedule.circularBuffers, isAsync), fence};
    if (left)
      e.stageBuffers = left->stageBuffers;
    else
      allocateStages(e);
    if (e.schedule.warpSpecialized) return expandPartitions(e, state);
    // A persistent loop has started the first copies in its previous iteration.
    FailureOr<NextTile> next;
    if (schedule.crossTilePrefetch) next = firstTile(e);
    if (schedule.crossTilePrefetch ? failed(next) : failed(prologue(e, state))) return failure();
    // The copies of iterations 0 .. distance-1 are under way, iteration t's to stage state[0] + t; the loop begins.
    carryStage(e, state);
    takeStages(e);
    // In iteration i every reader reads stage i mod stages. The copies of iteration i + distance go to the stage that iteration
    // i - releaseDistance has read.
    findRefills(e);
    if (failed(refill(e))) return failure();
    if (schedule.crossTilePrefetch && failed(nextTile(e, *next))) return failure();
    // Iteration i + 1 finds the copies of iterations up to i + distance under way, as iteration i found those up to i - 1 + distance.
    ttg::BarrierWaitOp arrival = waits(e);
    // Every reader stands after the wait for its stage's copy, so no copy is in flight after the loop. The loads themselves are gone.
    return advance(e, arrival, state);
  }

  /// The same for a loop whose copies have a producer: it goes through the iterations on its own, so that there is nothing to start before
  /// the loop. A stage's first use finds it empty: a fresh barrier has completed the phase of parity 1.
  LogicalResult expandPartitions(Expansion &e, SmallVector<Value> &state) {
    function->setAttr(ttg::warpSpecializedName, b.getUnitAttr());
    if (!left) allotEmpty(e);
    ttg::WgmmaWaitOp drains = drainingWaitIn(e.schedule.loop);
    if (drains && drains->hasAttr(ttg::releasesCopiesFirstName)) e.dequantizedEmpty = allocBarriers(function, e.stages, config.getWarps());
    carryStage(e, state);
    takeStages(e);
    b.setInsertionPointAfter(e.lastStage);
    Value before = arith::XOrIOp::create(b, e.loc, e.parity, i32(e.loc, 1));
    producersWork(ttg::BarrierWaitOp::create(b, e.loc, e.stageBuffers.front().empty, e.stageIndex, before));
    // In iteration i the producer fills stage i mod stages, once all have read what iteration i - stages had there.
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
      Operation *last = circular.copies.front().load;
      for (const Copy &copy : circular.copies)
        if (last->isBeforeInBlock(copy.load)) last = copy.load;
      b.setInsertionPoint(last);
      if (stageBuffers.empty != e.stageBuffers.front().empty)
        producersWork(ttg::BarrierWaitOp::create(b, e.loc, stageBuffers.empty, e.stageIndex, before));
      if (failed(issue(circular, stageBuffers, operandsOf(circular), e.stageIndex, Value()))) return failure();
    }
    release(e);
    if (isDequantizing(e.schedule.loop) && failed(fillDequantized(e.schedule, e.stageIndex, e.parity, emptyBarriers(e).getArrayRef(),
                                                                  allocBarriers(function, e.stages, warpsOfGroup), e.dequantizedEmpty)))
      return failure();
    ttg::BarrierWaitOp arrival = waits(e);
    if (failed(advance(e, arrival, state))) return failure();
    bool releasesLate = !e.schedule.inFlight.empty() || drainingWaitIn(e.schedule.loop);
    if (releasesLate && failed(releaseLast(e, state))) return failure();
    lastEmpty = emptyBarriers(e).takeVector();
    left.reset();
    if (isa<tt::FuncOp>(e.schedule.loop->getParentOp()) || e.schedule.crossTilePrefetch)
      left = {e.schedule.loop, e.stages, e.stageBuffers, state};
    return success();
  }

  /// A circular buffer whose MMA starts ahead of the other MMAs has been read before theirs: it is released on its own.
  void allotEmpty(Expansion &e) {
    int64_t readers = config.getWarps() * config.getCtas() + (isDequantizing(e.schedule.loop) ? warpsOfGroup : 0);
    Value shared;
    for (auto [index, stageBuffers] : llvm::enumerate(e.stageBuffers)) {
      if (index == 0 && e.schedule.prefetchedMma && e.stageBuffers.size() > 1) {
        stageBuffers.empty = allocBarriers(function, e.stages, readers);
        continue;
      }
      if (!shared) shared = allocBarriers(function, e.stages, readers);
      stageBuffers.empty = shared;
    }
  }

  static llvm::SetVector<Value> emptyBarriers(const Expansion &e) {
    llvm::SetVector<Value> barriers;
    for (const StageBuffers &stageBuffers : e.stageBuffers)
      barriers.insert(stageBuffers.empty);
    return barriers;
  }

  /// After `refillAfter` an iteration's stages have been read; those of the one before, where MMAs stay in flight across the back edge.
  /// What starts ahead has read its own where it is waited for.
  void release(Expansion &e) {
    scf::ForOp loop = e.schedule.loop;
    Value stageIndex = e.stageIndex, exists;
    bool drains = drainingWaitIn(loop) != nullptr;
    b.setInsertionPointAfter(e.schedule.inFlight.empty() ? e.schedule.refillAfter : keepInFlight(e.schedule));
    if (drains || !e.schedule.inFlight.empty()) {
      stageIndex = stageAround(b, e.loc, e.stageIndex, -1, e.stages);
      exists = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    }
    if (e.fence && !isDequantizing(e.schedule.loop)) ttg::FenceAsyncOp::create(b, e.loc);
    if (e.dequantizedEmpty) return arrive(e.loc, e.dequantizedEmpty, stageIndex, exists);
    for (Value empty : emptyBarriers(e)) {
      OpBuilder::InsertionGuard guard(b);
      bool isPrefetched = e.schedule.prefetchedMma && empty == e.stageBuffers.front().empty && empty != e.stageBuffers.back().empty;
      if (isPrefetched) b.setInsertionPointAfter(waitFor(e.schedule.prefetchedMma.getD()));
      arrive(e.loc, empty, stageIndex, exists);
    }
  }

  /// After the loop its last iteration's MMAs are over, too.
  LogicalResult releaseLast(Expansion &e, ArrayRef<Value> state) {
    scf::ForOp loop = e.schedule.loop;
    FailureOr<ttg::WgmmaWaitOp> drain = drainAfter(loop);
    if (failed(drain)) return failure();
    b.setInsertionPointAfter(*drain);
    Value stageIndex = stageAround(b, e.loc, state[0], -1, e.stages);
    if (e.fence && !isDequantizing(loop)) ttg::FenceAsyncOp::create(b, e.loc);
    if (e.dequantizedEmpty) return arrive(e.loc, e.dequantizedEmpty, stageIndex, LoopIterations(loop).existsIteration(b, 0)), success();
    for (Value empty : emptyBarriers(e))
      arrive(e.loc, empty, stageIndex, LoopIterations(loop).existsIteration(b, 0));
    return success();
  }

  /// Says that this warp has read a stage: to the producers of all CTAs, which fill it.
  void arrive(Location loc, Value empty, Value stageIndex, Value exists) {
    ttg::BarrierArriveOp::create(b, loc, empty, stageIndex, exists, /*inAllCtas=*/config.getCtas() != 1);
  }

  /// The buffers of each circular buffer, `stages` tiles deep, and its barriers.
  void allocateStages(Expansion &e) {
    b.setInsertionPoint(e.schedule.crossTilePrefetch ? e.schedule.loop->getParentOp() : e.schedule.loop.getOperation());
    for (const CircularBuffer &circular : e.schedule.circularBuffers) {
      StageBuffers &stageBuffers = e.stageBuffers.emplace_back();
      if (circular.tma) stageBuffers.barriers = allocBarriers(function, e.stages, 1);
      for (Copy copy : circular.copies) {
        ttg::BufferType type = copy.alloc.getType();
        stageBuffers.bytes += copiedBytes(copy.alloc);
        auto deep = ttg::BufferType::get(b.getContext(), e.stages, type.getElementType(), type.getLayout());
        stageBuffers.buffers.push_back(copyingAsMuch(ttg::AllocOp::create(b, copy.alloc.getLoc(), deep), copy.alloc));
      }
    }
  }

  /// The first iterations' copies, before the loop.
  LogicalResult prologue(Expansion &e, ArrayRef<Value> state) {
    LoopIterations iterations(e.schedule.loop);
    return startFirst(
        e, state[0], [&](int64_t iteration) { return iterations.existsIteration(b, iteration); },
        [&](size_t circular, int64_t iteration) {
          return iterations.ofIteration(b, operandsOf(e.schedule.circularBuffers[circular]), iteration);
        });
  }

  /// The first iterations' copies, to the stages from `first` on. `existsAt` and `operandsAt` make what an iteration needs, where it is
  /// needed.
  LogicalResult startFirst(Expansion &e, Value first, function_ref<Value(int64_t)> existsAt,
                           function_ref<SmallVector<Value>(size_t, int64_t)> operandsAt) {
    for (int64_t iteration = 0; iteration < e.stages; ++iteration) {
      Value exists = existsAt(iteration), stageIndex = stageAround(b, e.loc, first, iteration, e.stages);
      bool committed = false;
      for (auto [index, circular] : llvm::enumerate(e.schedule.circularBuffers)) {
        if (iteration >= circular.distance(e.stages)) continue;
        if (failed(issue(circular, e.stageBuffers[index], operandsAt(index, iteration), stageIndex, exists))) return failure();
        committed |= !circular.tma;
      }
      if (committed) ttg::CopyCommitOp::create(b, e.loc);
    }
    return success();
  }

  /// What the first copies of a loop need, in terms of the iteration of the loop around it: of each iteration whether it exists, and the
  /// operands of each circular buffer. These values are patterns for those of other tiles.
  struct NextTile {
    SmallVector<Value> exists;
    SmallVector<SmallVector<SmallVector<Value>>> operands; // by circular buffer and iteration
  };

  /// Starts the copies of the first tile, before the loop over tiles.
  FailureOr<NextTile> firstTile(Expansion &e) {
    auto tiles = cast<scf::ForOp>(e.schedule.loop->getParentOp());
    b.setInsertionPoint(e.schedule.loop);
    NextTile next;
    LoopIterations inner(e.schedule.loop), outer(tiles);
    for (int64_t iteration = 0; iteration < e.stages; ++iteration)
      next.exists.push_back(inner.existsIteration(b, iteration));
    for (const CircularBuffer &circular : e.schedule.circularBuffers) {
      auto &own = next.operands.emplace_back();
      for (int64_t iteration = 0; iteration < circular.distance(e.stages); ++iteration)
        own.push_back(inner.ofIteration(b, operandsOf(circular), iteration));
    }
    b.setInsertionPoint(tiles);
    auto of = [&](ValueRange values) { return outer.ofIteration(b, values, 0); };
    auto isThere = scf::IfOp::create(b, e.loc, outer.existsIteration(b, 0), /*withElseRegion=*/false);
    b.setInsertionPoint(isThere.thenYield());
    if (failed(startTile(e, next, entryConstant(function, 0), of))) return failure();
    return next;
  }

  /// Starts the copies of the next tile, once all threads have read the stages of this one.
  LogicalResult nextTile(Expansion &e, const NextTile &next) {
    Value first = e.schedule.loop.getResults().take_back(2).front();
    FailureOr<ttg::WgmmaWaitOp> drain = drainAfter(e.schedule.loop);
    if (failed(drain)) return failure();
    b.setInsertionPointAfter(*drain);
    LoopIterations outer(cast<scf::ForOp>(e.schedule.loop->getParentOp()));
    auto isThere = scf::IfOp::create(b, e.loc, outer.existsLater(b, 1), /*withElseRegion=*/false);
    b.setInsertionPoint(isThere.thenYield());
    return startTile(e, next, first, [&](ValueRange values) { return outer.later(b, values, 1); });
  }

  LogicalResult startTile(Expansion &e, const NextTile &next, Value first, function_ref<SmallVector<Value>(ValueRange)> of) {
    return startFirst(
        e, first, [&](int64_t iteration) { return of(next.exists[size_t(iteration)]).front(); },
        [&](size_t circular, int64_t iteration) { return of(next.operands[circular][size_t(iteration)]); });
  }

  /// The loop carries the stage and the parity of its iteration.
  void carryStage(Expansion &e, ArrayRef<Value> state) {
    scf::ForOp old = e.schedule.loop;
    scf::ForOp loop = e.schedule.loop = withMoreCarried(old, state);
    llvm::replace(loops, old.getOperation(), loop.getOperation());
    ValueRange carried = loop.getRegionIterArgs().take_back(2);
    e.stageIndex = carried[0];
    e.parity = carried[1];
  }

  /// Readers read this iteration's stages in place of the buffers of one tile.
  void takeStages(Expansion &e) {
    for (const CircularBuffer &circular : e.schedule.circularBuffers)
      e.sources.push_back(operandsOf(circular));
    b.setInsertionPointToStart(e.schedule.loop.getBody());
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers))
      for (auto [copy, buffer] : llvm::zip(circular.copies, stageBuffers.buffers)) {
        Value current = ttg::StageOp::create(b, copy.alloc.getLoc(), copy.alloc.getType(), buffer, e.stageIndex);
        e.lastStage = current.getDefiningOp();
        copy.alloc.getResult().replaceUsesWithIf(current, [&](OpOperand &use) { return use.getOwner() != copy.store; });
      }
    e.top = e.lastStage;
  }

  /// Refills stand at the top, or after the last read of their stages. Each thread waits for its own copies by cp.async at the top.
  void findRefills(Expansion &e) {
    Operation *draining = e.schedule.inFlight.empty() ? nullptr : keepInFlight(e.schedule);
    if (e.schedule.publishFence) return b.setInsertionPointAfter(e.schedule.publishFence);
    if (e.copyAsync) {
      int64_t pending = 0;
      for (const CircularBuffer &circular : llvm::make_filter_range(e.schedule.circularBuffers, isAsync))
        pending = circular.distance(e.stages) - 1;
      ttg::CopyWaitOp::create(b, e.loc, static_cast<int32_t>(pending));
    }
    if (draining)
      b.setInsertionPointAfter(draining);
    else if (!e.copyAsync)
      b.setInsertionPointAfter(e.schedule.refillAfter);
  }

  /// The copies of later iterations. The first circular buffer of an MMA that is started ahead is filled at the top: its stage has been
  /// free since the iteration before.
  LogicalResult refill(Expansion &e) {
    LoopIterations iterations(e.schedule.loop);
    auto issueLater = [&](size_t first, size_t end) -> LogicalResult {
      DenseMap<int64_t, Value> existing, targets; // by distance
      for (size_t index = first; index < end; ++index) {
        const CircularBuffer &circular = e.schedule.circularBuffers[index];
        int64_t distance = circular.distance(e.stages);
        Value &exists = existing[distance], &target = targets[distance];
        if (!exists) exists = iterations.existsLater(b, distance);
        if (!target) target = stageAround(b, e.loc, e.stageIndex, distance, e.stages);
        if (failed(issue(circular, e.stageBuffers[index], iterations.later(b, e.sources[index], distance), target, exists)))
          return failure();
      }
      return success();
    };
    if (failed(issueLater(e.schedule.prefetchedMma ? 1 : 0, e.stageBuffers.size()))) return failure();
    if (e.schedule.prefetchedMma) {
      b.setInsertionPointAfter(e.lastStage);
      if (failed(issueLater(0, 1))) return failure();
      e.top = &*std::prev(b.getInsertionPoint());
    }
    if (e.copyAsync) ttg::CopyCommitOp::create(b, e.loc); // empty ones, too: waiting counts groups
    return success();
  }

  /// The wait of each circular buffer, before its first reader, in place of its loads. Returns that of the first circular buffer.
  ttg::BarrierWaitOp waits(Expansion &e) {
    ttg::BarrierWaitOp arrival;
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
      if (circular.tma && isDequantizing(e.schedule.loop)) {
        waitInPartitions(e.schedule, stageBuffers.buffers, stageBuffers.barriers, e.stageIndex, e.parity);
      } else if (circular.tma) {
        b.setInsertionPoint(circular.firstReader);
        auto wait = ttg::BarrierWaitOp::create(b, e.loc, stageBuffers.barriers, e.stageIndex, e.parity);
        if (!arrival) arrival = wait;
      }
      for (Copy copy : circular.copies) {
        eraseStore(copy.store);
        copy.load->erase();
        copy.alloc->erase();
      }
    }
    return arrival;
  }

  /// The next iteration's stage. `state` becomes that of the iteration after the last one.
  LogicalResult advance(Expansion &e, ttg::BarrierWaitOp arrival, SmallVector<Value> &state) {
    scf::ForOp loop = e.schedule.loop;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    b.setInsertionPoint(yield);
    if (e.schedule.prefetchedMma) b.setInsertionPointAfter(e.top);
    auto [nextStage, nextParity] = stageAfter(b, e.loc, e.stageIndex, e.parity, e.stages);
    yield->insertOperands(yield->getNumOperands(), {nextStage, nextParity});
    if (e.schedule.prefetchedMma && e.schedule.warpSpecialized) return pipelineStages(e, state);
    if (e.schedule.prefetchedMma) {
      Operation *before = loop;
      loop = e.schedule.loop = prefetchMma(e.schedule, arrival, state, {nextStage, nextParity}, nextParity.getDefiningOp());
      llvm::replace(loops, before, loop.getOperation());
      state = SmallVector<Value>(loop->getResults().drop_back().take_back(2));
    } else {
      state = SmallVector<Value>(loop->getResults().take_back(2));
    }
    b.setInsertionPointAfter(loop);
    if (e.copyAsync) ttg::CopyWaitOp::create(b, e.loc, 0); // zeros that were copied for iterations that are none
    return success();
  }

  /// A loop that goes through its iterations in two parts (two_stage_pipeline.cpp) has one iteration less: the producer gets a loop of its
  /// own.
  LogicalResult pipelineStages(Expansion &e, SmallVector<Value> &state) {
    scf::ForOp loop = e.schedule.loop;
    b.setInsertionPoint(loop);
    Skeleton copies(loop->getParentOp());
    SmallVector<Operation *> work;
    loop.walk([&](Operation *op) {
      if (!op->hasAttr(ttg::producerName)) return;
      copies.keep(op);
      work.push_back(op);
    });
    IRMapping map;
    copies.clone(loop, b, map)->setAttr(ttg::producerName, b.getUnitAttr());
    for (Operation *op : work)
      op->erase();
    // So that neither needs the other's loop, where the circular buffer goes on follows from the number of iterations.
    Value rounds = LoopIterations(loop).count(b, 2 * e.stages);
    Value total = arith::AddIOp::create(b, e.loc, state[0], rounds), stages = i32(e.loc, e.stages);
    Value flips = arith::AndIOp::create(b, e.loc, arith::DivUIOp::create(b, e.loc, total, stages), i32(e.loc, 1));
    state = {arith::RemUIOp::create(b, e.loc, total, stages), arith::XOrIOp::create(b, e.loc, state[1], flips)};
    FailureOr<scf::ForOp> pipelined = pipelineTwoStages(loop, e.schedule.prefetchedMma);
    if (failed(pipelined)) return failure();
    e.schedule.loop = *pipelined;
    llvm::replace(loops, loop.getOperation(), e.schedule.loop.getOperation());
    b.setInsertionPointAfter(e.schedule.loop);
    return success();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  OpBuilder b;
  SmallVector<Operation *> loops;
  bool isKernelWarpSpecialized = false;
  bool isLoopWarpSpecialized = false;            // a loop that is repeated in another format is not
  std::optional<std::string> notWarpSpecialized; // why the machine, or the launch, has none
  std::optional<LeftBuffers> left;
  SmallVector<Value> lastEmpty;     // of the loop at hand
  DenseSet<Operation *> finalWaits; // at the kernel's end, until the other CTAs have read all stages
};

} // namespace

LogicalResult pipelineLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return Pipeliner(function, config, target).run();
  });
}

} // namespace tilewright::gpu
