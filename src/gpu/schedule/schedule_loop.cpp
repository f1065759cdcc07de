// What may run ahead in a loop, and in what order an iteration does its work. Of iteration i, with S slots:
//   products that accumulate in place:      wait for slot i; start product i; retire product i-1; sync; refill slot i-1 for i+S-1
//   products that are waited for:           wait for K; multiply; sync; refill K's slot i for i+S, V's slot i-1 for i+S-1; ...;
//                                           wait for V; multiply
//   the same, a product started ahead:      refill K's slot i for i+S; start product i+1 with K; ...;
//                                           wait for V; multiply; retire both; sync; refill V's slot i
//   products of what threads compute:       compute; fill buffer i mod 2; sync; start product i; retire product i-1; sync
//   the same, from tiles in shared memory:  wait for all; compute; fill buffer i mod 3; sync; refill all slots i for i+S; start product i;
//                                           retire product i-1
//   the last one accumulates in place:      start product i; retire it, and the last one of i-1; sync; refill all slots i-1 for i+S-1; ...;
//                                           start the last one of i
//   three products or more:                 wait for all; multiply and compute; sync; refill all slots i for i+S
//   cp.async, whose data a sync must show:  wait for the thread's own copies; sync; refill slot i-1; multiply
//   the same, products that run on:         wait for the thread's own copies; sync; start product i; retire product i-1; sync; refill slot
//                                           i-1 for i+S-1
// The last sync proves to the thread that issues copies that all threads have read the slot it fills. Which slot that is, relative to the
// iteration, is a ring's lag.
#include "gpu/schedule/pipeline.h"
#include "gpu/schedule/widen_apart.h"
#include "gpu/tiles/covering.h"
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
    if (!isa<ttg::SlotOp, ttg::ViewOp>(op)) return {};
    buffer = op->getOperand(0);
  }
  return {};
}

static void collectAccesses(Value buffer, SmallVectorImpl<Operation *> &accesses) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<ttg::SlotOp, ttg::ViewOp>(user))
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

/// The next wait that lets every product before it through; null if the block has none.
static Operation *retirement(Operation *product) {
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<ttg::WgmmaWaitOp>(op))
      if (wait.getPending() == 0) return op;
  return nullptr;
}

//===---------------------------------------------------------------------------------------------------------- candidates

/// Bytes that one cp.async of this load would move: what the pointers are known to have in a row, and the buffer, too.
static int64_t asyncBytes(tt::LoadOp load, ttg::AllocOp alloc) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (load->hasAttr(ttg::coveringName)) return 0;
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
  bool written = false;
  loop.walk([&](Operation *op) {
    if (auto store = dyn_cast<tt::StoreOp>(op)) written |= !ttg::areApart(load.getPtr(), store.getPtr());
    written |= isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op);
  });
  return written;
}

/// Whether cp.async can do what the load and the store to its buffer do.
static Result<void> checkCopyAsync(tt::LoadOp load, ttg::AllocOp alloc, scf::ForOp loop, bool mayCopyAsync) {
  constexpr int64_t minBytes = 4;
  auto tile = cast<RankedTensorType>(load.getType());
  if (!mayCopyAsync) return Failure{"there is no cp.async"};
  if (tt::isVolatileLoad(load)) return Failure{"it is volatile"};
  if (mayBeWritten(load, loop)) return Failure{"the loop may write what it reads"};
  if (load.getOther() && !isZero(load.getOther())) return Failure{"elements outside of its mask are not 0"};
  if (tile.getElementType() != alloc.getType().getElementType()) return Failure{"the buffer holds elements of another type"};
  if (asyncBytes(load, alloc) < minBytes) return Failure{"cp.async moves 4 bytes at least"};
  return {};
}

static Result<void> checkAhead(Operation *load, ttg::AllocOp alloc, LoopIterations &iterations, bool mayCopyAsync) {
  IntegerAttr step;
  scf::ForOp loop = iterations.getLoop();
  bool falls = matchPattern(loop.getStep(), m_Constant(&step)) && !step.getValue().isStrictlyPositive();
  if (loop.getUnsignedCmp() || falls) return Failure{"the loop does not count up in signed numbers"};
  if (!llvm::all_of(load->getOperands(), [&](Value operand) { return iterations.canClone(operand); }))
    return Failure{"its address is not known ahead of the iteration"};
  auto plain = dyn_cast<tt::LoadOp>(load);
  return plain ? checkCopyAsync(plain, alloc, loop, mayCopyAsync) : Result<void>{};
}

/// Who reads the buffer, and where that is over; false if something else touches it, or not all of it is over by the end of an iteration.
static bool findReaders(Ring &ring, const Copy &copy, Block *body) {
  ttg::StoreSharedOp store = copy.store;
  for (Operation *access : accessesOf(copy.alloc)) {
    if (access == store) continue;
    Operation *reader = body->findAncestorOpInBlock(*access);
    bool threads = isa<ttg::LoadSharedOp, ttg::FmaDotOp>(access), product = isa<ttg::WgmmaOp>(access);
    if (!reader || !store->isBeforeInBlock(reader) || !(threads || product)) return false;
    Operation *retired = product && reader == access ? retirement(access) : reader;
    if (!retired) return false;
    ring.threadsRead |= threads;
    ring.productsRead |= product;
    if (!ring.firstReader || reader->isBeforeInBlock(ring.firstReader)) ring.firstReader = reader;
    if (!ring.retired || ring.retired->isBeforeInBlock(retired)) ring.retired = retired;
  }
  return ring.firstReader != nullptr;
}

/// Copies that are first read at one place are one ring.
static void addRing(LoopSchedule &schedule, Ring ring) {
  auto same = llvm::find_if(schedule.rings, [&](Ring &r) { return r.tma == ring.tma && r.firstReader == ring.firstReader; });
  if (same == schedule.rings.end()) {
    schedule.rings.push_back(std::move(ring));
    return;
  }
  same->copies.push_back(ring.copies.front());
  if (same->retired->isBeforeInBlock(ring.retired)) same->retired = ring.retired;
  same->threadsRead |= ring.threadsRead;
  same->productsRead |= ring.productsRead;
}

static bool isOfRows(const Ring &ring) {
  return llvm::all_of(ring.copies, [](const Copy &copy) { return ttg::AllocOp(copy.alloc).getType().getShape().size() == 1; });
}

/// Rows of numbers arrive with the tile that is read last before them: one barrier a slot for both, and one wait.
static void mergeRows(LoopSchedule &schedule) {
  for (size_t i = 0; i < schedule.rings.size();) {
    Ring &rows = schedule.rings[i];
    Ring *tiles = nullptr;
    for (Ring &ring : schedule.rings)
      if (ring.tma && rows.tma && !isOfRows(ring) && ring.firstReader->isBeforeInBlock(rows.firstReader))
        if (!tiles || tiles->firstReader->isBeforeInBlock(ring.firstReader)) tiles = &ring;
    if (!isOfRows(rows) || !tiles) {
      ++i;
      continue;
    }
    tiles->copies.append(rows.copies);
    if (tiles->retired->isBeforeInBlock(rows.retired)) tiles->retired = rows.retired;
    tiles->threadsRead |= rows.threadsRead;
    tiles->productsRead |= rows.productsRead;
    schedule.rings.erase(schedule.rings.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Tiles that threads read one right behind the other arrive together: they would wait for each.
static void mergeNeighbors(LoopSchedule &schedule) {
  auto isPassed = [](Operation *op) { // what is left of the copies, too
    return isa<ttg::LoadSharedOp, ttg::DescriptorLoadOp, ttg::AllocOp, ttg::SyncOp, ttg::StoreSharedOp>(op) || isMemoryEffectFree(op);
  };
  auto isReadBeside = [&](const Ring &first, const Ring &second) {
    if (!first.tma || !second.tma || first.productsRead || second.productsRead) return false;
    Operation *op = first.firstReader;
    while (op && op != second.firstReader && isPassed(op))
      op = op->getNextNode();
    return op == second.firstReader;
  };
  llvm::sort(schedule.rings, [](const Ring &x, const Ring &y) { return x.firstReader->isBeforeInBlock(y.firstReader); });
  for (size_t i = 0; i + 1 < schedule.rings.size();) {
    Ring &first = schedule.rings[i], &second = schedule.rings[i + 1];
    if (!isReadBeside(first, second)) {
      ++i;
      continue;
    }
    first.copies.append(second.copies);
    if (first.retired->isBeforeInBlock(second.retired)) first.retired = second.retired;
    schedule.rings.erase(schedule.rings.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

/// Whether a buffer is filled in the loop for products alone, which stand behind it.
static bool isForProducts(ttg::StoreSharedOp store, ttg::AllocOp alloc) {
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
    if (store->hasAttr(widenerName)) {
      schedule.computed.push_back(store); // another warpgroup's, loaded or computed
      continue;
    }
    if (!isLoad && isForProducts(store, alloc)) schedule.computed.push_back(store);
    if (!isLoad || !isa<RankedTensorType>(load->getResult(0).getType()) || !alloc || alloc.getType().getDepth() != 1) continue;
    Ring ring;
    ring.tma = isa<ttg::DescriptorLoadOp>(load);
    ring.copies.push_back({load, store, alloc});
    Result<void> ahead = checkAhead(load, alloc, iterations, mayCopyAsync);
    if (!ahead && isa<tt::LoadOp>(load) && isForProducts(store, alloc)) schedule.computed.push_back(store);
    if (!ahead)
      schedule.inPlace.push_back({load, ahead.error()});
    else if (!findReaders(ring, ring.copies.front(), body))
      schedule.inPlace.push_back({load, "its buffer is still in use at the end of the iteration"});
    else
      addRing(schedule, std::move(ring));
  }
  auto products = body->getOps<ttg::WgmmaOp>();
  constexpr int64_t manyProducts = 3; // of fewer, the first one may start an iteration early, and has a ring to itself
  if (std::distance(products.begin(), products.end()) >= manyProducts) mergeRows(schedule);
  if (!schedule.computed.empty()) mergeNeighbors(schedule);
  return schedule;
}

//===--------------------------------------------------------------------------------------------------------------- order

/// Whether the product itself, an iteration later, is the only user of its sum in the loop.
static bool accumulatesInPlace(ttg::WgmmaOp product, scf::ForOp loop) {
  auto sum = dyn_cast<BlockArgument>(product.getC());
  if (!sum || sum.getOwner() != loop.getBody() || !sum.hasOneUse() || !product.getD().hasOneUse()) return false;
  if (product.getExactEvery()) return false; // threads add up what it leaves: it is over by then
  auto wait = dyn_cast<ttg::WgmmaWaitOp>(*product.getD().user_begin());
  if (!wait || wait.getPending() != 0 || wait->getBlock() != loop.getBody()) return false;
  Value retired = wait.getResults()[product.getD().getUses().begin()->getOperandNumber()];
  return retired.hasOneUse() && loop.getTiedLoopYieldedValue(sum)->get() == retired;
}

/// Whether what a product reads lies in a ring, or in a buffer that the loop does not write.
static bool staysInBuffer(LoopSchedule &schedule, Value operand) {
  ttg::AllocOp alloc = allocOf(operand);
  if (!alloc) return false;
  for (Ring &ring : schedule.rings)
    if (llvm::any_of(ring.copies, [&](Copy &copy) { return copy.alloc == alloc; })) return true;
  return llvm::none_of(accessesOf(alloc), [&](Operation *access) {
    return schedule.loop->isAncestor(access) && !isa<ttg::WgmmaOp, ttg::LoadSharedOp, ttg::FmaDotOp, ttg::TmaStoreOp>(access);
  });
}

/// The products of a loop, if all of them may run on over its back edge: their sums stay in the accumulators, and nothing they read is
/// written while they may still be reading. One that may not makes every iteration wait, and then the others gain nothing.
static SmallVector<ttg::WgmmaOp> productsInFlight(LoopSchedule &schedule) {
  SmallVector<ttg::WgmmaOp> products;
  bool all = true;
  auto stays = [&](Value operand) {
    ttg::AllocOp alloc = allocOf(operand);
    bool computed = llvm::any_of(schedule.computed, [&](ttg::StoreSharedOp store) { return allocOf(store.getBuffer()) == alloc; });
    return (alloc && computed) || staysInBuffer(schedule, operand);
  };
  schedule.loop.walk([&](ttg::WgmmaOp product) {
    all &= product->getBlock() == schedule.loop.getBody() && accumulatesInPlace(product, schedule.loop) && stays(product.getA()) &&
           stays(product.getB());
    products.push_back(product);
  });
  // A wait for other tiles, too, has to stay.
  schedule.loop.walk([&](ttg::WgmmaWaitOp wait) {
    all &= llvm::all_of(wait.getTiles(), [&](Value tile) { return tile.getDefiningOp<ttg::WgmmaOp>() != nullptr; });
  });
  if (!all) products.clear();
  return products;
}

/// The wait of an iteration that retires its last product of the iteration before: the first one, if the product accumulates in place
/// behind it. Null if there is none, or the registers do not suffice: meanwhile the product keeps those of its first operand.
static ttg::WgmmaWaitOp retiringWait(LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target) {
  constexpr int64_t minDots = 3; // of two, the second one's slot would be filled an iteration later than it is free
  Block *body = schedule.loop.getBody();
  ttg::WgmmaOp last;
  int64_t inLoop = 0, inBody = 0;
  schedule.loop.walk([&](ttg::WgmmaOp product) {
    ++inLoop;
    inBody += product->getBlock() == body;
    last = product;
  });
  auto waits = body->getOps<ttg::WgmmaWaitOp>();
  if (inLoop != inBody || inLoop < minDots || waits.empty() || !accumulatesInPlace(last, schedule.loop)) return {};
  ttg::WgmmaWaitOp first = *waits.begin();
  if (first.getPending() != 0 || first.getTiles().size() != 1 || !first->isBeforeInBlock(last)) return {};
  auto product = first.getTiles()[0].getDefiningOp<ttg::WgmmaOp>();
  if (!product || product->getBlock() != body || !staysInBuffer(schedule, last.getB())) return {};
  int64_t available = registersForTiles(config, target, schedule.roles) - accumulatorsOf(schedule.loop);
  if (!isa<RankedTensorType>(last.getA().getType())) return staysInBuffer(schedule, last.getA()) ? first : ttg::WgmmaWaitOp();
  return registersOf(last.getA().getType()) <= available ? first : ttg::WgmmaWaitOp();
}

/// A product that may be started an iteration early: alone it reads the first ring, everything else it reads stays as it is, and another
/// product follows in the iteration, which a thread waits for anyway. Its result then exists twice; the registers must suffice.
static ttg::WgmmaOp productAhead(LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target) {
  Block *body = schedule.loop.getBody();
  Ring *first = &schedule.rings.front();
  for (Ring &ring : schedule.rings)
    if (ring.firstReader->isBeforeInBlock(first->firstReader)) first = &ring;
  if (first != &schedule.rings.front()) std::swap(*first, schedule.rings.front());
  first = &schedule.rings.front();
  auto product = dyn_cast<ttg::WgmmaOp>(first->firstReader);
  if (!product || product.getUseC() || !schedule.loop.isDefinedOutsideOfLoop(product.getC()) || !product.getD().hasOneUse()) return {};
  auto wait = dyn_cast<ttg::WgmmaWaitOp>(product->getNextNode());
  if (!wait || wait.getPending() != 0 || wait.getTiles().size() != 1 || wait.getTiles()[0] != product.getD()) return {};
  for (Copy &copy : first->copies)
    for (Operation *access : accessesOf(copy.alloc))
      if (access != product && access != copy.store) return {};
  for (Value operand : {Value(product.getA()), Value(product.getB())}) {
    ttg::AllocOp alloc = allocOf(operand);
    if (!alloc) return {};
    bool own = llvm::any_of(first->copies, [&](Copy &copy) { return copy.alloc == alloc; });
    if (own) continue;
    for (Operation *access : accessesOf(alloc))
      if (schedule.loop->isAncestor(access) && !isa<ttg::WgmmaOp, ttg::LoadSharedOp, ttg::FmaDotOp>(access)) return {};
  }
  bool rotates = schedule.roles && config.getWarps() == 2 * warpsOfGroup && canRotate(schedule.loop, product);
  int64_t registers = accumulatorsOf(schedule.loop) + (rotates ? 0 : registersOf(product.getType())), products = 0;
  bool inBody = true;
  ttg::WgmmaWaitOp last;
  schedule.loop.walk([&](ttg::WgmmaOp other) {
    inBody &= other->getBlock() == body;
    products += other != product;
    if (rotates && isa<RankedTensorType>(other.getA().getType())) registers += registersOf(other.getA().getType());
  });
  if (schedule.roles && !rotates) return {};
  for (auto each : body->getOps<ttg::WgmmaWaitOp>())
    last = each;
  // Where several blocks share a multiprocessor, one multiplies while another does its softmax: then the registers are worth more.
  bool suits = limitsToOneCtaPerSM(schedule, config, target) && inBody && products > 0 && last != wait && last.getPending() == 0 &&
               registers <= registersForTiles(config, target, schedule.roles);
  return suits ? product : ttg::WgmmaOp();
}

ttg::SyncOp syncBehindComputed(const LoopSchedule &schedule, int64_t stages) {
  Operation *op = nullptr;
  for (ttg::StoreSharedOp store : schedule.computed)
    if (!op || op->isBeforeInBlock(store)) op = store;
  while (isa_and_nonnull<ttg::StoreSharedOp>(op))
    op = op->getNextNode();
  if (!isa_and_nonnull<ttg::FenceAsyncOp>(op)) return {};
  auto sync = dyn_cast_or_null<ttg::SyncOp>(op->getNextNode());
  auto areRead = [&](const Ring &ring) {
    // Behind it the products of the iteration before the last one are over: a slot of three would be filled only when it is needed.
    bool isFree = ring.productsRead ? !ring.threadsRead && stages > 3 : ring.retired->isBeforeInBlock(sync);
    return ring.tma && isFree;
  };
  return sync && llvm::all_of(schedule.rings, areRead) ? sync : ttg::SyncOp();
}

void placeRefills(LoopSchedule &schedule, int64_t stages, ttg::ConfigAttr config, const GpuTarget &target) {
  schedule.stages = stages;
  schedule.retiring = {};
  schedule.shown = {};
  schedule.inFlight = productsInFlight(schedule);
  if (schedule.rings.empty()) return;
  bool byThreads = llvm::any_of(schedule.rings, [](Ring &ring) { return !ring.tma; });
  if (byThreads) {
    schedule.refillAfter = schedule.inFlight.empty() ? nullptr : schedule.inFlight.back().getOperation();
    for (Ring &ring : schedule.rings)
      ring.lag = 1;
    return;
  }
  if (!schedule.inFlight.empty() && !schedule.roles && schedule.computedSlots == slotsWithoutWaiting)
    schedule.shown = syncBehindComputed(schedule, stages);
  if (schedule.shown) {
    schedule.refillAfter = schedule.shown;
    for (Ring &ring : schedule.rings)
      ring.lag = ring.productsRead ? 2 : 0;
    return;
  }
  if (!schedule.inFlight.empty()) {
    schedule.refillAfter = schedule.inFlight.back();
    for (Ring &ring : schedule.rings)
      ring.lag = 1;
    return;
  }
  schedule.ahead = productAhead(schedule, config, target);
  if (!schedule.ahead) schedule.retiring = retiringWait(schedule, config, target);
  if (schedule.retiring) {
    for (auto product : schedule.loop.getBody()->getOps<ttg::WgmmaOp>())
      schedule.inFlight.assign(1, product);
    schedule.refillAfter = schedule.retiring;
    for (Ring &ring : schedule.rings)
      ring.lag = 1;
    return;
  }
  if (schedule.ahead || schedule.roles) {
    // All of the iteration is over behind its last product. The first ring's slot has been free since the iteration before: it is filled at
    // the top, or a producer is told of it where the product that starts ahead is waited for.
    for (auto wait : schedule.loop.getBody()->getOps<ttg::WgmmaWaitOp>())
      schedule.refillAfter = wait;
    for (Ring &ring : schedule.rings) {
      if (!schedule.refillAfter || schedule.refillAfter->isBeforeInBlock(ring.retired)) schedule.refillAfter = ring.retired;
      ring.lag = 0;
    }
    return;
  }
  // Two products take turns with what is computed between them; of more, some run at one time, and a sync among them would part them.
  auto products = schedule.loop.getBody()->getOps<ttg::WgmmaOp>();
  bool early = std::distance(products.begin(), products.end()) <= 2;
  schedule.refillAfter = schedule.rings.front().retired;
  for (Ring &ring : schedule.rings)
    if (ring.retired->isBeforeInBlock(schedule.refillAfter) == early) schedule.refillAfter = ring.retired;
  for (Ring &ring : schedule.rings)
    ring.lag = ring.retired == schedule.refillAfter ? 0 : 1;
}

/// Whether an iteration loads tiles itself, not in a loop of its own.
static bool loadsTiles(scf::ForOp loop) {
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    bool load = isa<tt::LoadOp, ttg::DescriptorLoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
    return load && op->getParentOfType<scf::ForOp>() == loop ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

void noteDecision(const LoopSchedule &schedule, int64_t wanted) {
  scf::ForOp loop = schedule.loop;
  if (!loadsTiles(loop)) return;
  std::string reason;
  if (wanted < 2)
    reason = "num_stages is " + std::to_string(wanted);
  else if (schedule.rings.empty())
    reason =
        schedule.inPlace.empty() ? "it loads to registers, and only copies to shared memory run ahead" : "none of its loads can run ahead";
  else if (schedule.stages < wanted)
    reason = "shared memory has no space for more";
  MLIRContext *context = loop.getContext();
  loop->setAttr(ttg::pipelineName,
                ttg::PipelineAttr::get(context, schedule.stages, wanted, int64_t(schedule.inFlight.size()), bool(schedule.ahead), reason));
  if (schedule.throughTiles) loop->setAttr(throughTilesName, UnitAttr::get(context));
  for (const UnpipelinedLoad &each : schedule.inPlace)
    each.load->setAttr(ttg::notAheadName, StringAttr::get(context, each.reason));
}

} // namespace tilewright::gpu
