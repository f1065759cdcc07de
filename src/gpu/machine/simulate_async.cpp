// Asynchronous copies, and the mbarriers that report their completion.
//
// A copy owns the bytes that it fills from its issue until its completion is known: no thread may access them. cp.async completes at
// copy_wait, as a write by the waiting thread (so other threads need a barrier after it). A TMA instruction executes some time after its
// issue. Its bytes then count as written "by the mbarrier in phase n", and every thread that has waited for that phase may read them.
//
//   expect bar, 4096        pending 1 -> 0, 4096 bytes to come
//   tma_load ... bar        TMA, later: 4096 -> 0, so the phase completes
//   wait bar, 0             passes now; its warp is ordered after phase 0 of bar and after all arrivals in it
#include "gpu/machine/simulate_program.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

// ---- cp.async

/// Reads the source of a cp.async, at any time between its issue and the wait.
static bool readSource(Warp &warp, const Step &step, int64_t lane, ThreadCopy &copy) {
  copy.hasRead = true;
  if (!copy.pointer) return true;
  std::optional<uint64_t> address = warp.global(step, lane, *copy.pointer, copy.bytes, copy.bytes);
  if (!address) return false;
  std::memcpy(copy.data.data(), reinterpret_cast<const void *>(*address), size_t(copy.bytes));
  return true;
}

/// Copies that read their source at once, or at the wait.
static bool readsAtOnce(Warp &warp) {
  AsyncTiming timing = warp.cta.options.timing;
  return timing == AsyncTiming::early || (timing == AsyncTiming::random && warp.cta.random() % 2);
}

static bool copyAsync(Warp &warp, const Step &step, ptx::CopyAsyncOp op) {
  int64_t bytes = op.getBytes();
  uint32_t reads = warp.acting(step);
  bool atOnce = readsAtOnce(warp);
  auto issued = std::make_shared<const std::vector<Clock>>(warp.knownOfAll());
  for (int64_t lane : lanesOf(warp.mask)) {
    ThreadCopy copy;
    copy.shared = warp.cta.local(warp.get(step, 0)[lane] + uint64_t(op.getOffset()));
    copy.bytes = bytes;
    copy.op = step.number;
    if (!warp.touch(step, lane, copy.shared, bytes, Warp::Access::copyWrite, bytes)) return false;
    copy.step = &step;
    if (reads >> lane & 1) {
      copy.pointer = warp.get(step, 1)[lane];
      copy.issued = issued;
      if (!warp.global(step, lane, *copy.pointer, bytes, bytes)) return false;
    }
    if (atOnce && !readSource(warp, step, lane, copy)) return false;
    copy.id = warp.cta.newCopy(step.number);
    warp.cta.setOwner({copy.shared, bytes}, copy.id);
    warp.openCopies[lane].push_back(std::move(copy));
  }
  return true;
}

static bool copyCommit(Warp &warp, const Step &, ptx::CopyCommitOp) {
  warp.forLanes([&](int64_t lane) {
    warp.copyGroups[lane].push_back(std::move(warp.openCopies[lane]));
    warp.openCopies[lane].clear();
  });
  return true;
}

static bool copyWait(Warp &warp, const Step &step, ptx::CopyWaitOp op) {
  size_t pending = size_t(op.getPending());
  for (int64_t lane : lanesOf(warp.mask)) {
    auto &groups = warp.copyGroups[lane];
    for (; groups.size() > pending; groups.pop_front())
      for (ThreadCopy &copy : groups.front()) {
        if (!copy.hasRead && !readSource(warp, *copy.step, lane, copy)) return false;
        // The read comes after what was known at the issue, and before what follows the wait.
        Warp::GlobalAccess access;
        if (copy.pointer) access = {.pointer = *copy.pointer, .bytes = copy.bytes, .issued = copy.issued.get()};
        if (copy.pointer && !warp.noteGlobal(*copy.step, lane, access)) return false;
        std::memcpy(warp.cta.at(copy.shared), copy.data.data(), size_t(copy.bytes));
        warp.cta.setOwner({copy.shared, copy.bytes}, 0);
        warp.cta.noteWrite(copy.shared, copy.bytes, warp.index, warp.clock[warp.index], lane, copy.op);
      }
  }
  return true;
}

// ---- mbarriers

constexpr int64_t maxOfMbarrier = (1 << 20) - 1; // bytes that a phase counts

void completePhase(Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.transactions != 0) return;
  auto take = [](Clock &into, Clock &from) {
    join(into, from);
    from.clear();
  };
  take(barrier.completed, barrier.arriving);
  for (auto [into, from] : llvm::zip(barrier.completedOthers, barrier.arrivingOthers))
    take(into, from);
  for (auto [into, from] : llvm::zip(barrier.completedCluster, barrier.arrivingCluster))
    take(into, from);
  barrier.pending = barrier.count;
  ++barrier.phase;
  auto count = [&](Clock &clock, int64_t component) {
    Clock own(size_t(component) + 1);
    own.back() = barrier.phase;
    join(clock, own);
  };
  count(barrier.completed, barrier.component);
  for (auto [rank, component] : barrier.mirrors)
    count(barrier.completedOthers[rank], component);
}

bool addTransactions(Warp &warp, const Step &step, int64_t lane, Mbarrier &barrier, int64_t bytes) {
  barrier.transactions += bytes;
  if (std::abs(barrier.transactions) <= maxOfMbarrier) return true;
  return warp.fail(step,
                   "the mbarrier counts " + llvm::Twine(barrier.transactions) + " bytes: at most " + llvm::Twine(maxOfMbarrier) +
                       " in one phase (PTX ISA 9.7.13.15.2)",
                   lane);
}

Mbarrier *findBarrier(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t address) {
  auto it = cta.mbarriers.find(address);
  if (it == cta.mbarriers.end()) {
    warp.fail(step, "no mbarrier was initialized at byte " + llvm::Twine(int64_t(address) - int64_t(sharedBase)) + " of shared memory",
              lane);
    return nullptr;
  }
  Mbarrier &barrier = it->second;
  bool isOwn = &cta == &warp.cta && barrier.initWarp == warp.index;
  const Clock &known = warp.knownOf(cta);
  bool isFenced = barrier.fence >= 0 && at(known, barrier.fence) >= barrier.fenceCount; // all that a relaxed barrier orders
  if (!isOwn && !isFenced && at(known, barrier.initWarp) < barrier.initEpoch) {
    warp.fail(step,
              "race: warp " + llvm::Twine(barrier.initWarp) + " initialized this mbarrier (" + warp.cta.locationOf(barrier.initOp) +
                  "), and nothing orders the two accesses",
              lane, barrier.initOp);
    return nullptr;
  }
  return &barrier;
}
static Mbarrier *find(Warp &warp, const Step &step, int64_t lane, uint64_t address) {
  return findBarrier(warp, step, lane, warp.cta, address);
}

static bool mbarrierInit(Warp &warp, const Step &step, ptx::MbarrierInitOp op) {
  uint32_t acts = warp.acting(step);
  int64_t count = op.getCount();
  for (int64_t lane : lanesOf(acts)) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane]);
    if (!warp.touch(step, lane, address, 8, Warp::Access::write, 8)) return false;
    for (uint64_t i = 0; i < 8; ++i)
      warp.cta.state(address + i).holdsBarrier = true;
    Mbarrier barrier;
    barrier.count = barrier.pending = count;
    barrier.arrivingOthers.resize(warp.cta.cluster.ctas.size());
    barrier.completedOthers.resize(warp.cta.cluster.ctas.size());
    barrier.arrivingCluster.resize(warp.cta.cluster.ctas.size());
    barrier.completedCluster.resize(warp.cta.cluster.ctas.size());
    barrier.component = warp.cta.components++;
    barrier.initWarp = uint16_t(warp.index);
    barrier.initEpoch = warp.clock[warp.index];
    barrier.initOp = step.number;
    warp.cta.mbarriers[address] = std::move(barrier);
  }
  return true;
}

static void fenceBarriers(Warp &warp) {
  for (auto &[address, barrier] : warp.cta.mbarriers)
    if (barrier.initWarp == warp.index) barrier.fenced = true;
}

/// Makes the warp's initializations visible to the threads that a later barrier orders after it, even a relaxed one.
static bool fenceInits(Warp &warp, const Step &, ptx::MbarrierInitFenceOp) {
  fenceBarriers(warp);
  if (warp.initFence < 0) warp.initFence = warp.cta.components++;
  Clock count(size_t(warp.initFence) + 1);
  count.back() = ++warp.initFences;
  join(warp.clock, count);
  for (auto &[address, barrier] : warp.cta.mbarriers)
    if (barrier.initWarp == warp.index && barrier.fence < 0) {
      barrier.fence = warp.initFence;
      barrier.fenceCount = warp.initFences;
    }
  return true;
}

/// Reports an arrival in a phase before a wait has seen the one before: a waiting thread could not tell which phase it sees.
static bool failUnseen(Warp &warp, const Step &step, int64_t lane, const Mbarrier &barrier) {
  return warp.fail(step,
                   "arrives in phase " + llvm::Twine(barrier.seen + 1) + " of the mbarrier, and no wait has seen phase " +
                       llvm::Twine(barrier.seen) + " complete (PTX ISA 9.7.13.15.4)",
                   lane);
}

bool arriveWith(Warp &warp, const Step &step, int64_t lane, Cta &cta, Mbarrier &barrier, const std::vector<Clock> &known, int64_t count) {
  if (barrier.pending < count)
    return warp.fail(step, "more arrivals than the mbarrier's count of " + llvm::Twine(barrier.count) + " in one phase", lane);
  if (barrier.seen < barrier.phase) return failUnseen(warp, step, lane, barrier);
  join(barrier.arriving, known[cta.rank]);
  for (auto [into, from] : llvm::zip(barrier.arrivingOthers, known))
    join(into, from);
  ++cta.cluster.launch.changes;
  barrier.pending -= count;
  completePhase(barrier);
  return true;
}

/// Returns what an arrival in the scope of a CTA tells threads of other CTAs: of asynchronous operations that have completed.
static std::vector<Clock> withoutAccesses(const Cluster &cluster, std::vector<Clock> known) {
  for (auto [clock, cta] : llvm::zip(known, cluster.ctas))
    std::fill_n(clock.begin(), std::min(clock.size(), cta->warps.size()), 0);
  return known;
}

/// Executes a lane's arrival at a barrier of `cta`.
static bool arriveAt(Warp &warp, const Step &step, int64_t lane, Cta &cta, int64_t count, int64_t bytes, ptx::Scope scope) {
  if (&cta != &warp.cta && cta.isDone()) return warp.failEnded(step, cta, lane);
  Mbarrier *barrier = findBarrier(warp, step, lane, cta, warp.cta.local(warp.get(step, 0)[lane]));
  if (!barrier) return false;
  if (!addTransactions(warp, step, lane, *barrier, bytes)) return false;
  std::vector<Clock> known = warp.knownOfAll();
  if (&cta != &warp.cta) {
    if (scope == ptx::Scope::cluster)
      for (auto [into, from] : llvm::zip(barrier->arrivingCluster, known))
        join(into, from);
    known = withoutAccesses(cta.cluster, std::move(known));
  }
  return arriveWith(warp, step, lane, cta, *barrier, known, count);
}

/// Executes arrivals in the CTAs of which `isTarget` is true.
static bool arrive(Warp &warp, const Step &step, int64_t count, int64_t bytes, ptx::Scope scope,
                   llvm::function_ref<bool(const Cta &)> isTarget) {
  uint32_t acts = warp.acting(step);
  if (!acts) return true;
  for (int64_t lane : lanesOf(acts)) {
    for (const auto &cta : warp.cta.cluster.ctas)
      if (isTarget(*cta) && !arriveAt(warp, step, lane, *cta, count, bytes, scope)) return false;
  }
  ++warp.clock[warp.index];
  return true;
}

static bool mbarrierExpect(Warp &warp, const Step &step, ptx::MbarrierExpectOp op) {
  return arrive(warp, step, 1, op.getBytes(), ptx::Scope::cta, [&](const Cta &cta) { return &cta == &warp.cta; });
}
static bool mbarrierArrive(Warp &warp, const Step &step, ptx::MbarrierArriveOp op) {
  return arrive(warp, step, op.getCount(), 0, op.getScope(), [&](const Cta &cta) {
    if (op.getToFirst()) return cta.rank == 0;
    return op.getInCtas() || &cta == &warp.cta;
  });
}

static bool mbarrierWait(Warp &warp, const Step &step, ptx::MbarrierWaitOp op) {
  bool seesCluster = op.getScope() == ptx::Scope::cluster;
  for (int64_t lane : lanesOf(warp.mask)) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane]), parity = warp.get(step, 1)[lane];
    Mbarrier *barrier = find(warp, step, lane, address);
    if (!barrier) return false;
    if (parity > 1) return warp.fail(step, "the parity of a phase is 0 or 1, not " + llvm::Twine(parity), lane);
    auto passed = [&] { return (barrier->phase & 1) != parity; };
    std::string what = "parity " + std::to_string(parity) + " of the mbarrier at byte " + std::to_string(address - sharedBase);
    if (!passed() && !warp.waitUntil(step, what, passed)) return false;
    barrier->seen = barrier->phase;
    join(warp.clock, barrier->completed);
    for (const auto &other : warp.cta.cluster.ctas) {
      size_t rank = size_t(other->rank);
      Clock &known = other.get() == &warp.cta ? warp.clock : warp.others[rank];
      if (&known != &warp.clock) join(known, barrier->completedOthers[rank]);
      if (seesCluster) join(known, barrier->completedCluster[rank]);
    }
  }
  return true;
}

// ---- fences, cluster

static bool fenceAsync(Warp &warp, const Step &, ptx::FenceAsyncOp) {
  uint32_t &now = warp.clock[warp.index];
  warp.asyncFences.push_back({now, warp.mask});
  ++now;
  fenceBarriers(warp);
  return true;
}

static bool clusterArrive(Warp &warp, const Step &step, ptx::ClusterArriveOp op) {
  Cluster &cluster = warp.cta.cluster;
  if (warp.clusterArrival)
    return warp.fail(step, "the warp has arrived at the barrier of the cluster, and has not waited since", -1, *warp.clusterArrival);
  warp.clusterArrival = step.number;
  warp.clusterTicket = cluster.generation;
  Clock &into = cluster.arriving[warp.cta.rank];
  if (!op.getRelaxed()) {
    for (auto [other, known] : llvm::zip(cluster.arriving, warp.others))
      join(other, known);
    warp.release(into);
  } else if (warp.initFence >= 0) { // orders no memory but the warp's mbarriers whose initialization it has fenced
    Clock fenced(size_t(warp.initFence) + 1);
    fenced.back() = warp.initFences;
    join(into, fenced);
  }
  cluster.arrived += 1;
  if (cluster.arrived == int64_t(warp.cta.warps.size() * cluster.ctas.size())) {
    cluster.released = cluster.arriving;
    cluster.arriving.assign(cluster.ctas.size(), {});
    cluster.arrived = 0;
    ++cluster.generation;
  }
  return true;
}
static bool clusterWait(Warp &warp, const Step &step, ptx::ClusterWaitOp) {
  Cluster &cluster = warp.cta.cluster;
  if (!warp.clusterArrival) return warp.fail(step, "the warp waits at the barrier of the cluster, and has not arrived");
  warp.clusterArrival.reset();
  if (!warp.waitUntil(step, "the cluster", [&] { return cluster.generation != warp.clusterTicket; })) return false;
  join(warp.clock, cluster.released[warp.cta.rank]);
  for (auto [known, from] : llvm::zip(warp.others, cluster.released))
    join(known, from);
  return true;
}

void addAsyncHandlers(HandlerTable &table) {
  table.add<copyAsync, copyCommit, copyWait, mbarrierInit, fenceInits, mbarrierExpect, mbarrierArrive, mbarrierWait, fenceAsync>();
  table.add<clusterArrive, clusterWait>();
}

} // namespace tilewright::gpu::sim
