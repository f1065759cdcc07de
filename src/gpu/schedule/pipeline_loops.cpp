// An MMA waits for its operands, and TMA idles while it multiplies. Loads that only feed a buffer are made to run ahead:
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.wgmma %p ... wait }
//   after:  start the copies of iterations 0 .. S-2 into stages of a circular buffer
//           scf.for %i { wait for stage i mod S    ttg.wgmma %stage    drain the previous MMA    start the copy of i + S-1 }
// Each circular buffer has one mbarrier a stage; stage and parity are carried, through loops around the loop, too, so that nothing is
// divided and barriers are initialized once. The attribute ttg.loop_schedule says what an iteration looks like.
#include "gpu/passes.h"
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/policies.h"
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
  Pipeliner(tt::FuncOp function, ttg::ConfigAttr config) : function(function), config(config), b(function.getContext()) {}

  LogicalResult run() {
    keepStoresInFlight();
    llvm::SmallDenseSet<Attribute> done; // by loop id: rewriting a loop replaces the loops around it
    while (scf::ForOp loop = nextLoop(done))
      if (failed(pipelineLoop(loop))) return failure();
    function.walk([](Operation *op) { op->removeAttr(ttg::idName); });
    ttg::eraseDead(function);
    return success();
  }

private:
  Value i32(Location loc, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); }

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
    if (schedule->stages > 1)
      if (std::optional<std::string> wrong = verify(*schedule)) return loop.emitError("its schedule is invalid: ") << *wrong;
    bool staysInFlight = !schedule->edges.empty() || isDequantizing(loop);
    if (!schedule->computed.empty() && !staysInFlight)
      return loop.emitError("its schedule is invalid: computed operands without MMAs in flight");
    if (failed(assumeUnwritten(*schedule))) return failure();
    overlapOperands(*schedule);
    return schedule->stages > 1 ? expand(*schedule) : success();
  }

  /// Records the launch guards under which the loop does not write what its loads read in an earlier iteration than their own.
  LogicalResult assumeUnwritten(const LoopSchedule &schedule) {
    SmallVector<tt::LoadOp> loads;
    for (const CircularBuffer &circular : schedule.circularBuffers)
      for (const Copy &copy : circular.copies)
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
    if (isDequantizing(schedule.loop)) {
      markInterleavedStores(schedule);
      return prefetchLoadsInPartitions(schedule);
    }
    bool computes = !schedule.computed.empty();
    if (computes) multiBuffer(schedule);
    if (computes) markInterleavedStores(schedule);
    prefetchRegisterLoads(schedule);
    if (!computes || !schedule.circularBuffers.empty()) return;
    keepInFlight(schedule);
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
    std::vector<StageBuffers> stageBuffers; // of each circular buffer
    SmallVector<Value> state;               // stage and parity of the next iteration
  };

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
        bool forAll = isWarpSpecialized && config.getCtas() != 1 && isMulticastToAllCtas(circular, copy, config);
        int64_t parts = forAll ? *partsPerBox(type, config.getCtas()) : 1;
        FailureOr<Value> map = mapFor(function, load, load.getMap(), load.getCoordinates().size(), type, load.getOrder(), parts);
        if (failed(map)) return failure();
        auto started = ttg::TmaLoadOp::create(b, loc, *map, own.drop_front(), buffer, stageBuffers.barriers, stageIndex, exists,
                                              load.getEvict(), /*multicast=*/forAll);
        producersWork(started);
        continue;
      }
      auto load = cast<tt::LoadOp>(copy.load);
      auto tile = cast<RankedTensorType>(load.getType());
      auto bits = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
      Value mask = tt::SplatOp::create(b, loc, bits, exists);
      if (load.getMask()) mask = arith::AndIOp::create(b, loc, mask, own[1]);
      auto async = ttg::CopyAsyncOp::create(b, loc, own[0], buffer, mask);
      for (NamedAttribute attribute : load->getDiscardableAttrs()) // its width
        async->setAttr(attribute.getName(), attribute.getValue());
    }
    return success();
  }

  void producersWork(Operation *op) {
    if (isWarpSpecialized) op->setAttr(ttg::producerName, b.getUnitAttr());
  }

  LogicalResult expand(LoopSchedule &schedule) {
    isWarpSpecialized = schedule.warpSpecialized;
    if (!schedule.continued) left.reset();
    bool tma = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; });
    Value zero = entryConstant(function, 0);
    LogicalResult done = success();
    auto update = [&](ValueRange state) -> SmallVector<Value> {
      SmallVector<Value> next(state);
      done = expand(schedule, next);
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
    explicit Expansion(LoopSchedule &schedule) : schedule(schedule), loc(schedule.loop.getLoc()), stages(schedule.stages) {
      copyAsync = llvm::any_of(schedule.circularBuffers, isAsync);
      fence = llvm::any_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma && circular.threadsRead; });
    }
    LoopSchedule &schedule;
    Location loc;
    int64_t stages;
    bool copyAsync;                          ///< some circular buffer is filled by cp.async
    bool fence;                              ///< TMA writes where threads read
    std::vector<StageBuffers> stageBuffers;  ///< of each circular buffer
    std::vector<SmallVector<Value>> sources; ///< operands of each circular buffer's loads, in an iteration
    Value stageIndex, parity;                ///< of an iteration
    Operation *lastStage = nullptr;          ///< the stages of an iteration stand at its top, up to here
    Operation *top = nullptr;                ///< and what else stands there, up to here
    Operation *drained = nullptr;            ///< the wait that drains the previous iteration's MMAs; null: none are in flight

    /// Where something after `op` stands: after the wait that drains the previous iteration, if `op` is what it stands at.
    Operation *positionOf(Operation *op) const { return !schedule.edges.empty() && op == schedule.edges.back().until ? drained : op; }
  };

  static bool isAsync(const CircularBuffer &circular) { return !circular.tma; }

  /// `state`: stage and parity of the first iteration, then of the iteration after the last one.
  LogicalResult expand(LoopSchedule &schedule, SmallVector<Value> &state) {
    Expansion e(schedule);
    if (schedule.continued)
      e.stageBuffers = left->stageBuffers;
    else
      allocateStages(e);
    if (e.schedule.warpSpecialized) return expandPartitions(e, state);
    // A persistent loop has started the first copies in its previous iteration.
    FailureOr<NextTile> next;
    if (schedule.crossTile) next = firstTile(e);
    if (schedule.crossTile ? failed(next) : failed(prologue(e, state))) return failure();
    // The copies of iterations 0 .. distance-1 are under way, iteration t's to stage state[0] + t; the loop begins.
    carryStage(e, state);
    takeStages(e);
    // In iteration i every reader reads stage i mod stages. The copies of iteration i + distance go to the stage of iteration
    // i + distance - stages, which has been read where they stand.
    e.drained = drainPrevious(e);
    waitForCopiesOfThread(e);
    if (failed(refill(e))) return failure();
    if (schedule.crossTile && failed(nextTile(e, *next))) return failure();
    // Iteration i + 1 finds the copies of iterations up to i + distance under way, as iteration i found those up to i - 1 + distance.
    ttg::BarrierWaitOp arrival = waits(e);
    // Every reader stands after the wait for its stage's copy, so no copy is in flight after the loop. The loads themselves are gone.
    return advance(e, arrival, state);
  }

  /// The same for a loop whose copies have a producer: it goes through the iterations on its own, so that there is nothing to start before
  /// the loop. A stage's first use finds it empty: a fresh barrier has completed the phase of parity 1.
  LogicalResult expandPartitions(Expansion &e, SmallVector<Value> &state) {
    if (!e.schedule.continued) allocateEmpty(e);
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
                                                                  allocBarriers(function, e.stages, warpsOfGroup))))
      return failure();
    ttg::BarrierWaitOp arrival = waits(e);
    if (failed(advance(e, arrival, state))) return failure();
    if (!e.schedule.edges.empty() && failed(releaseLast(e, state))) return failure();
    lastEmpty = emptyBarriers(e).takeVector();
    left.reset();
    if (isa<tt::FuncOp>(e.schedule.loop->getParentOp()) || e.schedule.crossTile) left = {e.stageBuffers, state};
    return success();
  }

  /// Circular buffers that are released at the same place share their empty barriers.
  void allocateEmpty(Expansion &e) {
    int64_t readers = config.getWarps() * config.getCtas() + (isDequantizing(e.schedule.loop) ? warpsOfGroup : 0);
    DenseMap<Operation *, Value> allocated;
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
      Value &empty = allocated[circular.releaseAfter];
      if (!empty) empty = allocBarriers(function, e.stages, readers);
      stageBuffers.empty = empty;
    }
  }

  static llvm::SetVector<Value> emptyBarriers(const Expansion &e) {
    llvm::SetVector<Value> barriers;
    for (const StageBuffers &stageBuffers : e.stageBuffers)
      barriers.insert(stageBuffers.empty);
    return barriers;
  }

  /// Where an iteration has read its stages, or those of the previous one if MMAs stay in flight, the warp arrives at their empty barriers.
  void release(Expansion &e) {
    scf::ForOp loop = e.schedule.loop;
    Value stageIndex = e.stageIndex, exists;
    llvm::MapVector<Value, Operation *> releases; // by empty barriers: the last release of their circular buffers
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
      Operation *&after = releases[stageBuffers.empty];
      if (!after || after->isBeforeInBlock(circular.releaseAfter)) after = circular.releaseAfter;
    }
    Operation *last = releases.back().second;
    e.drained = drainPrevious(e);
    b.setInsertionPointAfter(e.positionOf(last));
    if (!e.schedule.edges.empty()) {
      stageIndex = stageAround(b, e.loc, e.stageIndex, -1, e.stages);
      exists = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    }
    if (e.fence && !isDequantizing(e.schedule.loop)) ttg::FenceAsyncOp::create(b, e.loc);
    for (auto [empty, after] : releases) {
      OpBuilder::InsertionGuard guard(b);
      if (after != last) b.setInsertionPointAfter(e.positionOf(after));
      arrive(e.loc, empty, stageIndex, exists);
    }
  }

  /// Lets the MMAs of the schedule stay in flight. Returns the wait that drains those of the previous iteration; null if none stay in
  /// flight. A loop with a dequantize partition has that wait already.
  Operation *drainPrevious(Expansion &e) {
    if (e.schedule.edges.empty()) return nullptr;
    return drainingWaitIn(e.schedule.loop) ? e.schedule.edges.back().until : keepInFlight(e.schedule);
  }

  /// After the loop its last iteration's MMAs are over, too.
  LogicalResult releaseLast(Expansion &e, ArrayRef<Value> state) {
    scf::ForOp loop = e.schedule.loop;
    FailureOr<ttg::WgmmaWaitOp> drain = drainAfter(loop);
    if (failed(drain)) return failure();
    b.setInsertionPointAfter(*drain);
    Value stageIndex = stageAround(b, e.loc, state[0], -1, e.stages);
    if (e.fence && !isDequantizing(loop)) ttg::FenceAsyncOp::create(b, e.loc);
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
    b.setInsertionPoint(e.schedule.crossTile ? e.schedule.loop->getParentOp() : e.schedule.loop.getOperation());
    for (const CircularBuffer &circular : e.schedule.circularBuffers) {
      StageBuffers &stageBuffers = e.stageBuffers.emplace_back();
      if (circular.tma) stageBuffers.barriers = allocBarriers(function, e.stages, 1);
      for (Copy copy : circular.copies) {
        ttg::BufferType type = copy.alloc.getType();
        stageBuffers.bytes += copiedBytes(copy.alloc);
        auto deep = ttg::BufferType::get(b.getContext(), e.stages, type.getElementType(), type.getLayout());
        auto stages = ttg::AllocOp::create(b, copy.alloc.getLoc(), deep);
        if (Attribute throughout = copy.alloc->getAttr(ttg::liveThroughoutName)) stages->setAttr(ttg::liveThroughoutName, throughout);
        stageBuffers.buffers.push_back(copyingAsMuch(stages, copy.alloc));
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
        if (iteration >= circular.distance) continue;
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
      for (int64_t iteration = 0; iteration < circular.distance; ++iteration)
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

  /// At the top each thread waits for its own copies by cp.async.
  void waitForCopiesOfThread(Expansion &e) {
    if (!e.copyAsync) return;
    int64_t pending = 0;
    for (const CircularBuffer &circular : llvm::make_filter_range(e.schedule.circularBuffers, isAsync))
      pending = circular.distance - 1;
    b.setInsertionPointAfter(e.lastStage);
    e.top = ttg::CopyWaitOp::create(b, e.loc, static_cast<int32_t>(pending));
  }

  /// The copies of later iterations. Those at the top go to stages that the previous iteration has released.
  LogicalResult refill(Expansion &e) {
    llvm::SetVector<Operation *> places; // the top of the iteration last
    for (bool top : {false, true})
      for (const CircularBuffer &circular : e.schedule.circularBuffers)
        if (top == !circular.copyAfter) places.insert(circular.copyAfter);
    for (Operation *place : places) {
      b.setInsertionPointAfter(place ? e.positionOf(place) : e.top);
      if (failed(copyLater(e, place))) return failure();
      if (!place) e.top = &*std::prev(b.getInsertionPoint());
    }
    if (e.copyAsync) ttg::CopyCommitOp::create(b, e.loc); // empty ones, too: waiting counts groups
    return success();
  }

  /// The copies of later iterations that stand after `place`, at the insertion point.
  LogicalResult copyLater(Expansion &e, Operation *place) {
    LoopIterations iterations(e.schedule.loop);
    DenseMap<int64_t, Value> existing, targets; // by distance
    for (auto [index, circular] : llvm::enumerate(e.schedule.circularBuffers)) {
      if (circular.copyAfter != place) continue;
      int64_t distance = circular.distance;
      Value &exists = existing[distance], &target = targets[distance];
      if (!exists) exists = iterations.existsLater(b, distance);
      if (!target) target = stageAround(b, e.loc, e.stageIndex, distance, e.stages);
      if (failed(issue(circular, e.stageBuffers[index], iterations.later(b, e.sources[index], distance), target, exists))) return failure();
    }
    return success();
  }

  /// The wait of each circular buffer, before its first reader, in place of its loads. Returns that of the shifted MMA's, if there is one.
  ttg::BarrierWaitOp waits(Expansion &e) {
    ttg::BarrierWaitOp arrival;
    for (auto [circular, stageBuffers] : llvm::zip(e.schedule.circularBuffers, e.stageBuffers)) {
      if (circular.tma && isDequantizing(e.schedule.loop)) {
        waitInPartitions(e.schedule, stageBuffers.buffers, stageBuffers.barriers, e.stageIndex, e.parity);
      } else if (circular.tma) {
        b.setInsertionPoint(circular.firstReader);
        auto wait = ttg::BarrierWaitOp::create(b, e.loc, stageBuffers.barriers, e.stageIndex, e.parity);
        if (circular.firstReader == e.schedule.shiftedMma) arrival = wait;
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
    FailureOr<scf::ForOp> pipelined = pipelineTwoStages(loop, *loop.getBody()->getOps<ttg::WgmmaOp>().begin());
    if (failed(pipelined)) return failure();
    e.schedule.loop = *pipelined;
    b.setInsertionPointAfter(e.schedule.loop);
    return success();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  OpBuilder b;
  bool isWarpSpecialized = false; // the loop at hand
  std::optional<LeftBuffers> left;
  SmallVector<Value> lastEmpty;     // of the loop at hand
  DenseSet<Operation *> finalWaits; // at the kernel's end, until the other CTAs have read all stages
};

} // namespace

LogicalResult pipelineLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) { return Pipeliner(function, config).run(); });
}

} // namespace tilewright::gpu
