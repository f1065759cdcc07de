// TMA: copies of boxes of a tensor between global and shared memory. A load reports its bytes to an mbarrier (simulate_async.cpp).
//
//   tma_load map [x, y] to buffer, bar      queued: the buffer belongs to the copy
//   some time later                         the box is in the buffer, and bar has its bytes
#include "gpu/machine/descriptors.h"
#include "gpu/machine/simulate_program.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

using interp::signExtend;

// ---- tensor maps

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
  const SimulatedTensorMap &map = warp.cta.args.maps[warp.get(step, 0)[lane]];
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
    copy->coordinates[dim] = signExtend(warp.get(step, 1 + dim)[lane], 32);
  if (map.element == MapElement::paddedPairs) { // its coordinate counts numbers
    if (copy->coordinates[0] % 128) {
      warp.fail(step, "the inner coordinate of a box of 4-bit numbers with padding is not a multiple of 128", lane);
      return nullptr;
    }
    copy->coordinates[0] /= 2;
  }
  copy->shared = warp.cta.local(warp.get(step, 1 + rank)[lane]);
  copy->elements = 1;
  for (int64_t extent : map.box)
    copy->elements *= extent;
  copy->chunks.push_back({copy->shared, copy->elements * bytesOf(map.element) * spread(map)});
  return copy;
}

namespace {
/// The offset of one element of a copy in global memory, and whether it is inside the tensor.
struct TensorElement {
  uint64_t offset = 0; ///< in elements, from the tensor's base, modulo 2^64
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
    found.offset += uint64_t(coordinate) * uint64_t(dim ? map.strides[dim - 1] : 1);
  }
  return found;
}

/// Returns the bytes of a copy in global memory, as runs.
static std::vector<Chunk> globalRuns(const EngineCopy &copy) {
  int64_t bytes = bytesOf(copy.map->element);
  std::vector<Chunk> runs;
  for (int64_t element = 0; element < copy.elements; ++element) {
    auto [offset, inside] = elementOf(copy, element);
    uint64_t address = copy.map->base + offset * uint64_t(bytes);
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
  copy->barrierCta = toLeader ? target.cluster.ctas[target.rank & ~int64_t(1)].get() : &target;
  Mbarrier *barrier = findBarrier(warp, step, lane, *copy->barrierCta, copy->barrier);
  if (!barrier) return false;
  if (!barrier->fenced)
    return warp.fail(step, "mbarrier_init_fence is missing after the initialization (" + warp.cta.locationOf(barrier->initOp) + ")", lane,
                     barrier->initOp);
  const Chunk &chunk = copy->chunks[0];
  constexpr int64_t alignment = 128;
  if (!warp.touch(step, lane, target, chunk, Warp::Access::asyncWrite, alignment)) return false;
  copy->id = target.newCopy(step.number);
  target.setOwner(chunk, copy->id);
  target.engine.push_back(std::move(copy));
  return true;
}

static bool tmaLoad(Warp &warp, const Step &step, ptx::TmaLoadOp op) {
  uint32_t targets = op.getMulticast() ? uint32_t(*op.getMulticast()) : uint32_t(1) << warp.cta.rank;
  size_t rank = op.getCoordinates().size();
  uint32_t acts = warp.acting(step);
  for (int64_t lane : lanesOf(acts)) {
    auto copy = makeCopy(warp, step, lane, rank);
    if (!copy) return false;
    copy->isLoad = true;
    copy->issued = warp.knownOfAll();
    copy->barrier = warp.cta.local(warp.get(step, rank + 2)[lane]);
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

static bool tmaStore(Warp &warp, const Step &step, ptx::TmaStoreOp op) {
  size_t rank = op.getCoordinates().size();
  uint32_t acts = warp.acting(step);
  for (int64_t lane : lanesOf(acts)) {
    auto copy = makeCopy(warp, step, lane, rank);
    if (!copy) return false;
    if (llvm::any_of(copy->coordinates, [](int64_t coordinate) { return coordinate < 0; }))
      return warp.fail(step, "a store that starts before its tensor is an illegal instruction");
    const Chunk &chunk = copy->chunks[0];
    if (!warp.touch(step, lane, chunk.address, chunk.bytes, Warp::Access::asyncRead, 128)) return false;
    warp.cta.countReads(chunk, 1);
    if (!noteStore(warp, *copy, lane)) return false;
    warp.openStores[lane].push_back(copy);
    warp.cta.engine.push_back(std::move(copy));
  }
  return true;
}

static bool tmaCommit(Warp &warp, const Step &, ptx::TmaCommitOp) {
  warp.forLanes([&](int64_t lane) {
    auto &open = warp.openStores[lane];
    warp.storeGroups[lane].push_back(std::move(open));
    open.clear();
  });
  return true;
}

/// Frees the source of a store for reuse: TMA stores the remaining bytes from what it has read.
static void freeSource(Warp &warp, EngineCopy &copy) {
  const Chunk &chunk = copy.chunks[0];
  const uint8_t *source = warp.cta.at(chunk.address);
  if (!copy.done) copy.hasRead.assign(source, source + chunk.bytes);
  warp.cta.countReads(chunk, -1);
  warp.cta.noteRead(chunk.address, chunk.bytes, warp.index, warp.clock[warp.index], copy.step->number);
}

/// Completes a store: its bytes in global memory now belong to this warp.
static void noteLanded(Warp &warp, const EngineCopy &copy) {
  bool atomic = cast<ptx::TmaStoreOp>(copy.step->op).getReduce().has_value();
  for (const Chunk &run : copy.stored)
    warp.cta.cluster.touched.note(agentOf(warp.cta.rank, warp.index), warp.clock[warp.index],
                                  {run.address & interp::addressMask, run.bytes, true, atomic, copy.step->number, copy.agent},
                                  [](uint32_t, uint32_t) { return true; }); // compared when the store began
}

static bool tmaWait(Warp &warp, const Step &step, ptx::TmaWaitOp op) {
  size_t pending = size_t(op.getPending());
  for (int64_t lane : lanesOf(warp.mask)) {
    auto &groups = warp.storeGroups[lane], &landing = warp.landingGroups[lane];
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

// ---- execution

/// Returns the format of a map of floats of at most 32 bits.
static std::optional<TensorFormat> floatFormat(MapElement element) {
  switch (element) {
  case MapElement::f16: return TensorFormat::f16;
  case MapElement::bf16: return TensorFormat::bf16;
  case MapElement::f32:
  case MapElement::f32Ftz:
  case MapElement::tf32: return TensorFormat::f32;
  default: return std::nullopt;
  }
}

static uint64_t reduce(ptx::Redux kind, MapElement element, uint64_t old, uint64_t value) {
  auto reduced = [&](double a, double b) {
    return kind == ptx::Redux::add ? a + b : kind == ptx::Redux::min ? std::min(a, b) : std::max(a, b);
  };
  if (element == MapElement::f64) return llvm::bit_cast<uint64_t>(reduced(llvm::bit_cast<double>(old), llvm::bit_cast<double>(value)));
  std::optional<TensorFormat> format = floatFormat(element);
  if (!format) return combine(kind, 8 * bytesOf(element), old, value);
  return encode(*format, reduced(decode(*format, uint32_t(old)), decode(*format, uint32_t(value))));
}

/// Returns the value that a load writes to shared memory for an element; `memory` null: out of bounds.
static uint64_t loadedElement(const SimulatedTensorMap &map, const void *memory) {
  uint64_t value = 0;
  if (!memory) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (!map.nanFill) return 0;
    std::optional<TensorFormat> format = floatFormat(map.element);
    return format ? encode(*format, nan) : map.element == MapElement::f64 ? llvm::bit_cast<uint64_t>(nan) : 0;
  }
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
      return !(agent & tmaStoreAgents) && sim::at(copy.issued[agent >> 24], agent & 0xffffff) >= time;
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
  for (const Cta *target : {&cta, copy.barrierCta})
    if (target->isDone())
      return copy.warp->fail(*copy.step, "the load executes when CTA " + llvm::Twine(target->rank) +
                                             " of the cluster has ended, and its shared memory with it: no thread has waited for it");
  barrier.filled = barrier.phase + 1;
  barrier.filledBy = copy.step->number;
  if (!noteLoad(copy, barrier)) return false;
  const Chunk &chunk = copy.chunks[0];
  cta.setOwner(chunk, 0);
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
    uint64_t global = map.base + offset * uint64_t(bytes), local = swizzled(copy->shared + uint64_t(inShared), map.swizzle);
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

void addTmaHandlers(HandlerTable &table) {
  table.add<tmaLoad, tmaStore, tmaCommit, tmaWait>();
}

} // namespace tilewright::gpu::sim
