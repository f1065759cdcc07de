#include "gpu/schedule/shared_memory/barrier_analysis.h"

#include "gpu/machine/ptx.h"
#include "ir/refusal.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

#include <unordered_set>

using namespace mlir;

namespace tilewright::gpu {

/// What tells accesses apart.
static auto keyOf(const PendingAccess &p) {
  return std::tie(p.access.op, p.access.owner, p.access.stages.counter, p.access.stages.bits, p.younger, p.committed, p.running, p.wait,
                  p.barrier, p.fenced, p.fencedBarrier, p.fencedAllWarps, p.groupBarrier, p.allWarps, p.left);
}

bool PendingAccess::operator==(const PendingAccess &other) const {
  return keyOf(*this) == keyOf(other);
}

bool changesProxy(const SharedAccess &earlier, const SharedAccess &later) {
  return !earlier.isAsyncProxy() && later.isAsyncProxy() && !later.inTensorMemory;
}

static BarrierNeed needOf(const PendingAccess &earlier, const SharedAccess &later, ArrayRef<Exemption> exempt) {
  const SharedAccess &access = earlier.access;
  if (!(access.writes || later.writes) || !access.overlaps(later)) return {};
  bool changes = changesProxy(access, later), afterFence = changes && earlier.fenced, isSame = access.partition == later.partition;
  BarrierNeed need{.wait = earlier.running,
                   .barrier = isSame && !(afterFence ? earlier.fencedBarrier : earlier.barrier != nullptr),
                   .allWarps = !isSame && !(afterFence ? earlier.fencedAllWarps : earlier.allWarps),
                   .fence = changes && !earlier.fenced};
  for (const Exemption &exemption : exempt) {
    if (!need) break;
    if (!exemption.applies(earlier, later)) continue;
    need.wait &= !exemption.lifts.wait;
    need.barrier &= !exemption.lifts.barrier;
    need.allWarps &= !exemption.lifts.allWarps;
    need.fence &= !exemption.lifts.fence;
  }
  return need;
}

namespace {

class Analysis {
public:
  Analysis(const BarrierRules &rules, StageCache &stages, Visitor visit) : rules(rules), stages(stages), visit(visit) {}

  void run(Block &block, PendingAccesses &state) {
    for (Operation &op : block)
      step(&op, state);
  }

  void step(Operation *op, PendingAccesses &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) return repeat(loop, state);
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return repeat(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      PendingAccesses other = state;
      run(*branch.thenBlock(), state);
      if (branch.elseBlock()) run(*branch.elseBlock(), other);
      return join(state, other);
    }
    if (auto partitions = dyn_cast<ttg::WarpSpecializeOp>(op)) return runAll(partitions, state);
    if (auto sync = dyn_cast<ttg::CtaBarrierOp>(op)) return passBarrier(op, sync.getAllWarps(), state);
    if (auto sync = dyn_cast<ptx::BarrierOp>(op)) return passGroupBarrier(sync, state);
    if (isa<ttg::FenceAsyncOp>(op) && ttg::partitionOf(op) == ttg::Partition::consumers) return fence(state);
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) return end(Accessor::mma, wait, wait.getPending(), state);
    if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op); wait && wait.getTensorMemory() && ttg::partitionOf(op) == ttg::Partition::consumers)
      return end(Accessor::mma, wait, 0, state);
    if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op)) // that of an MMA partition orders no other warps
      return ttg::partitionOf(op) == ttg::Partition::consumers ? end(Accessor::mma, wait, wait.getPending(), state) : void();
    if (auto wait = dyn_cast<ttg::TmaStoreWaitOp>(op)) return end(Accessor::tmaStore, wait, wait.getPending(), state);
    if (auto wait = dyn_cast<ttg::CopyWaitOp>(op)) return end(Accessor::copyAsync, wait, wait.getPending(), state);
    if (isa<ttg::CopyCommitOp>(op)) return commit(state);
    if (hasBarrierInside(op)) passBarrier(op, false, state);
    if (isa<ttg::MmaAsyncOp, ttg::Tcgen05MmaOp>(op)) start(Accessor::mma, state);
    if (isa<ttg::TmaStoreOp>(op)) start(Accessor::tmaStore, state);
    if (auto known = rules.accesses.find(op); known != rules.accesses.end())
      for (const KnownAccess &each : known->second)
        add(each, state);
  }

private:
  static void join(PendingAccesses &into, const PendingAccesses &other) {
    auto hash = [](const PendingAccess *each) {
      return size_t(std::apply([](const auto &...part) { return llvm::hash_combine(part...); }, keyOf(*each)));
    };
    auto isSame = [](const PendingAccess *x, const PendingAccess *y) { return *x == *y; };
    std::unordered_set<const PendingAccess *, decltype(hash), decltype(isSame)> known(into.size() + other.size(), hash, isSame);
    into.reserve(into.size() + other.size());
    for (const PendingAccess &each : into)
      known.insert(&each);
    for (const PendingAccess &each : other)
      if (known.insert(&each).second) into.push_back(each);
  }

  /// All threads pass a barrier before they run partitions at the same time. The kernel's mbarriers order what partitions have in common.
  void runAll(ttg::WarpSpecializeOp partitions, PendingAccesses &state) {
    passBarrier(partitions, /*allWarps=*/true, state);
    PendingAccesses before = std::move(state);
    state.clear();
    for (Region &region : partitions->getRegions()) {
      PendingAccesses own = before;
      run(region.front(), own);
      join(state, own);
    }
  }

  /// A loop's entry is reached from before it and from its own end.
  void repeat(scf::ForOp loop, PendingAccesses &state) {
    enter(loop.getBody(), state);
    PendingAccesses entry = state;
    for (size_t before = size_t(-1); before != entry.size();) {
      before = entry.size();
      state = entry;
      run(*loop.getBody(), state);
      advance(loop.getBody(), state);
      join(entry, state);
    }
    state = std::move(entry);
    leave(loop, state);
  }

  void repeat(scf::WhileOp loop, PendingAccesses &state) {
    enter(loop.getAfterBody(), state);
    PendingAccesses entry = state;
    for (size_t before = size_t(-1); before != entry.size();) {
      before = entry.size();
      state = entry;
      run(*loop.getBeforeBody(), state);
      PendingAccesses again = state;
      run(*loop.getAfterBody(), again);
      advance(loop.getAfterBody(), again);
      join(entry, again);
    }
    leave(loop, state);
  }

  const StageSet &stagesNamed(Value index, unsigned depth) {
    auto [found, isNew] = stages.try_emplace({index, depth});
    if (isNew) found->second = stagesOf(index, depth);
    return found->second;
  }

  /// Names stages by the counter of the loop in its first iteration, where the loop has one for this buffer.
  void enter(Block *body, PendingAccesses &state) {
    for (PendingAccess &each : state)
      if (BlockArgument counter = counterIn(body, each.access)) rename(each.access, counter, carriedValues(counter).first);
  }

  /// The counter of the loop by which it names stages of this buffer; null if there is none.
  BlockArgument counterIn(Block *body, const SharedAccess &access) {
    auto alloc = dyn_cast<ttg::AllocOp>(access.owner);
    if (!alloc) return {};
    for (Operation *user : alloc.getResult().getUsers()) {
      auto stage = dyn_cast<ttg::StageOp>(user);
      if (!stage || !body->getParentOp()->isAncestor(stage)) continue;
      BlockArgument counter = stagesNamed(stage.getIndex(), access.stages.bits.getBitWidth()).counter;
      if (counter && counter.getOwner() == body) return counter;
    }
    return {};
  }

  /// Names stages by the counter of the next iteration.
  void advance(Block *body, PendingAccesses &state) {
    for (PendingAccess &each : state) {
      BlockArgument counter = each.access.stages.counter;
      if (counter && counter.getOwner() == body) rename(each.access, counter, carriedValues(counter).second);
    }
  }

  /// Names stages by `counter`, which is `value` now.
  void rename(SharedAccess &access, BlockArgument counter, Value value) {
    APInt bits = access.stages.bits;
    StageSet now = stagesNamed(value, bits.getBitWidth());
    bool isKnown = now.counter == access.stages.counter && now.bits.isPowerOf2();
    access.stages = isKnown ? StageSet{counter, bits.rotr(now.bits.logBase2())} : StageSet{{}, APInt::getAllOnes(bits.getBitWidth())};
  }

  /// Counters of the loop have no meaning after it.
  static void leave(Operation *loop, PendingAccesses &state) {
    for (PendingAccess &each : state) {
      StageSet &stages = each.access.stages;
      if (stages.counter && stages.counter.getOwner()->getParentOp() == loop) stages = {{}, APInt::getAllOnes(stages.bits.getBitWidth())};
      if (loop->isAncestor(each.access.op)) each.left = loop;
    }
  }

  void passBarrier(Operation *op, bool allWarps, PendingAccesses &state) {
    for (PendingAccess &each : state) {
      if (each.running) continue;
      each.barrier = op;
      each.fencedBarrier = each.fenced;
      each.allWarps |= allWarps || !rules.hasPartitions;
      each.fencedAllWarps |= each.fenced && (allWarps || !rules.hasPartitions);
    }
    // What is ordered before everything is forgotten.
    llvm::erase_if(state,
                   [](const PendingAccess &each) { return each.barrier && each.fencedBarrier && each.allWarps && each.fencedAllWarps; });
    PendingAccesses merged;
    join(merged, state);
    state = std::move(merged);
  }

  static void passGroupBarrier(ptx::BarrierOp sync, PendingAccesses &state) {
    for (PendingAccess &each : state)
      each.groupBarrier |= sync.getPerWarpGroup() && !each.running;
  }

  static void fence(PendingAccesses &state) {
    for (PendingAccess &each : state)
      if (!each.running && !each.fenced && !each.access.isAsyncProxy()) {
        each.fenced = true;
        each.groupBarrier = false;
      }
  }

  /// One more operation starts: the earlier ones of its kind are older.
  void start(Accessor accessor, PendingAccesses &state) {
    for (PendingAccess &each : state)
      if (each.running && each.access.accessor == accessor) age(each);
  }

  static void end(Accessor accessor, Operation *wait, int64_t pending, PendingAccesses &state) {
    for (PendingAccess &each : state) {
      bool isCommitted = accessor != Accessor::copyAsync || each.committed;
      if (!each.running || each.access.accessor != accessor || each.younger < pending || !isCommitted) continue;
      each.running = each.committed = false;
      each.younger = 0;
      each.wait = wait;
    }
  }

  void commit(PendingAccesses &state) {
    for (PendingAccess &each : state)
      if (each.running && each.access.accessor == Accessor::copyAsync) {
        if (each.committed) age(each);
        each.committed = true;
      }
  }

  void age(PendingAccess &access) { access.younger = std::min(access.younger + 1, rules.maxPending); }

  /// True if both operations use the same scratch memory, one after the other: what is ordered after the later one is ordered after both.
  static bool supersedes(const SharedAccess &later, const SharedAccess &earlier) {
    return later.owner == later.op && earlier.owner == earlier.op && later.op->getBlock() == earlier.op->getBlock() &&
           later.partition == earlier.partition && later.first <= earlier.first && earlier.end <= later.end;
  }

  void add(const KnownAccess &known, PendingAccesses &state) {
    const SharedAccess &access = known.access;
    for (const PendingAccess &earlier : state)
      if (BarrierNeed need = needOf(earlier, access, rules.exempt)) visit(earlier, access, need);
    llvm::erase_if(state, [&](const PendingAccess &earlier) { return supersedes(access, earlier.access); });
    if (!known.mayConflict) return;
    PendingAccess pending{access};
    pending.running = access.isAsynchronous();
    pending.fenced = pending.fencedBarrier = !known.mayNeedFence;
    pending.allWarps = !known.mayNeedAllWarps;
    pending.fencedAllWarps = pending.fenced || pending.allWarps;
    if (!llvm::is_contained(state, pending)) state.push_back(pending);
  }

  const BarrierRules &rules;
  StageCache &stages;
  Visitor visit;
};

} // namespace

/// Finds what others may need before they follow the access, in whatever iterations.
static KnownAccess knownAmong(ArrayRef<SharedAccess> others, const SharedAccess &access, ArrayRef<Exemption> exempt) {
  KnownAccess known{access};
  PendingAccess unordered{access};
  unordered.running = access.isAsynchronous();
  unordered.access.stages = {{}, APInt::getAllOnes(access.stages.bits.getBitWidth())};
  for (const SharedAccess &other : others) {
    bool isAsked = !known.mayConflict || (!known.mayNeedAllWarps && other.partition != access.partition) ||
                   (!known.mayNeedFence && changesProxy(access, other));
    BarrierNeed need = isAsked ? needOf(unordered, other, exempt) : BarrierNeed();
    known.mayConflict |= bool(need);
    known.mayNeedAllWarps |= need.allWarps;
    known.mayNeedFence |= need.fence;
  }
  return known;
}

BarrierRules::BarrierRules(tt::FuncOp function, bool hasPartitions, ArrayRef<Exemption> exempt)
    : hasPartitions(hasPartitions), maxPending(0), exempt(exempt) {
  SmallVector<SharedAccess> all;
  function.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<ttg::MmaAsyncWaitOp, ttg::Tcgen05WaitOp, ttg::TmaStoreWaitOp, ttg::CopyWaitOp>(
        [&](auto wait) { maxPending = std::max<int64_t>(maxPending, wait.getPending()); });
    llvm::append_range(all, *sharedAccessesOf(op));
  });
  for (const SharedAccess &access : all)
    accesses[access.op].push_back(knownAmong(all, access, exempt));
}

LogicalResult verifyKnown(tt::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) -> WalkResult {
    std::optional<SmallVector<SharedAccess>> accesses = sharedAccessesOf(op);
    if (!accesses) return bug(op, "it is not known how it accesses shared memory");
    bool isVisited = isa_and_nonnull<tt::FuncOp, scf::ForOp, scf::WhileOp, scf::IfOp, ttg::WarpSpecializeOp>(op->getParentOp());
    if (!isVisited && !accesses->empty())
      return bug(op, "it accesses shared memory in a region that the analysis of barriers does not visit");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void visitUnordered(Operation *op, const BarrierRules &rules, StageCache &stages, PendingAccesses &state, Visitor visit) {
  Analysis(rules, stages, visit).step(op, state);
}

} // namespace tilewright::gpu
