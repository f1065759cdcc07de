// What may run ahead in a loop, and in what order an iteration does its work. Of iteration i, with S stages:
//   MMAs that accumulate in place:            wait for stage i; start MMA i; drain MMA i-1; barrier; refill stage i-1 for i+S-1
//   MMAs that are waited for:                 wait for K; multiply; barrier; refill K's stage i for i+S, V's stage i-1 for i+S-1; ...; wait
//                                             for V; multiply
//   the same, an MMA started ahead:           refill K's stage i for i+S; start MMA i+1 with K; ...; wait for V; multiply; drain both;
//                                             barrier; refill V's stage i
//   MMAs of what threads compute:             compute; fill buffer i mod 2; barrier; start MMA i; drain MMA i-1; barrier
//   the same, from tiles in shared memory:    wait for all; compute; fill buffer i mod 3; barrier; refill all stages i for i+S; start MMA
//                                             i; drain MMA i-1
//   the last one accumulates in place:        start MMA i; drain it, and the last one of i-1; barrier; refill all stages i-1 for i+S-1;
//                                             ...; start the last one of i
//   three MMAs or more:                       wait for all; multiply and compute; barrier; refill all stages i for i+S
//   cp.async, whose data a barrier must show: wait for the thread's own copies; barrier; refill stage i-1; multiply
//   the same, MMAs that stay in flight:       wait for the thread's own copies; barrier; start MMA i; drain MMA i-1; barrier; refill stage
//                                             i-1 for i+S-1
// The last barrier proves to the thread that issues copies that all threads have read the stage it fills. Which stage that is, relative to
// the iteration, is a circular buffer's release distance.
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"
#include "ir/volatile_load.h"
#include "support/result.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::AllocOp allocOf(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (auto alloc = dyn_cast<ttg::AllocOp>(op)) return alloc;
    if (!isa<ttg::StageOp, ttg::ViewOp>(op)) return {};
    buffer = op->getOperand(0);
  }
  return {};
}

static void collectAccesses(Value buffer, SmallVectorImpl<Operation *> &accesses) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<ttg::StageOp, ttg::ViewOp>(user))
      collectAccesses(user->getResult(0), accesses);
    else
      accesses.push_back(user);
  }
}

SmallVector<Operation *> accessesOf(ttg::AllocOp alloc) {
  SmallVector<Operation *> accesses;
  collectAccesses(alloc.getResult(), accesses);
  return accesses;
}

//===---------------------------------------------------------------------------------------------------------- candidates

/// Bytes that one cp.async of this load would move: what the pointers are known to have in a row, and the buffer, too.
static int64_t asyncBytes(tt::LoadOp load, ttg::AllocOp alloc) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (load->hasAttr(ttg::unalignedName)) return 0;
  if (!tile || !ttg::hasLayout(tile) || tile.getElementTypeBitWidth() < 8) return 0;
  auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
  int64_t inMemory = (vector ? vector.getInt() : 1) * tile.getElementTypeBitWidth() / 8;
  // Several threads would copy the same bytes.
  Layout layout = ttg::layoutOf(tile);
  if (layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp)) return 0;
  SharedLayout shared = alloc.getType().getLayout().layout();
  return std::min(inMemory, registersInOrder(vectorAccess(layout, shared)) * shared.elementBytes());
}

static bool isZero(Value value) {
  if (auto splat = value.getDefiningOp<tt::SplatOp>()) value = splat.getSrc();
  return matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat());
}

bool mayBeWritten(tt::LoadOp load, scf::ForOp loop) {
  // Atomics first: a question about a store may add a launch guard.
  auto isAtomic = [](Operation *op) { return isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op) ? WalkResult::interrupt() : WalkResult::advance(); };
  if (loop.walk(isAtomic).wasInterrupted()) return true;
  auto mayAlias = [&](tt::StoreOp store) {
    return ttg::assumeNoAlias(load.getPtr(), store.getPtr()) ? WalkResult::advance() : WalkResult::interrupt();
  };
  return loop.walk(mayAlias).wasInterrupted();
}

/// Whether cp.async can do what the load and the store to its buffer do.
static Result<void> checkCopyAsync(tt::LoadOp load, ttg::AllocOp alloc, scf::ForOp loop, bool mayCopyAsync) {
  constexpr int64_t minBytes = 4;
  auto tile = cast<RankedTensorType>(load.getType());
  if (!mayCopyAsync) return Failure{"the GPU has no cp.async"};
  if (tt::isVolatileLoad(load)) return Failure{"it is volatile"};
  if (mayBeWritten(load, loop)) return Failure{"the loop may write what it reads"};
  if (load.getOther() && !isZero(load.getOther())) return Failure{"elements outside of its mask are not 0"};
  if (tile.getElementType() != alloc.getType().getElementType()) return Failure{"the buffer holds elements of another type"};
  if (asyncBytes(load, alloc) < minBytes) return Failure{"cp.async copies at least 4 bytes"};
  return {};
}

static Result<void> checkPrefetch(Operation *load, ttg::AllocOp alloc, LoopIterations &iterations, bool mayCopyAsync) {
  IntegerAttr step;
  scf::ForOp loop = iterations.getLoop();
  bool falls = matchPattern(loop.getStep(), m_Constant(&step)) && !step.getValue().isStrictlyPositive();
  if (loop.getUnsignedCmp() || falls) return Failure{"the loop does not count up in signed numbers"};
  if (!llvm::all_of(load->getOperands(), [&](Value operand) { return iterations.canClone(operand); }))
    return Failure{"its address cannot be computed before the iteration"};
  auto plain = dyn_cast<tt::LoadOp>(load);
  return plain ? checkCopyAsync(plain, alloc, loop, mayCopyAsync) : Result<void>{};
}

/// The readers of the buffer, and where they are done; false if something else touches it, or not all of it is over by the end of an
/// iteration.
static bool findReaders(CircularBuffer &circular, const Copy &copy, Block *body) {
  ttg::StoreSharedOp store = copy.store;
  for (Operation *access : accessesOf(copy.alloc)) {
    if (access == store) continue;
    Operation *reader = body->findAncestorOpInBlock(*access);
    bool threads = isa<ttg::LoadSharedOp, ttg::FmaDotOp>(access), mma = isa<ttg::WgmmaOp>(access);
    if (!reader || !store->isBeforeInBlock(reader) || !(threads || mma)) return false;
    Operation *endOfReads = mma && reader == access ? waitForAllAfter(access).getOperation() : reader;
    if (!endOfReads) return false;
    circular.threadsRead |= threads;
    circular.mmasRead |= mma;
    if (!circular.firstReader || reader->isBeforeInBlock(circular.firstReader)) circular.firstReader = reader;
    if (!circular.endOfReads || circular.endOfReads->isBeforeInBlock(endOfReads)) circular.endOfReads = endOfReads;
  }
  return circular.firstReader != nullptr;
}

/// Copies that are first read at one place are one circular buffer.
static void addCircularBuffer(LoopSchedule &schedule, CircularBuffer circular) {
  auto same = llvm::find_if(schedule.circularBuffers,
                            [&](CircularBuffer &r) { return r.tma == circular.tma && r.firstReader == circular.firstReader; });
  if (same == schedule.circularBuffers.end()) {
    schedule.circularBuffers.push_back(std::move(circular));
    return;
  }
  same->copies.push_back(circular.copies.front());
  if (same->endOfReads->isBeforeInBlock(circular.endOfReads)) same->endOfReads = circular.endOfReads;
  same->threadsRead |= circular.threadsRead;
  same->mmasRead |= circular.mmasRead;
}

static bool isOfRows(const CircularBuffer &circular) {
  return llvm::all_of(circular.copies, [](const Copy &copy) { return ttg::AllocOp(copy.alloc).getType().getShape().size() == 1; });
}

/// Rows of numbers arrive with the tile that is read last before them: one barrier a stage for both, and one wait.
static void mergeRows(LoopSchedule &schedule) {
  for (size_t i = 0; i < schedule.circularBuffers.size();) {
    CircularBuffer &rows = schedule.circularBuffers[i];
    CircularBuffer *tiles = nullptr;
    for (CircularBuffer &circular : schedule.circularBuffers)
      if (circular.tma && rows.tma && !isOfRows(circular) && circular.firstReader->isBeforeInBlock(rows.firstReader))
        if (!tiles || tiles->firstReader->isBeforeInBlock(circular.firstReader)) tiles = &circular;
    if (!isOfRows(rows) || !tiles) {
      ++i;
      continue;
    }
    tiles->copies.append(rows.copies);
    if (tiles->endOfReads->isBeforeInBlock(rows.endOfReads)) tiles->endOfReads = rows.endOfReads;
    tiles->threadsRead |= rows.threadsRead;
    tiles->mmasRead |= rows.mmasRead;
    schedule.circularBuffers.erase(schedule.circularBuffers.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Tiles that threads read one right after the other arrive together: they would wait for each.
static void mergeAdjacent(LoopSchedule &schedule) {
  auto isPassed = [](Operation *op) { // what is left of the copies, too
    return isa<ttg::LoadSharedOp, ttg::DescriptorLoadOp, ttg::AllocOp, ttg::StoreSharedOp>(op) || isMemoryEffectFree(op);
  };
  auto isReadTogether = [&](const CircularBuffer &first, const CircularBuffer &second) {
    if (!first.tma || !second.tma || first.mmasRead || second.mmasRead) return false;
    Operation *op = first.firstReader;
    while (op && op != second.firstReader && isPassed(op))
      op = op->getNextNode();
    return op == second.firstReader;
  };
  llvm::sort(schedule.circularBuffers,
             [](const CircularBuffer &x, const CircularBuffer &y) { return x.firstReader->isBeforeInBlock(y.firstReader); });
  for (size_t i = 0; i + 1 < schedule.circularBuffers.size();) {
    CircularBuffer &first = schedule.circularBuffers[i], &second = schedule.circularBuffers[i + 1];
    if (!isReadTogether(first, second)) {
      ++i;
      continue;
    }
    first.copies.append(second.copies);
    if (first.endOfReads->isBeforeInBlock(second.endOfReads)) first.endOfReads = second.endOfReads;
    schedule.circularBuffers.erase(schedule.circularBuffers.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

/// Whether a buffer is filled in the loop for MMAs alone, which stand after it.
static bool isForDots(ttg::StoreSharedOp store, ttg::AllocOp alloc) {
  if (!alloc || alloc.getType().getDepth() != 1 || alloc->getBlock() != store->getBlock()) return false;
  return llvm::all_of(accessesOf(alloc), [&](Operation *access) {
    return access == store || (isa<ttg::WgmmaOp>(access) && access->getBlock() == store->getBlock() && store->isBeforeInBlock(access));
  });
}

LoopSchedule scheduleLoop(scf::ForOp loop, bool mayCopyAsync) {
  LoopSchedule schedule;
  schedule.loop = loop;
  LoopIterations iterations(loop);
  Block *body = loop.getBody();
  for (auto store : body->getOps<ttg::StoreSharedOp>()) {
    Operation *load = store.getSrc().getDefiningOp();
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    bool isLoad = load && load->getBlock() == body && load->getResult(0).hasOneUse() && isa<tt::LoadOp, ttg::DescriptorLoadOp>(load);
    if (store->hasAttr(ttg::dequantizePartitionName)) {
      schedule.computed.push_back(store); // another warpgroup's, loaded or computed
      continue;
    }
    if (!isLoad && isForDots(store, alloc)) schedule.computed.push_back(store);
    if (!isLoad || !isa<RankedTensorType>(load->getResult(0).getType()) || !alloc || alloc.getType().getDepth() != 1) continue;
    CircularBuffer circular;
    circular.tma = isa<ttg::DescriptorLoadOp>(load);
    circular.copies.push_back({load, store, alloc});
    Result<void> isPrefetchable = checkPrefetch(load, alloc, iterations, mayCopyAsync);
    if (!isPrefetchable && isa<tt::LoadOp>(load) && isForDots(store, alloc)) schedule.computed.push_back(store);
    if (!isPrefetchable)
      schedule.unpipelined.push_back({load, isPrefetchable.error()});
    else if (!findReaders(circular, circular.copies.front(), body))
      schedule.unpipelined.push_back({load, "its buffer is still in use at the end of the iteration"});
    else
      addCircularBuffer(schedule, std::move(circular));
  }
  auto mmas = body->getOps<ttg::WgmmaOp>();
  constexpr int64_t manyMmas = 3; // of fewer, the first one may start an iteration early, and has a circular buffer to itself
  if (std::distance(mmas.begin(), mmas.end()) >= manyMmas) mergeRows(schedule);
  if (!schedule.computed.empty()) mergeAdjacent(schedule);
  return schedule;
}

//===--------------------------------------------------------------------------------------------------------------- order

/// Whether the MMA itself, an iteration later, is the only user of its sum in the loop.
static bool accumulatesInPlace(ttg::WgmmaOp mma, scf::ForOp loop) {
  auto sum = dyn_cast<BlockArgument>(mma.getC());
  if (!sum || sum.getOwner() != loop.getBody() || !sum.hasOneUse() || !mma.getD().hasOneUse()) return false;
  if (mma.getPromotionInterval()) return false; // threads add up what it leaves: it is over by then
  ttg::WgmmaWaitOp wait = waitFor(mma.getD());
  if (!wait || wait.getPending() != 0 || wait->getBlock() != loop.getBody()) return false;
  Value drained = wait.getResults()[mma.getD().getUses().begin()->getOperandNumber()];
  return drained.hasOneUse() && loop.getTiedLoopYieldedValue(sum)->get() == drained;
}

/// Whether what an MMA reads lies in a circular buffer, or in a buffer that the loop does not write.
static bool staysInBuffer(LoopSchedule &schedule, Value operand) {
  ttg::AllocOp alloc = allocOf(operand);
  if (!alloc) return false;
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (llvm::any_of(circular.copies, [&](Copy &copy) { return copy.alloc == alloc; })) return true;
  return llvm::none_of(accessesOf(alloc), [&](Operation *access) {
    return schedule.loop->isAncestor(access) && !isa<ttg::WgmmaOp, ttg::LoadSharedOp, ttg::FmaDotOp, ttg::TmaStoreOp>(access);
  });
}

/// The MMAs of a loop, if all of them may stay in flight over its back edge: their sums stay in the accumulators, and nothing they read is
/// written while they may still be reading. One that may not makes every iteration wait, and then the others gain nothing.
static SmallVector<ttg::WgmmaOp> mmasInFlight(LoopSchedule &schedule) {
  SmallVector<ttg::WgmmaOp> mmas;
  bool all = true;
  auto stays = [&](Value operand) {
    ttg::AllocOp alloc = allocOf(operand);
    bool computed = llvm::any_of(schedule.computed, [&](ttg::StoreSharedOp store) { return allocOf(store.getBuffer()) == alloc; });
    return (alloc && computed) || staysInBuffer(schedule, operand);
  };
  schedule.loop.walk([&](ttg::WgmmaOp mma) {
    all &= mma->getBlock() == schedule.loop.getBody() && accumulatesInPlace(mma, schedule.loop) && stays(mma.getA()) && stays(mma.getB());
    mmas.push_back(mma);
  });
  // A wait for other tiles, too, has to stay.
  schedule.loop.walk([&](ttg::WgmmaWaitOp wait) {
    all &= llvm::all_of(wait.getTiles(), [&](Value tile) { return tile.getDefiningOp<ttg::WgmmaOp>() != nullptr; });
  });
  if (!all) mmas.clear();
  return mmas;
}

/// The wait of an iteration that drains its last MMA of the iteration before: the first one, if the MMA accumulates in place
/// after it. Null if there is none, or the registers do not suffice: meanwhile the MMA keeps those of its first operand.
static ttg::WgmmaWaitOp chooseDrainingWait(LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target) {
  constexpr int64_t minMmas = 3; // of two, the second one's stage would be filled an iteration later than it is free
  Block *body = schedule.loop.getBody();
  ttg::WgmmaOp last;
  int64_t inLoop = 0, inBody = 0;
  schedule.loop.walk([&](ttg::WgmmaOp mma) {
    ++inLoop;
    inBody += mma->getBlock() == body;
    last = mma;
  });
  auto waits = body->getOps<ttg::WgmmaWaitOp>();
  if (inLoop != inBody || inLoop < minMmas || waits.empty() || !accumulatesInPlace(last, schedule.loop)) return {};
  ttg::WgmmaWaitOp first = *waits.begin();
  if (first.getPending() != 0 || first.getTiles().size() != 1 || !first->isBeforeInBlock(last)) return {};
  auto mma = first.getTiles()[0].getDefiningOp<ttg::WgmmaOp>();
  if (!mma || mma->getBlock() != body || !staysInBuffer(schedule, last.getB())) return {};
  int64_t available = registersForTiles(config, target, schedule.warpSpecialized) - accumulatorsOf(schedule.loop);
  if (!isa<RankedTensorType>(last.getA().getType())) return staysInBuffer(schedule, last.getA()) ? first : ttg::WgmmaWaitOp();
  return registersOf(last.getA().getType()) <= available ? first : ttg::WgmmaWaitOp();
}

/// An MMA that may be started an iteration early: alone it reads the first circular buffer, everything else it reads stays as it is, and
/// another MMA follows in the iteration, which a thread waits for anyway. Its result then exists twice; the registers must suffice.
static ttg::WgmmaOp chooseMmaToPrefetch(LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target) {
  Block *body = schedule.loop.getBody();
  CircularBuffer *first = &schedule.circularBuffers.front();
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (circular.firstReader->isBeforeInBlock(first->firstReader)) first = &circular;
  if (first != &schedule.circularBuffers.front()) std::swap(*first, schedule.circularBuffers.front());
  first = &schedule.circularBuffers.front();
  auto mma = dyn_cast<ttg::WgmmaOp>(first->firstReader);
  if (!mma || mma.getUseC() || !schedule.loop.isDefinedOutsideOfLoop(mma.getC()) || !mma.getD().hasOneUse()) return {};
  auto wait = dyn_cast<ttg::WgmmaWaitOp>(mma->getNextNode());
  if (!wait || wait.getPending() != 0 || wait.getTiles().size() != 1 || wait.getTiles()[0] != mma.getD()) return {};
  for (Copy &copy : first->copies)
    for (Operation *access : accessesOf(copy.alloc))
      if (access != mma && access != copy.store) return {};
  for (Value operand : {Value(mma.getA()), Value(mma.getB())}) {
    ttg::AllocOp alloc = allocOf(operand);
    if (!alloc) return {};
    bool own = llvm::any_of(first->copies, [&](Copy &copy) { return copy.alloc == alloc; });
    if (own) continue;
    for (Operation *access : accessesOf(alloc))
      if (schedule.loop->isAncestor(access) && !isa<ttg::WgmmaOp, ttg::LoadSharedOp, ttg::FmaDotOp>(access)) return {};
  }
  bool rotates = schedule.warpSpecialized && config.getWarps() == 2 * warpsOfGroup && canPipelineTwoStages(schedule.loop, mma);
  int64_t registers = accumulatorsOf(schedule.loop) + (rotates ? 0 : registersOf(mma.getType())), mmas = 0;
  bool inBody = true;
  schedule.loop.walk([&](ttg::WgmmaOp other) {
    inBody &= other->getBlock() == body;
    mmas += other != mma;
    if (rotates && isa<RankedTensorType>(other.getA().getType())) registers += registersOf(other.getA().getType());
  });
  if (schedule.warpSpecialized && !rotates) return {};
  ttg::WgmmaWaitOp last = lastWaitIn(body);
  // Where several CTAs share an SM, one multiplies while another does its softmax: then the registers are worth more.
  bool suits = limitsToOneCtaPerSM(schedule, config, target) && inBody && mmas > 0 && last != wait && last.getPending() == 0 &&
               registers <= registersForTiles(config, target, schedule.warpSpecialized);
  return suits ? mma : ttg::WgmmaOp();
}

ttg::FenceAsyncOp fenceAfterComputed(const LoopSchedule &schedule, int64_t stages) {
  Operation *op = nullptr;
  for (ttg::StoreSharedOp store : schedule.computed)
    if (!op || op->isBeforeInBlock(store)) op = store;
  while (isa_and_nonnull<ttg::StoreSharedOp>(op))
    op = op->getNextNode();
  auto fence = dyn_cast_or_null<ttg::FenceAsyncOp>(op);
  auto areRead = [&](const CircularBuffer &circular) {
    // After it the MMAs of the iteration before the last one are over: a stage of three would be filled only when it is needed.
    bool isFree = circular.mmasRead ? !circular.threadsRead && stages > 3 : circular.endOfReads->isBeforeInBlock(fence);
    return circular.tma && isFree;
  };
  return fence && llvm::all_of(schedule.circularBuffers, areRead) ? fence : ttg::FenceAsyncOp();
}

void scheduleRefills(LoopSchedule &schedule, int64_t stages, ttg::ConfigAttr config, const GpuTarget &target) {
  schedule.stages = stages;
  schedule.drainingWait = {};
  schedule.publishFence = {};
  schedule.inFlight = mmasInFlight(schedule);
  if (schedule.circularBuffers.empty()) return;
  bool byThreads = llvm::any_of(schedule.circularBuffers, [](CircularBuffer &circular) { return !circular.tma; });
  if (byThreads) {
    schedule.refillAfter = schedule.inFlight.empty() ? nullptr : schedule.inFlight.back().getOperation();
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.releaseDistance = 1;
    return;
  }
  if (!schedule.inFlight.empty() && !schedule.warpSpecialized && schedule.computedStages == stagesWithoutWaiting)
    schedule.publishFence = fenceAfterComputed(schedule, stages);
  if (schedule.publishFence) {
    schedule.refillAfter = schedule.publishFence;
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.releaseDistance = circular.mmasRead ? 2 : 0;
    return;
  }
  if (!schedule.inFlight.empty()) {
    schedule.refillAfter = schedule.inFlight.back();
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.releaseDistance = 1;
    return;
  }
  schedule.prefetchedMma = chooseMmaToPrefetch(schedule, config, target);
  if (!schedule.prefetchedMma) schedule.drainingWait = chooseDrainingWait(schedule, config, target);
  if (schedule.drainingWait) {
    for (auto mma : schedule.loop.getBody()->getOps<ttg::WgmmaOp>())
      schedule.inFlight.assign(1, mma);
    schedule.refillAfter = schedule.drainingWait;
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.releaseDistance = 1;
    return;
  }
  if (schedule.prefetchedMma || schedule.warpSpecialized) {
    // All of the iteration is over after its last MMA. The first circular buffer's stage has been free since the iteration before: it is
    // filled at the top, or a producer learns of it where the MMA that starts ahead is waited for.
    if (ttg::WgmmaWaitOp last = lastWaitIn(schedule.loop.getBody())) schedule.refillAfter = last;
    for (CircularBuffer &circular : schedule.circularBuffers) {
      if (!schedule.refillAfter || schedule.refillAfter->isBeforeInBlock(circular.endOfReads)) schedule.refillAfter = circular.endOfReads;
      circular.releaseDistance = 0;
    }
    return;
  }
  // Two MMAs alternate with what is computed between them; of more, some run at one time, and a barrier among them would part them.
  auto mmas = schedule.loop.getBody()->getOps<ttg::WgmmaOp>();
  bool early = std::distance(mmas.begin(), mmas.end()) <= 2;
  schedule.refillAfter = schedule.circularBuffers.front().endOfReads;
  for (CircularBuffer &circular : schedule.circularBuffers)
    if (circular.endOfReads->isBeforeInBlock(schedule.refillAfter) == early) schedule.refillAfter = circular.endOfReads;
  for (CircularBuffer &circular : schedule.circularBuffers)
    circular.releaseDistance = circular.endOfReads == schedule.refillAfter ? 0 : 1;
}

/// Whether an iteration loads tiles itself, not in a loop of its own.
static bool loadsTiles(scf::ForOp loop) {
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    bool load = isa<tt::LoadOp, ttg::DescriptorLoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
    return load && op->getParentOfType<scf::ForOp>() == loop ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

void recordDecision(const LoopSchedule &schedule, int64_t wanted) {
  scf::ForOp loop = schedule.loop;
  if (!loadsTiles(loop)) return;
  std::string reason;
  if (wanted < 2)
    reason = "num_stages is " + std::to_string(wanted);
  else if (schedule.circularBuffers.empty())
    reason = schedule.unpipelined.empty() ? "it only loads to registers, and only copies to shared memory are pipelined"
                                          : "none of its loads can be pipelined";
  else if (schedule.stages < wanted)
    reason = "shared memory is too small for more";
  MLIRContext *context = loop.getContext();
  loop->setAttr(ttg::loopScheduleName, ttg::LoopScheduleAttr::get(context, schedule.stages, wanted, int64_t(schedule.inFlight.size()),
                                                                  bool(schedule.prefetchedMma), reason));
  if (schedule.crossTilePrefetch) loop->setAttr(ttg::crossTilePrefetchName, UnitAttr::get(context));
  for (const UnpipelinedLoad &each : schedule.unpipelined)
    each.load->setAttr(ttg::notPipelinedName, StringAttr::get(context, each.reason));
}

} // namespace tilewright::gpu
