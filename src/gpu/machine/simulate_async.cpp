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

using interp::decodeFloat;
using interp::encodeFloat;
using interp::signExtend;

uint64_t swizzled(uint64_t address, int64_t span) {
  switch (span) {
  case 128: return address ^ (address >> 3 & 0x70);
  case 64: return address ^ (address >> 3 & 0x30);
  case 32: return address ^ (address >> 3 & 0x10);
  default: return address;
  }
}

// ---- cp.async

static bool copyAsync(Warp &warp, const Step &step) {
  auto op = cast<ptx::CopyAsyncOp>(step.op);
  int64_t bytes = op.getBytes();
  if (bytes != 4 && bytes != 8 && bytes != 16) return warp.fail(step, "copies 4, 8 or 16 bytes");
  uint32_t reads = warp.lanesWhere(step, op.getPredicate() ? 2 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    ThreadCopy copy;
    copy.shared = warp.cta.local(warp.get(step, 0)[size_t(lane)] + uint64_t(op.getOffset()));
    copy.bytes = bytes;
    copy.op = step.number;
    if (!warp.touch(step, lane, copy.shared, bytes, Warp::Access::copyWrite, bytes)) return false;
    if (reads >> lane & 1) {
      uint64_t pointer = warp.get(step, 1)[size_t(lane)];
      std::optional<uint64_t> address = warp.global(step, lane, pointer, bytes, bytes);
      if (!address || !warp.noteGlobal(step, lane, {pointer, bytes})) return false;
      std::memcpy(copy.data.data(), reinterpret_cast<const void *>(*address), size_t(bytes));
    }
    copy.id = warp.cta.newCopy(step.number);
    for (int64_t i = 0; i < bytes; ++i)
      warp.cta.state(copy.shared + uint64_t(i)).owner = copy.id;
    warp.openCopies[size_t(lane)].push_back(copy);
  }
  return true;
}

static bool copyCommit(Warp &warp, const Step &) {
  warp.forLanes([&](int64_t lane) {
    warp.copyGroups[size_t(lane)].push_back(std::move(warp.openCopies[size_t(lane)]));
    warp.openCopies[size_t(lane)].clear();
  });
  return true;
}

static bool copyWait(Warp &warp, const Step &step) {
  size_t pending = size_t(cast<ptx::CopyWaitOp>(step.op).getPending());
  warp.forLanes([&](int64_t lane) {
    auto &groups = warp.copyGroups[size_t(lane)];
    for (; groups.size() > pending; groups.pop_front())
      for (const ThreadCopy &copy : groups.front()) {
        std::memcpy(warp.cta.at(copy.shared), copy.data.data(), size_t(copy.bytes));
        for (int64_t i = 0; i < copy.bytes; ++i)
          warp.cta.state(copy.shared + uint64_t(i)).owner = 0;
        warp.cta.noteWrite(copy.shared, copy.bytes, warp.index, warp.clock[size_t(warp.index)], lane, copy.op);
      }
  });
  return true;
}

// ---- mbarriers

constexpr int64_t maxOfMbarrier = (1 << 20) - 1; // arrivals or bytes that a phase counts

void completePhase(Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.transactions != 0) return;
  join(barrier.completed, barrier.arriving);
  barrier.arriving.clear();
  for (auto [into, from] : llvm::zip(barrier.completedOthers, barrier.arrivingOthers)) {
    join(into, from);
    from.clear();
  }
  barrier.pending = barrier.count;
  ++barrier.phase;
  auto count = [&](Clock &clock, int64_t component) {
    Clock own(size_t(component) + 1);
    own.back() = barrier.phase;
    join(clock, own);
  };
  count(barrier.completed, barrier.component);
  for (auto [rank, component] : barrier.mirrors)
    count(barrier.completedOthers[size_t(rank)], component);
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

static bool mbarrierInit(Warp &warp, const Step &step) {
  auto op = cast<ptx::MbarrierInitOp>(step.op);
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? 1 : -1);
  int64_t count = op.getCount();
  if (count < 1 || count > maxOfMbarrier) return warp.fail(step, "the arrivals of a phase are 1 to 1048575 (PTX ISA 9.7.13.15.2)");
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)]);
    if (!warp.touch(step, lane, address, 8, Warp::Access::write, 8)) return false;
    for (uint64_t i = 0; i < 8; ++i)
      warp.cta.state(address + i).holdsBarrier = true;
    Mbarrier barrier;
    barrier.count = barrier.pending = count;
    barrier.arrivingOthers.resize(warp.cta.cluster.ctas.size());
    barrier.completedOthers.resize(warp.cta.cluster.ctas.size());
    barrier.component = warp.cta.components++;
    barrier.initWarp = uint16_t(warp.index);
    barrier.initEpoch = warp.clock[size_t(warp.index)];
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
static bool fenceInits(Warp &warp, const Step &) {
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

/// True if a wait has to see each phase. Nothing can be wrong with an mbarrier that no thread waits for. Commits of tcgen05 may arrive for
/// MMAs that a later commit covers; the order of the arrivals is random here, so a wait that takes one phase for another shows as a race.
static bool needsWaits(const Mbarrier &barrier) {
  return barrier.isWaitedFor && !barrier.isOfCommits;
}

/// Reports a phase that completes before a wait has seen the one before: a waiting thread cannot tell which phase it sees. The ISA's text
/// is stricter: not even an arrival in the next phase may come first.
static bool failUnseen(Warp &warp, const Step &step, int64_t lane, const Mbarrier &barrier) {
  return warp.fail(step,
                   "phase " + llvm::Twine(barrier.seen + 1) + " of the mbarrier completes, and no wait has seen phase " +
                       llvm::Twine(barrier.seen) + " complete (PTX ISA 9.7.13.15.4)",
                   lane);
}

bool arriveWith(Warp &warp, const Step &step, int64_t lane, Cta &cta, Mbarrier &barrier, const std::vector<Clock> &known, int64_t count) {
  if (barrier.pending < count)
    return warp.fail(step, "more arrivals than the mbarrier's count of " + llvm::Twine(barrier.count) + " in one phase", lane);
  bool completes = barrier.pending == count && !barrier.transactions;
  if (needsWaits(barrier) && completes && barrier.seen < barrier.phase) return failUnseen(warp, step, lane, barrier);
  join(barrier.arriving, known[size_t(cta.rank)]);
  for (auto [into, from] : llvm::zip(barrier.arrivingOthers, known))
    join(into, from);
  ++cta.cluster.launch.changes;
  barrier.pending -= count;
  completePhase(barrier);
  return true;
}

/// Executes a lane's arrival at a barrier of `cta`.
static bool arriveAt(Warp &warp, const Step &step, int64_t lane, Cta &cta, int64_t count, int64_t bytes) {
  if (&cta != &warp.cta && cta.isDone())
    return warp.fail(step, "CTA " + llvm::Twine(cta.rank) + " of the cluster has ended, and its shared memory with it", lane);
  Mbarrier *barrier = findBarrier(warp, step, lane, cta, warp.cta.local(warp.get(step, 0)[size_t(lane)]));
  if (!barrier) return false;
  if (!addTransactions(warp, step, lane, *barrier, bytes)) return false;
  std::vector<Clock> known;
  for (const auto &other : cta.cluster.ctas)
    known.push_back(warp.knownOf(*other));
  return arriveWith(warp, step, lane, cta, *barrier, known, count);
}

/// Executes arrivals in the warp's own CTA, or in all CTAs of the cluster.
static bool arrive(Warp &warp, const Step &step, int64_t predicate, int64_t count, int64_t bytes, bool inAll) {
  uint32_t acts = warp.lanesWhere(step, predicate);
  if (!acts) return true;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    for (const auto &cta : warp.cta.cluster.ctas)
      if ((inAll || cta.get() == &warp.cta) && !arriveAt(warp, step, lane, *cta, count, bytes)) return false;
  }
  ++warp.clock[size_t(warp.index)];
  return true;
}

static bool mbarrierExpect(Warp &warp, const Step &step) {
  auto op = cast<ptx::MbarrierExpectOp>(step.op);
  return arrive(warp, step, op.getPredicate() ? 1 : -1, 1, op.getBytes(), /*inAll=*/false);
}
static bool mbarrierArrive(Warp &warp, const Step &step) {
  auto op = cast<ptx::MbarrierArriveOp>(step.op);
  if (op.getCount() < 1 || op.getCount() > maxOfMbarrier)
    return warp.fail(step, "the count of an arrival is 1 to 1048575 (PTX ISA 9.7.13.15.13)");
  return arrive(warp, step, op.getPredicate() ? 1 : -1, op.getCount(), 0, op.getInCtas().has_value());
}

static bool mbarrierWait(Warp &warp, const Step &step) {
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)]), parity = warp.get(step, 1)[size_t(lane)];
    Mbarrier *barrier = find(warp, step, lane, address);
    if (!barrier) return false;
    barrier->isWaitedFor = true;
    if (parity > 1) return warp.fail(step, "the parity of a phase is 0 or 1, not " + llvm::Twine(parity), lane);
    auto passed = [&] { return (barrier->phase & 1) != parity; };
    std::string what = "parity " + std::to_string(parity) + " of the mbarrier at byte " + std::to_string(address - sharedBase);
    if (!passed() && !warp.waitUntil(step, what, passed)) return false;
    if (needsWaits(*barrier) && barrier->phase > barrier->seen + 1) return failUnseen(warp, step, lane, *barrier);
    barrier->seen = barrier->phase;
    join(warp.clock, barrier->completed);
    for (const auto &other : warp.cta.cluster.ctas)
      if (other.get() != &warp.cta) join(warp.others[size_t(other->rank)], barrier->completedOthers[size_t(other->rank)]);
  }
  return true;
}

// ---- TMA

static int64_t bytesOf(MapElement element) {
  switch (element) {
  case MapElement::u8:
  case MapElement::paddedPairs: return 1;
  case MapElement::u16:
  case MapElement::f16:
  case MapElement::bf16: return 2;
  case MapElement::u64:
  case MapElement::s64:
  case MapElement::f64: return 8;
  default: return 4;
  }
}

/// Returns the bytes of shared memory for each byte of a tensor.
static int64_t spread(const SimulatedTensorMap &map) {
  return map.element == MapElement::paddedPairs ? 2 : 1;
}

/// The driver's rules for CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B.
static const char *problemOfPairs(const SimulatedTensorMap &map) {
  constexpr int64_t alignment = 32, numbers = 128;
  if (map.element != MapElement::paddedPairs) return nullptr;
  if (map.base % alignment) return "the base of a tensor map of 4-bit numbers with padding is not a multiple of 32 bytes";
  for (int64_t stride : map.strides)
    if (stride % alignment) return "a stride of a tensor map of 4-bit numbers with padding is not a multiple of 32 bytes";
  if (map.dims[0] * 2 % numbers) return "the inner extent of a tensor map of 4-bit numbers with padding is not a multiple of 128 numbers";
  if (map.box[0] * 2 != numbers) return "the inner extent of a box of 4-bit numbers with padding is not 128 numbers";
  return nullptr;
}

static const char *problemOf(const SimulatedTensorMap &map, size_t rank) {
  int64_t bytes = bytesOf(map.element);
  if (map.dims.size() != rank || rank < 1 || rank > 5) return "the tensor map and the coordinates have different ranks";
  if (map.box.size() != rank || map.strides.size() + 1 != rank) return "the tensor map's box or strides do not match its rank";
  if (map.base % 16) return "the tensor map's base is not a multiple of 16 bytes";
  for (int64_t stride : map.strides)
    if (stride * bytes % 16) return "a stride of the tensor map is not a multiple of 16 bytes";
  for (int64_t extent : map.box)
    if (extent < 1 || extent > 256) return "an extent of the tensor map's box is not 1 to 256";
  if (map.box[0] * bytes % 16) return "the inner extent of the tensor map's box is not a multiple of 16 bytes";
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return "the tensor map's swizzle is not 0, 32, 64 or 128";
  if (map.swizzle && map.box[0] * bytes * spread(map) > map.swizzle)
    return "the inner extent of the tensor map's box is larger than its swizzle";
  return problemOfPairs(map);
}

/// Returns a copy as lane `lane` requests it, or null after an error. Operands: map, coordinates, shared address.
static std::shared_ptr<EngineCopy> makeCopy(Warp &warp, const Step &step, int64_t lane, size_t rank) {
  const SimulatedTensorMap &map = warp.cta.args.maps[size_t(warp.get(step, 0)[size_t(lane)])];
  if (const char *problem = problemOf(map, rank)) {
    warp.fail(step, problem, lane);
    return nullptr;
  }
  auto copy = std::make_shared<EngineCopy>();
  copy->step = &step;
  copy->warp = &warp;
  copy->program = warp.program;
  copy->map = &map;
  for (size_t dim = 0; dim < rank; ++dim)
    copy->coordinates[dim] = signExtend(warp.get(step, 1 + dim)[size_t(lane)], 32);
  if (map.element == MapElement::paddedPairs) { // its coordinate counts numbers
    if (copy->coordinates[0] % 128) {
      warp.fail(step, "the inner coordinate of a box of 4-bit numbers with padding is not a multiple of 128", lane);
      return nullptr;
    }
    copy->coordinates[0] /= 2;
  }
  copy->shared = warp.cta.local(warp.get(step, 1 + rank)[size_t(lane)]);
  copy->elements = 1;
  for (int64_t extent : map.box)
    copy->elements *= extent;
  copy->chunks.push_back({copy->shared, copy->elements * bytesOf(map.element) * spread(map)});
  return copy;
}

namespace {
/// The offset of one element of a copy in global memory, and whether it is inside the tensor.
struct TensorElement {
  int64_t offset = 0; ///< in elements, from the tensor's base
  bool inside = true;
};
} // namespace

static TensorElement elementOf(const EngineCopy &copy, int64_t element) {
  const SimulatedTensorMap &map = *copy.map;
  int64_t bytes = bytesOf(map.element);
  TensorElement found;
  for (size_t dim = 0; dim < map.box.size(); ++dim) {
    int64_t coordinate = copy.coordinates[dim] + element % map.box[dim];
    element /= map.box[dim];
    // Loads end at the tensor's end; stores end with the 16 bytes that contain a row's end (measured on an H100).
    constexpr int64_t storeBytes = 16;
    int64_t first = dim == 0 && !copy.isLoad ? coordinate * bytes / storeBytes * storeBytes / bytes : coordinate;
    found.inside &= coordinate >= 0 && first < map.dims[dim];
    found.offset += coordinate * (dim ? map.strides[dim - 1] : 1);
  }
  return found;
}

/// Returns the bytes of a copy in global memory, as runs.
static std::vector<Chunk> globalRuns(const EngineCopy &copy) {
  int64_t bytes = bytesOf(copy.map->element);
  std::vector<Chunk> runs;
  for (int64_t element = 0; element < copy.elements; ++element) {
    auto [offset, inside] = elementOf(copy, element);
    uint64_t address = copy.map->base + uint64_t(offset * bytes);
    if (!inside) continue;
    if (!runs.empty() && runs.back().address + uint64_t(runs.back().bytes) == address)
      runs.back().bytes += bytes;
    else
      runs.push_back({address, bytes});
  }
  return runs;
}

/// Queues a load in the CTA whose shared memory it fills: another CTA's, for a multicast.
static bool startLoad(Warp &warp, const Step &step, int64_t lane, Cta &target, const EngineCopy &made) {
  auto copy = std::make_shared<EngineCopy>(made);
  bool toLeader = cast<ptx::TmaLoadOp>(step.op).getToLeader();
  copy->barrierCta = toLeader ? target.cluster.ctas[size_t(target.rank & ~int64_t(1))].get() : &target;
  Mbarrier *barrier = findBarrier(warp, step, lane, *copy->barrierCta, copy->barrier);
  if (!barrier) return false;
  if (!barrier->fenced)
    return warp.fail(step, "mbarrier_init_fence is missing after the initialization (" + warp.cta.locationOf(barrier->initOp) + ")", lane,
                     barrier->initOp);
  const Chunk &chunk = copy->chunks[0];
  constexpr int64_t alignment = 128;
  bool fits = &target == &warp.cta ? warp.touch(step, lane, chunk.address, chunk.bytes, Warp::Access::asyncWrite, alignment)
                                   : warp.touchTarget(step, lane, target, chunk, alignment, Warp::Access::asyncWrite);
  if (!fits) return false;
  copy->id = target.newCopy(step.number);
  for (int64_t i = 0; i < chunk.bytes; ++i)
    target.state(chunk.address + uint64_t(i)).owner = copy->id;
  target.engine.push_back(std::move(copy));
  return true;
}

static bool tmaLoad(Warp &warp, const Step &step) {
  auto op = cast<ptx::TmaLoadOp>(step.op);
  uint32_t targets = op.getMulticast() ? uint32_t(*op.getMulticast()) : uint32_t(1) << warp.cta.rank;
  size_t rank = op.getCoordinates().size();
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? int64_t(rank) + 3 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    auto copy = makeCopy(warp, step, lane, rank);
    if (!copy) return false;
    copy->isLoad = true;
    copy->issued = warp.clock;
    copy->barrier = warp.cta.local(warp.get(step, rank + 2)[size_t(lane)]);
    if (targets >> warp.cta.cluster.ctas.size()) return warp.fail(step, "the multicast names a CTA that the cluster does not have", lane);
    for (const auto &cta : warp.cta.cluster.ctas)
      if (targets >> cta->rank & 1 && !startLoad(warp, step, lane, *cta, *copy)) return false;
  }
  return true;
}

/// Records the writes of a TMA store: at any time from now on, not ordered with any warp.
static bool noteStore(Warp &warp, EngineCopy &copy, int64_t lane) {
  Cluster &cluster = warp.cta.cluster;
  const Step &step = *copy.step;
  copy.agent = tmaStoreAgents | ++cluster.stores;
  copy.stored = globalRuns(copy);
  bool atomic = cast<ptx::TmaStoreOp>(step.op).getReduce().has_value();
  for (const Chunk &run : copy.stored) {
    std::optional<AccessHistory::Clash> clash =
        cluster.touched.note(copy.agent, 1, {run.address & interp::addressMask, run.bytes, true, atomic, step.number, copy.agent},
                             [&](uint32_t agent, uint32_t time) { return warp.knows(agent, time); });
    if (clash && !clash->sameStore) return warp.failTouched(step, lane, run.address, run.bytes, *clash);
  }
  return true;
}

static bool tmaStore(Warp &warp, const Step &step) {
  auto op = cast<ptx::TmaStoreOp>(step.op);
  size_t rank = op.getCoordinates().size();
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? int64_t(rank) + 2 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    auto copy = makeCopy(warp, step, lane, rank);
    if (!copy) return false;
    if (llvm::any_of(copy->coordinates, [](int64_t coordinate) { return coordinate < 0; }))
      return warp.fail(step, "a store that starts before its tensor is an illegal instruction");
    const Chunk &chunk = copy->chunks[0];
    if (!warp.touch(step, lane, chunk.address, chunk.bytes, Warp::Access::asyncRead, 128)) return false;
    for (int64_t i = 0; i < chunk.bytes; ++i)
      ++warp.cta.state(chunk.address + uint64_t(i)).inFlightReads;
    if (!noteStore(warp, *copy, lane)) return false;
    warp.openStores[size_t(lane)].push_back(copy);
    warp.cta.engine.push_back(std::move(copy));
  }
  return true;
}

static bool tmaCommit(Warp &warp, const Step &) {
  warp.forLanes([&](int64_t lane) {
    auto &open = warp.openStores[size_t(lane)];
    warp.storeGroups[size_t(lane)].push_back(std::move(open));
    open.clear();
  });
  return true;
}

/// Frees the source of a store for reuse: TMA stores the remaining bytes from what it has read.
static void freeSource(Warp &warp, EngineCopy &copy) {
  const Chunk &chunk = copy.chunks[0];
  const uint8_t *source = warp.cta.at(chunk.address);
  if (!copy.done) copy.hasRead.assign(source, source + chunk.bytes);
  for (int64_t i = 0; i < chunk.bytes; ++i)
    --warp.cta.state(chunk.address + uint64_t(i)).inFlightReads;
  warp.cta.noteRead(chunk.address, chunk.bytes, warp.index, warp.clock[size_t(warp.index)], copy.step->number);
}

/// Completes a store: its bytes in global memory now belong to this warp.
static void noteLanded(Warp &warp, const EngineCopy &copy) {
  bool atomic = cast<ptx::TmaStoreOp>(copy.step->op).getReduce().has_value();
  for (const Chunk &run : copy.stored)
    warp.cta.cluster.touched.note(agentOf(warp.cta.rank, warp.index), warp.clock[size_t(warp.index)],
                                  {run.address & interp::addressMask, run.bytes, true, atomic, copy.step->number, copy.agent},
                                  [](uint32_t, uint32_t) { return true; }); // compared when the store began
}

static bool tmaWait(Warp &warp, const Step &step) {
  auto op = cast<ptx::TmaWaitOp>(step.op);
  size_t pending = size_t(op.getPending());
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    auto &groups = warp.storeGroups[size_t(lane)], &landing = warp.landingGroups[size_t(lane)];
    for (; groups.size() > pending; groups.pop_front()) {
      for (const auto &copy : groups.front())
        freeSource(warp, *copy);
      landing.push_back(std::move(groups.front()));
    }
    for (; !op.getRead() && groups.size() + landing.size() > pending; landing.pop_front())
      for (const auto &copy : landing.front()) {
        if (!copy->done && !warp.waitUntil(step, "a TMA store", [&] { return copy->done; })) return false;
        noteLanded(warp, *copy);
      }
  }
  return true;
}

// ---- TMA

static ptx::Format formatOf(MapElement element) {
  switch (element) {
  case MapElement::f16: return ptx::Format::f16;
  case MapElement::bf16: return ptx::Format::bf16;
  case MapElement::f64: return ptx::Format::f64;
  default: return ptx::Format::f32;
  }
}
static bool isFloat(MapElement element) {
  return element == MapElement::f16 || element == MapElement::bf16 || element == MapElement::f32 || element == MapElement::f64 ||
         element == MapElement::f32Ftz || element == MapElement::tf32;
}

static uint64_t reduce(ptx::Redux kind, MapElement element, uint64_t old, uint64_t value) {
  if (!isFloat(element)) return combine(kind, 8 * bytesOf(element), old, value);
  const Format &format = numberFormat(formatOf(element));
  double a = decodeFloat(format, old), b = decodeFloat(format, value);
  return encodeFloat(format, kind == ptx::Redux::add ? a + b : kind == ptx::Redux::min ? std::min(a, b) : std::max(a, b));
}

/// Returns the value that a load writes to shared memory for an element; `memory` null: out of bounds.
static uint64_t loadedElement(const SimulatedTensorMap &map, const void *memory) {
  uint64_t value = 0;
  if (!memory)
    return map.nanFill && isFloat(map.element) ? encodeFloat(numberFormat(formatOf(map.element)), std::numeric_limits<double>::quiet_NaN())
                                               : value;
  std::memcpy(&value, memory, size_t(bytesOf(map.element)));
  if (map.element == MapElement::tf32 && (value & 0x7f800000) != 0x7f800000) { // to nearest, ties to even
    value += 0xfff + (value >> 13 & 1);
    value &= 0xffffe000;
  }
  return value;
}

/// Returns the value that a store reads from its source in shared memory.
static uint64_t sourceElement(Cta &cta, const EngineCopy &copy, uint64_t local, int64_t bytes) {
  if (copy.hasRead.empty()) return cta.load(local, bytes);
  uint64_t value = 0;
  std::memcpy(&value, &copy.hasRead[local - copy.chunks[0].address], size_t(bytes));
  return value;
}

/// Records the reads of a load: after everything before its issue, and before its mbarrier's phase completes.
static bool noteLoad(const EngineCopy &copy, const Mbarrier &barrier) {
  Cta &cta = *copy.barrierCta;
  for (const Chunk &run : globalRuns(copy)) {
    auto isBefore = [&](uint32_t agent, uint32_t time) {
      bool here = !(agent & tmaStoreAgents) && agent >> 24 == copy.warp->cta.rank;
      return here ? sim::at(copy.issued, agent & 0xffffff) >= time : copy.warp->knows(agent, time);
    };
    std::optional<AccessHistory::Clash> clash =
        cta.cluster.touched.note(agentOf(cta.rank, barrier.component), barrier.phase + 1,
                                 {run.address & interp::addressMask, run.bytes, false, false, copy.step->number, 0}, isBefore);
    if (clash) return copy.warp->failTouched(*copy.step, -1, run.address, run.bytes, *clash);
  }
  return true;
}

/// Returns the component of a CTA's clocks that counts the phases of a barrier of `owner`.
static int64_t componentIn(Cta &cta, const Cta &owner, Mbarrier &barrier) {
  if (&cta == &owner) return barrier.component;
  auto [mirror, isNew] = barrier.mirrors.try_emplace(cta.rank, cta.components);
  if (isNew) ++cta.components;
  return mirror->second;
}

/// Reports the arrived bytes of a load to its mbarrier.
static bool arrive(Cta &cta, const EngineCopy &copy) {
  Mbarrier &barrier = copy.barrierCta->mbarriers.at(copy.barrier);
  if (!noteLoad(copy, barrier)) return false;
  const Chunk &chunk = copy.chunks[0];
  for (int64_t i = 0; i < chunk.bytes; ++i)
    cta.state(chunk.address + uint64_t(i)).owner = 0;
  cta.noteWrite(chunk.address, chunk.bytes, componentIn(cta, *copy.barrierCta, barrier), barrier.phase + 1, 0, copy.step->number);
  int64_t bytes = copy.elements * bytesOf(copy.map->element); // padding does not count
  if (!addTransactions(*copy.warp, *copy.step, -1, barrier, -bytes)) return false;
  completePhase(barrier);
  return true;
}

bool Cta::runEngine() {
  if (!tensorQueue.empty() && (engine.empty() || random() % 2)) return runTensorQueue(*this);
  if (!launchRequests.empty() && (engine.empty() || random() % 2)) return runLaunchRequest(*this);
  if (engine.empty()) return false;
  size_t which = size_t(random() % engine.size()); // copies may overtake each other
  std::shared_ptr<EngineCopy> copy = engine[which];
  engine.erase(engine.begin() + int64_t(which));
  ++cluster.launch.changes;
  ++cluster.launch.stores;
  const SimulatedTensorMap &map = *copy->map;
  Warp &warp = *copy->warp;
  const Step &step = *copy->step;
  int64_t bytes = bytesOf(map.element);
  std::optional<ptx::Redux> combined;
  if (!copy->isLoad) combined = cast<ptx::TmaStoreOp>(step.op).getReduce();
  for (int64_t element = 0; element < copy->elements; ++element) {
    auto [offset, inside] = elementOf(*copy, element);
    int64_t inShared = spread(map) == 1 ? element * bytes : element / 8 * 16 + element % 8;
    uint64_t global = map.base + uint64_t(offset * bytes), local = swizzled(copy->shared + uint64_t(inShared), map.swizzle);
    std::optional<uint64_t> address = inside ? warp.global(step, -1, global, bytes, bytes) : 0;
    Warp::GlobalAccess access{global, bytes, !copy->isLoad, combined.has_value(), combined.has_value(), nullptr, copy->program};
    if (!address || (inside && !warp.noteLaunch(step, -1, access))) return false;
    void *memory = inside ? reinterpret_cast<void *>(*address) : nullptr;
    if (copy->isLoad) {
      uint64_t value = loadedElement(map, memory);
      std::memcpy(at(local), &value, size_t(bytes));
    } else if (inside) {
      uint64_t value = sourceElement(*this, *copy, local, bytes);
      if (combined) {
        uint64_t old = 0;
        std::memcpy(&old, memory, size_t(bytes));
        value = reduce(*combined, map.element, old, value);
      }
      std::memcpy(memory, &value, size_t(bytes));
    }
  }
  copy->done = true;
  return !copy->isLoad || arrive(*this, *copy);
}

// ---- fences, cluster

static bool fenceAsync(Warp &warp, const Step &) {
  uint32_t &now = warp.clock[size_t(warp.index)];
  warp.asyncFences.push_back({now, warp.mask});
  ++now;
  fenceBarriers(warp);
  return true;
}

/// No effect here: the operations around a fence are ordered by their own checks.
static bool fence(Warp &, const Step &) {
  return true;
}

static bool clusterArrive(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  Cluster &cluster = warp.cta.cluster;
  warp.clusterTicket = cluster.generation;
  for (auto [into, known] : llvm::zip(cluster.arriving, warp.others))
    join(into, known);
  Clock &into = cluster.arriving[size_t(warp.cta.rank)];
  if (cast<ptx::ClusterArriveOp>(step.op).getRelaxed()) { // orders no memory but mbarriers whose initialization is fenced
    Clock fenced = warp.clock;
    std::fill_n(fenced.begin(), warp.cta.warps.size(), 0);
    join(into, fenced);
  } else {
    warp.release(into);
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
static bool clusterWait(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  Cluster &cluster = warp.cta.cluster;
  if (!warp.waitUntil(step, "the cluster", [&] { return cluster.generation != warp.clusterTicket; })) return false;
  join(warp.clock, cluster.released[size_t(warp.cta.rank)]);
  for (auto [known, from] : llvm::zip(warp.others, cluster.released))
    join(known, from);
  return true;
}

void addAsyncHandlers(HandlerTable &table) {
  auto &handlers = table.handlers;
  handlers["ptx.copy_async"] = copyAsync;
  handlers["ptx.copy_commit"] = copyCommit;
  handlers["ptx.copy_wait"] = copyWait;
  handlers["ptx.mbarrier_init"] = mbarrierInit;
  handlers["ptx.mbarrier_init_fence"] = fenceInits;
  handlers["ptx.mbarrier_expect"] = mbarrierExpect;
  handlers["ptx.mbarrier_arrive"] = mbarrierArrive;
  handlers["ptx.mbarrier_wait"] = mbarrierWait;
  handlers["ptx.tma_load"] = tmaLoad;
  handlers["ptx.tma_store"] = tmaStore;
  handlers["ptx.tma_commit"] = tmaCommit;
  handlers["ptx.tma_wait"] = tmaWait;
  handlers["ptx.prefetch_tensor_map"] = [](Warp &, const Step &) { return true; };
  handlers["ptx.fence_async"] = fenceAsync;
  handlers["ptx.fence"] = fence;
  handlers["ptx.cluster_arrive"] = clusterArrive;
  handlers["ptx.cluster_wait"] = clusterWait;
}

} // namespace tilewright::gpu::sim
