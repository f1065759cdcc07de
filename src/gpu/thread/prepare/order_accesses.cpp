// Inserts barriers between accesses to global memory of different threads that must keep their order, and before releases:
//   before: tt.store %p, %x    %y = tt.load %q                  %q may point to what another thread stores
//   after:  tt.store %p, %x    ttg.cta_barrier    %y = tt.load %q
// Accesses through the same pointers need none if one thread makes both to each address: then no two elements may have the same address.
// Pointers from two arguments of the kernel are assumed disjoint, and a launch guard says so. An atomic operation with a release waits for
// the writes of all threads, and for TMA stores. In a cluster, the barrier is that of all CTAs; after an exchange between CTAs, they arrive
// at it and wait later, before the next exchange or control flow.
#include "gpu/passes.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/prepare/access_log.h"
#include "gpu/ttg/ttg.h"
#include "ir/address/indices.h"
#include "ir/refusal.h"
#include "ir/written_arguments.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

/// True if each element is accessed by a single thread.
static bool isExclusive(Value pointer) {
  if (!isa<RankedTensorType>(pointer.getType())) return false;
  Layout layout = ttg::layoutOf(pointer.getType());
  return !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
}

/// The effect on memory of a load, copy, store or atomic operation; null for other operations. Atomic operations of one kind commute,
/// except exchanges and those with a used result.
static std::optional<GlobalAccess> accessOf(Operation *op) {
  if (auto load = dyn_cast<tt::LoadOp>(op)) return GlobalAccess{load.getPtr(), load.getMask()};
  if (auto copy = dyn_cast<ttg::CopyAsyncOp>(op)) return GlobalAccess{copy.getPointers(), copy.getMask()};
  if (auto store = dyn_cast<tt::StoreOp>(op)) return GlobalAccess{store.getPtr(), store.getMask(), /*writes=*/true};
  if (auto swap = dyn_cast<tt::AtomicCASOp>(op)) return GlobalAccess{swap.getPtr(), Value(), /*writes=*/true};
  auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
  if (!atomic) return std::nullopt;
  GlobalAccess access{atomic.getPtr(), atomic.getMask(), /*writes=*/true};
  if (atomic.getResult().use_empty() && atomic.getAtomicRmwOp() != tt::RMWOp::XCHG) access.blind = atomic.getAtomicRmwOp();
  return access;
}

static bool releases(Operation *atomic) {
  auto swap = dyn_cast<tt::AtomicCASOp>(atomic);
  auto update = dyn_cast<tt::AtomicRMWOp>(atomic);
  if (!swap && !update) return false;
  tt::MemSemantic order = swap ? swap.getSem() : update.getSem();
  return order == tt::MemSemantic::RELEASE || order == tt::MemSemantic::ACQUIRE_RELEASE;
}

/// True if an operation that comes after `op` in the IR may run before it: a loop around both repeats them, or they are in two partitions,
/// which run at the same time.
static bool mayRunBefore(Operation *later, Operation *op) {
  for (Region *region = op->getParentRegion(); !isa<tt::FuncOp>(region->getParentOp()); region = region->getParentRegion()) {
    Operation *around = region->getParentOp();
    if (!around->isAncestor(later) || isa<scf::IfOp>(around)) continue;
    if (!isa<ttg::WarpSpecializeOp>(around) || !region->isAncestor(later->getParentRegion())) return true;
  }
  return false;
}

/// True if TMA stores of an earlier iteration may still be in flight, which are not ordered with this one. Stores of one iteration are
/// disjoint, and reductions commute.
static bool mayOvertakeTmaStore(ttg::TmaStoreOp op) {
  if (op.getReduce()) return false;
  if (!op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>()) return false;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (auto store = dyn_cast<ttg::TmaStoreOp>(before); store && !store.getReduce())
      return false; // that store has waited for all earlier ones
  return true;
}

namespace {

/// What an analysis says about two accesses.
struct Assumption {
  std::optional<std::vector<LaunchGuard>> guards; ///< under which it holds, and may be empty; null: it does not hold
  bool isReliedOn = false;                        ///< by the kernel
};

class AccessOrder {
public:
  AccessOrder(tt::FuncOp kernel, bool isCluster)
      : kernel(kernel), isCluster(isCluster), failedGuards(ttg::failedGuardsOf(kernel)), b(kernel.getContext()) {
    kernel.walk([&](ttg::TmaStoreOp store) { tmaStores.push_back(store); });
  }

  /// Fails if a bug has been reported.
  LogicalResult run() {
    visit(kernel.getBody().front());
    return success(!foundBug);
  }

private:
  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      visit(&op);
    waitBefore(block.getTerminator());
  }

  void visit(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](scf::ForOp loop) { visitLoop(loop); })
        .Case([&](scf::WhileOp loop) { loop->hasAttr(ttg::spinName) ? visitSpin(loop) : visitLoop(loop); })
        .Case([&](scf::IfOp branch) { visitBranch(branch); })
        .Case([&](ttg::WarpSpecializeOp partitions) { visitPartitions(partitions); })
        .Case<tt::LoadOp, tt::StoreOp, ttg::CopyAsyncOp>([&](auto access) { visitAccess(access); })
        .Case([&](tt::MapElementwiseOp map) { map.walk([&](tt::LoadOp load) { orderAccess(load, map); }); })
        .Case<tt::AtomicRMWOp, tt::AtomicCASOp>([&](auto atomic) {
          orderAtomic(atomic, atomic);
          sharesResults(atomic);
        })
        .Case([&](ttg::TmaStoreOp store) {
          if (mayOvertakeTmaStore(store)) waitForTmaStores(store);
          isAfterTmaStore = true;
        })
        .Case([&](ttg::ReadClusterOp exchange) { visitExchange(exchange); })
        .Default([&](Operation *other) {
          if (!ttg::isDebugBarrier(other)) return;
          barrierBefore(other);
          other->erase();
        });
  }

  //===------------------------------------------------------------------------------------------------------- control flow

  void visitLoop(Operation *loop) {
    waitBefore(loop);
    orderLoop(loop);
    AccessLog::Mark before = log.mark();
    expectIteration(loop);
    for (Region &region : loop->getRegions())
      visit(region.front());
    log.add(log.takeSince(before)); // added to the accesses before the loop, which may have no iteration
  }

  /// One thread makes the attempts of a spin loop. A barrier follows.
  void visitSpin(scf::WhileOp loop) {
    waitBefore(loop);
    Block &test = loop.getBefore().front();
    auto attempt = llvm::find_if(test, [](Operation &op) { return accessOf(&op).has_value(); });
    if (attempt == test.end()) return report(loop, "it retries no access");
    orderAtomic(&*attempt, loop);
    log.clear();
  }

  void visitBranch(scf::IfOp branch) {
    waitBefore(branch);
    AccessLog::Mark before = log.mark();
    SmallVector<GlobalAccess> added;
    for (Region &region : branch->getRegions()) {
      if (region.empty()) continue;
      visit(region.front());
      llvm::append_range(added, log.takeSince(before));
    }
    log.add(added); // either region may have run, or none
  }

  void visitPartitions(ttg::WarpSpecializeOp op) {
    waitBefore(op);
    orderRegions(op.getPartitions(), op, [](Operation *) { return true; }); // their barriers are not those of other warps
    for (Region &partition : op.getPartitions()) {
      AccessLog::Mark before = log.mark();
      visit(partition.front());
      log.takeSince(before); // the other partitions do not come after them
    }
    visit(op.getDefaultRegion().front());
  }

  //===----------------------------------------------------------------------------------------------------------- accesses

  void visitAccess(Operation *op) {
    bool isSynchronized = orderAccess(op, op);
    if (isSynchronized && scratchBytes(op) != 0) op->setAttr(ttg::synchronizedName, b.getUnitAttr());
    sharesResults(op);
  }

  /// Results that one thread has loaded are sent to the others between two barriers of the CTA.
  void sharesResults(Operation *op) {
    if (!isCluster && scratchBytes(op) != 0) log.clear();
  }

  /// Orders an access that is made at `position`. Returns true if a barrier comes before it. Later accesses are checked against this one.
  bool orderAccess(Operation *op, Operation *position) {
    GlobalAccess access = *accessOf(op);
    bool isSynchronized = orderAfterLog(access, position);
    if (mayBeOvertaken(op)) log.add(access);
    return isSynchronized;
  }

  /// Inserts a barrier before the loop if an access in it must not overtake one before the loop. In the loop, each iteration would wait.
  /// A result that one thread shares with the others has its own barriers in each iteration.
  void orderLoop(Operation *loop) {
    orderRegions(loop->getRegions(), loop, [](Operation *op) { return scratchBytes(op) == 0; });
  }

  /// Inserts a barrier before `around` if an access in one of its regions, and for which `isMeant`, must not overtake one before it.
  void orderRegions(MutableArrayRef<Region> regions, Operation *around, function_ref<bool(Operation *)> isMeant) {
    auto order = [&](Operation *op) {
      std::optional<GlobalAccess> access = accessOf(op);
      return access && isMeant(op) && orderAfterLog(*access, around) ? WalkResult::interrupt() : WalkResult::advance();
    };
    for (Region &region : regions)
      if (region.walk(order).wasInterrupted()) return;
  }

  /// Adds the accesses of the loop's body to the log, as if an earlier iteration had made them.
  void expectIteration(Operation *loop) {
    auto changes = [&](Value value) { return value && loop->isAncestor(value.getParentBlock()->getParentOp()); };
    loop->walk([&](Operation *op) {
      std::optional<GlobalAccess> access = accessOf(op);
      if (!access || !mayBeOvertaken(op)) return;
      if (changes(access->pointer) || changes(access->mask)) access->loop = loop;
      log.add(*access);
    });
  }

  /// True if later stores must be ordered after the access. Asynchronous copies of the same CTA need no order: its threads wait for their
  /// copies, and pass a barrier before they use the data. The threads of another CTA do not.
  bool mayBeOvertaken(Operation *op) const { return !isa<ttg::CopyAsyncOp>(op) || isCluster; }

  /// The guards under which no two elements of the tile of pointers have one address, also in different iterations of the loop unless it is
  /// null; null if they may have. Elements at which the mask is false do not count.
  Assumption *distinctElements(Value pointer, Value mask, Operation *loop) {
    auto [known, isNew] = distinct.try_emplace({pointer.getAsOpaquePointer(), mask.getAsOpaquePointer(), loop});
    for (const address::FailedGuards *failed : {&noAssumptions, &failedGuards}) {
      if (!isNew || known->second.guards) break;
      address::Indices indices(kernel, *failed, cudaGridLimits);
      if (indices.hasDistinctElements(pointer, mask, loop)) known->second.guards = indices.guards();
    }
    return known->second.guards ? &known->second : nullptr;
  }

  /// The guards under which the memory of two kernel arguments is disjoint (ttg::noAliasGuard); null if it may overlap.
  Assumption *noAliasOf(const GlobalAccess &before, const GlobalAccess &next) {
    if (!before.base || !next.base || before.base == next.base) return nullptr;
    auto [known, isNew] = noAlias.try_emplace({next.base.getAsOpaquePointer(), before.base.getAsOpaquePointer()});
    if (isNew)
      if (std::optional<LaunchGuard> guard = ttg::noAliasGuard(next.pointer, before.pointer)) known->second.guards = {*guard};
    return known->second.guards ? &known->second : nullptr;
  }

  /// True if no thread can observe the order of the accesses: loads, and atomic operations of one kind whose results are unused.
  static bool commute(const GlobalAccess &before, const GlobalAccess &next) {
    return (!next.writes && !before.writes) || (before.blind && before.blind == next.blind);
  }

  /// The assumption under which one thread makes both accesses to an address, or no thread does; null if different threads may.
  Assumption *ordered(const GlobalAccess &before, const GlobalAccess &next) {
    bool isSameTile = before.pointer == next.pointer && !isCluster && isExclusive(next.pointer);
    if (!isSameTile) return noAliasOf(before, next);
    return distinctElements(next.pointer, before.mask == next.mask ? next.mask : Value(), before.loop);
  }

  /// Inserts a barrier if another thread may have made an access that the next access must not overtake. Returns true if it did.
  bool orderAfterLog(GlobalAccess next, Operation *position) {
    next.base = address::baseArgument(next.pointer);
    SmallVector<Assumption *> needed;
    bool clashes = llvm::any_of(log.accesses(), [&](const GlobalAccess &before) {
      if (commute(before, next)) return false;
      needed.push_back(ordered(before, next));
      return !needed.back();
    });
    if (clashes) {
      barrierBefore(position);
      log.clear();
      return true;
    }
    for (Assumption *assumption : needed)
      if (!std::exchange(assumption->isReliedOn, true)) ttg::relyOn(kernel, *assumption->guards);
    return false;
  }

  //===------------------------------------------------------------------------------------------------------------ atomics

  /// True if threads may have made accesses since the last barrier that the release of another thread must cover: writes, and reads of
  /// memory that the kernel writes. Atomic operations of one kind on one argument, with unused results, are not ordered.
  bool hasAccessesToRelease(Operation *op) {
    GlobalAccess atomic = *accessOf(op);
    Value base = address::baseArgument(atomic.pointer);
    return llvm::any_of(log.accesses(), [&](const GlobalAccess &before) {
      if (before.writes) return !before.blind || before.blind != atomic.blind || !base || before.base != base;
      auto argument = dyn_cast_or_null<BlockArgument>(before.base);
      if (!argument) return true;
      if (written.empty()) written = writtenArguments(kernel);
      return bool(written[argument.getArgNumber()]);
    });
  }

  /// True if TMA stores may be in flight when the operation, which is being visited, runs.
  bool mayFollowTmaStore(Operation *op) {
    return isAfterTmaStore || llvm::any_of(tmaStores, [&](Operation *store) { return mayRunBefore(store, op); });
  }

  /// The release of an atomic operation covers the accesses of all threads. One thread performs an operation on a scalar for the CTA; each
  /// thread performs those of its elements. TMA stores, which one thread starts, are completed before the release.
  void orderAtomic(Operation *op, Operation *position) {
    bool isRelease = releases(op), onTma = isRelease && mayFollowTmaStore(op);
    if (onTma) waitForTmaStores(position);
    bool isScalar = !isa<RankedTensorType>(op->getOperand(0).getType());
    if (isRelease && (isScalar || onTma || hasAccessesToRelease(op))) {
      barrierBefore(position);
      log.clear();
    }
    orderAccess(op, position);
  }

  //===--------------------------------------------------------------------------------------------- barriers and waits

  void waitForTmaStores(Operation *position) {
    b.setInsertionPoint(position);
    ttg::TmaStoreWaitOp::create(b, position->getLoc(), 0, /*untilWritten=*/true);
  }

  /// A barrier of all threads of the program; in a partition, of its threads; before partitions, of all warps.
  void barrierBefore(Operation *position) {
    if (isCluster && position->getParentOfType<ttg::WarpSpecializeOp>())
      return report(position, "a partition of one CTA cannot wait for all threads of the cluster");
    waitBefore(position);
    b.setInsertionPoint(position);
    ttg::CtaBarrierOp::create(b, position->getLoc(), /*allWarps=*/isa<ttg::WarpSpecializeOp>(position), /*allCtas=*/isCluster);
  }

  void report(Operation *op, const std::string &what) {
    bug(op, what);
    foundBug = true;
  }

  /// All CTAs take part in an exchange. What it leaves for the peers is in use until they have arrived.
  void visitExchange(ttg::ReadClusterOp op) {
    waitBefore(op);
    log.clear();               // later accesses to global memory come after all earlier accesses of all CTAs
    if (nextOfSum(op)) return; // the next exchange has its own space
    b.setInsertionPointAfter(op);
    ttg::ClusterArriveOp::create(b, op.getLoc());
    if (lastUseOfExchange(op) == op)
      ttg::ClusterWaitOp::create(b, op.getLoc());
    else
      hasArrived = true;
  }

  /// Waits at the cluster's barrier, if this CTA has arrived there.
  void waitBefore(Operation *position) {
    if (!std::exchange(hasArrived, false)) return;
    b.setInsertionPoint(position);
    ttg::ClusterWaitOp::create(b, position->getLoc());
  }

  tt::FuncOp kernel;
  bool isCluster;
  address::FailedGuards failedGuards, noAssumptions = {everyGuard};
  OpBuilder b;
  AccessLog log; // since the last barrier
  // A kernel may have thousands of accesses, so each question is asked once. References to the entries of these maps remain valid.
  std::map<std::tuple<void *, void *, Operation *>, Assumption> distinct; // by pointers, masks and loops
  std::map<std::pair<void *, void *>, Assumption> noAlias;                // by pairs of kernel arguments
  SmallVector<Operation *> tmaStores;                                     // of the kernel
  bool isAfterTmaStore = false;                                           // one of them has been visited
  std::vector<bool> written;                                              // arguments whose memory the kernel writes, once asked for
  bool hasArrived = false;                                                // at the cluster's barrier, without having waited for it
  bool foundBug = false;
};

} // namespace

LogicalResult orderAccesses(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp kernel, ttg::ConfigAttr config, const GpuTarget &) {
    return AccessOrder(kernel, config.getCtas() != 1).run();
  });
}

} // namespace tilewright::gpu
