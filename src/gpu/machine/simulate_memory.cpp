// Memory, and the synchronous instructions of a warp and of a CTA: loads, stores, atomics, shuffles, barriers. It also checks for races:
//
//   store_shared by warp 0          the byte stores: written by warp 0 at its time 3
//   barrier                         all warps are now ordered after time 3 of warp 0
//   load_shared by warp 1           warp 1 is ordered after time 3 of warp 0: correct. Without the barrier: a race, with both locations
//
// In global memory, the history of the interpreter (ir/interpret/history.h) compares clusters. Another such history, ordered by the vector
// clocks, compares the warps of one cluster.
#include "gpu/cost_model/hardware.h"
#include "gpu/machine/simulate_program.h"
#include "support/mapped.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

using interp::decodeFloat;
using interp::encodeFloat;
using interp::signExtend;

// ---- access state of shared memory

static std::string hex(uint64_t number) {
  return "0x" + llvm::utohexstr(number, /*LowerCase=*/true);
}

static std::string byteText(uint64_t address) {
  return " (byte " + std::to_string(address - sharedBase) + ")";
}

uint64_t Cta::load(uint64_t address, int64_t size) {
  uint64_t value = 0;
  std::memcpy(&value, at(address), size_t(size));
  return value;
}

void Cta::noteRead(uint64_t address, int64_t size, int64_t reader, uint32_t epoch, uint32_t op) {
  size_t first = size_t(address - sharedBase);
  for (size_t i = first; i < first + size_t(size); ++i) {
    ReadState &read = reads[i * size_t(readers()) + size_t(reader)];
    bool known = bytes[i].readers >> reader & 1;
    if (!known || read.epoch <= epoch) read = {epoch, op};
    bytes[i].readers |= uint64_t(1) << reader;
  }
}

void Cta::noteWrite(uint64_t address, int64_t size, int64_t agent, uint32_t epoch, int64_t lane, uint32_t op) {
  size_t first = size_t(address - sharedBase);
  for (size_t i = first; i < first + size_t(size); ++i) {
    ByteState &byte = bytes[i];
    byte.writeAgent = uint16_t(agent);
    byte.writeEpoch = epoch;
    byte.writeLane = uint8_t(lane);
    byte.writeOp = op;
    byte.readers = 0;
  }
}

uint32_t Cta::newCopy(uint32_t op) {
  copyOps.push_back(op);
  return ++copies;
}

/// Returns the asynchronous instruction that may still be reading a byte.
static std::optional<uint32_t> readerInFlight(const Cta &cta, uint64_t at) {
  auto has = [&](const Chunk &chunk) { return at >= chunk.address && at < chunk.address + uint64_t(chunk.bytes); };
  std::optional<uint32_t> found;
  auto look = [&](const std::vector<std::shared_ptr<EngineCopy>> &copies) {
    for (const auto &copy : copies)
      if (llvm::any_of(copy->chunks, has)) found = copy->step->number;
  };
  for (const auto &warp : cta.warps) {
    for (const MatrixRead &read : warp->matrixReads)
      if (llvm::any_of(read.chunks, has)) found = read.op;
    for (size_t lane = 0; lane < size_t(lanesPerWarp); ++lane) {
      look(warp->openStores[lane]);
      for (const auto &group : warp->storeGroups[lane])
        look(group);
    }
  }
  return found;
}

const Clock &Warp::knownOf(const Cta &other) const {
  return &other == &cta ? clock : others[size_t(other.rank)];
}

/// Checks that a byte's last write happens before this access of the warp.
static bool checkLastWrite(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t at, Warp::Access access) {
  using Access = Warp::Access;
  const Clock &known = warp.knownOf(cta);
  const ByteState &byte = cta.state(at);
  bool isAsync = access == Access::asyncRead || access == Access::asyncWrite;
  bool writes = access != Access::read && access != Access::asyncRead, byWarp = byte.writeAgent < int64_t(cta.warps.size());
  if (!byte.writeEpoch || (access == Access::add && byte.added)) return true;
  auto write = [&] { return cta.nameOf(byte.writeOp) + " at " + cta.locationOf(byte.writeOp); };
  bool isOwn = &cta == &warp.cta && byte.writeAgent == warp.index;
  if (sim::at(known, byte.writeAgent) < byte.writeEpoch && !isOwn) {
    std::string agent = byWarp ? "warp " + std::to_string(byte.writeAgent) + ", lane " + std::to_string(byte.writeLane)
                               : "TMA, whose mbarrier this warp has not waited for";
    return warp.fail(step,
                     llvm::Twine("race: ") + (writes ? "writes" : "reads") + " bytes that " + agent + " wrote (" + write() +
                         "), and nothing orders the two accesses" + byteText(at),
                     lane, byte.writeOp);
  }
  if (isAsync && byWarp && !cta.warps[byte.writeAgent]->fencedSince(byte.writeLane, byte.writeEpoch, sim::at(known, byte.writeAgent)))
    return warp.fail(step,
                     "fence_async is missing: warp " + llvm::Twine(byte.writeAgent) + ", lane " + llvm::Twine(byte.writeLane) +
                         " wrote these bytes (" + write() + ") and did not execute fence_async after it" + byteText(at),
                     lane, byte.writeOp);
  return true;
}

/// Checks that the reads of a byte happen before this warp writes to it.
static bool checkReaders(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t at) {
  const Clock &known = warp.knownOf(cta);
  if (auto remote = cta.remoteReads.find(at); remote != cta.remoteReads.end()) {
    for (const RemoteRead &read : remote->second)
      if (sim::at(warp.knownOf(*cta.cluster.ctas[size_t(read.cta)]), read.warp) < read.epoch)
        return warp.fail(step,
                         "race: writes bytes that warp " + llvm::Twine(read.warp) + " of CTA " + llvm::Twine(read.cta) +
                             " of the cluster read (" + cta.nameOf(read.op) + " at " + cta.locationOf(read.op) +
                             ") without a cluster barrier in between" + byteText(at),
                         lane, read.op);
    cta.remoteReads.erase(remote);
  }
  if (!cta.tensorReads.empty())
    for (const TensorRead &read : cta.tensorReads[size_t(at - sharedBase) / 16])
      if (sim::at(warp.knownOf(read.warp->cta), read.complete) < read.number)
        return warp.fail(step,
                         "race: writes bytes that " + cta.nameOf(read.op) + " at " + cta.locationOf(read.op) +
                             " may still be reading: a tcgen05_commit after it and a wait for its mbarrier are missing" + byteText(at),
                         lane, read.op);
  int64_t warps = int64_t(cta.warps.size());
  uint64_t readers = cta.state(at).readers;
  if (&cta == &warp.cta) readers &= ~(uint64_t(1) << warp.index);
  for (int64_t other = 0; readers && other < cta.readers(); ++other) {
    if (!(readers >> other & 1)) continue;
    const ReadState &read = cta.reads[size_t(at - sharedBase) * size_t(cta.readers()) + size_t(other)];
    if (sim::at(known, other) >= read.epoch) continue;
    std::string agent = other < warps ? "warp " + std::to_string(other) : "warpgroup " + std::to_string(other - warps);
    return warp.fail(step,
                     "race: writes bytes that " + agent + " read (" + cta.nameOf(read.op) + " at " + cta.locationOf(read.op) +
                         "), and nothing orders the two accesses" + byteText(at),
                     lane, read.op);
  }
  return true;
}

/// Checks that neither an operation in flight nor an earlier one conflicts with an access to a byte of a CTA's shared memory.
static bool checkByte(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t at, Warp::Access access) {
  bool writes = access != Warp::Access::read && access != Warp::Access::asyncRead;
  ByteState &byte = cta.state(at);
  if (byte.holdsBarrier) return warp.fail(step, "touches the mbarrier at byte " + llvm::Twine(at - sharedBase), lane);
  if (byte.owner) {
    uint32_t op = cta.copyOps[byte.owner];
    return warp.fail(
        step, "race: an asynchronous copy (" + cta.nameOf(op) + " at " + cta.locationOf(op) + ") still fills these bytes" + byteText(at),
        lane, op);
  }
  if (writes && byte.inFlightReads) {
    std::optional<uint32_t> op = readerInFlight(cta, at);
    std::string reader = op ? cta.nameOf(*op) + " at " + cta.locationOf(*op) : "an asynchronous instruction";
    return warp.fail(step, "race: writes bytes that " + reader + " may still be reading" + byteText(at), lane, op.value_or(step.number));
  }
  return checkLastWrite(warp, step, lane, cta, at, access) && (!writes || checkReaders(warp, step, lane, cta, at));
}

bool Warp::touchTarget(const Step &step, int64_t lane, Cta &target, const Chunk &chunk, int64_t alignment, Access access) {
  if (!target.inShared(chunk.address, chunk.bytes)) return fail(step, hex(chunk.address) + " is outside of shared memory", lane);
  if (chunk.address % uint64_t(alignment)) return fail(step, hex(chunk.address) + " is not a multiple of " + llvm::Twine(alignment), lane);
  if (target.isDone())
    return fail(step, "CTA " + llvm::Twine(target.rank) + " of the cluster has ended, and its shared memory with it", lane);
  for (uint64_t at = chunk.address; at < chunk.address + uint64_t(chunk.bytes); ++at)
    if (!checkByte(*this, step, lane, target, at, access)) return false;
  return true;
}

bool Warp::touch(const Step &step, int64_t lane, uint64_t address, int64_t bytes, Access access, int64_t alignment) {
  if (!cta.inShared(address, bytes))
    return fail(step,
                hex(address) + " is outside of shared memory (" + llvm::Twine(cta.shared.size()) + " bytes at " + hex(sharedBase) + ")",
                lane);
  if (address % uint64_t(alignment)) return fail(step, hex(address) + " is not a multiple of " + llvm::Twine(alignment), lane);
  bool writes = access != Access::read && access != Access::asyncRead;
  for (uint64_t at = address; at < address + uint64_t(bytes); ++at)
    if (!checkByte(*this, step, lane, cta, at, access)) return false;
  if (access == Access::read) cta.noteRead(address, bytes, index, clock[size_t(index)], step.number);
  if (access == Access::write || access == Access::add) cta.noteWrite(address, bytes, index, clock[size_t(index)], lane, step.number);
  for (uint64_t at = address; writes && at < address + uint64_t(bytes); ++at)
    cta.state(at).added = access == Access::add;
  return true;
}

bool Warp::touchRemote(const Step &step, int64_t lane, Cta &from, uint64_t address, int64_t bytes) {
  if (!from.inShared(address, bytes)) return fail(step, hex(address) + " is outside of shared memory", lane);
  if (address % uint64_t(bytes)) return fail(step, hex(address) + " is not a multiple of " + llvm::Twine(bytes), lane);
  if (from.isDone()) return fail(step, "CTA " + llvm::Twine(from.rank) + " of the cluster has ended, and its shared memory with it", lane);
  const Clock &known = others[size_t(from.rank)];
  for (uint64_t at = address; at < address + uint64_t(bytes); ++at) {
    const ByteState &byte = from.state(at);
    if (byte.owner || byte.holdsBarrier || (byte.writeEpoch && sim::at(known, byte.writeAgent) < byte.writeEpoch))
      return fail(step,
                  "race: reads bytes that CTA " + llvm::Twine(from.rank) + " of the cluster wrote (" + cta.nameOf(byte.writeOp) + " at " +
                      cta.locationOf(byte.writeOp) + ") without a cluster barrier in between" + byteText(at),
                  lane, byte.writeOp);
    from.remoteReads[at].push_back({cta.rank, index, clock[size_t(index)], step.number});
  }
  return true;
}

// ---- global memory

static bool holds(const SimulatedMemory &range, uint64_t address, int64_t bytes) {
  return !range.isKnown || (address >= range.begin && address + uint64_t(bytes) <= range.end);
}

/// Returns the memory that a pointer was computed from, or null.
static const SimulatedMemory *rangeOf(const SimulateOptions &options, uint64_t pointer) {
  uint64_t tag = pointer >> interp::addressBits;
  return tag && tag <= options.memory.size() ? &options.memory[tag - 1] : nullptr;
}

static std::string distanceText(const SimulatedMemory &range, uint64_t address, int64_t bytes) {
  if (address < range.begin) return std::to_string(range.begin - address) + " bytes before " + range.name;
  return std::to_string(address + uint64_t(bytes) - range.end) + " bytes past the end of " + range.name;
}

static std::string outsideText(const SimulateOptions &options, uint64_t pointer, int64_t bytes) {
  uint64_t address = pointer & interp::addressMask;
  auto inside = llvm::find_if(options.memory, [&](const SimulatedMemory &range) { return range.isKnown && holds(range, address, bytes); });
  if (const SimulatedMemory *range = rangeOf(options, pointer)) {
    std::string text = distanceText(*range, address, bytes);
    return inside == options.memory.end() ? text : text + ", where " + inside->name + " is";
  }
  auto distance = [&](const SimulatedMemory &range) {
    return address < range.begin ? range.begin - address : address + uint64_t(bytes) - range.end;
  };
  auto nearest = llvm::min_element(options.memory, [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  return nearest == options.memory.end() ? "the kernel has none" : distanceText(*nearest, address, bytes);
}

bool Warp::isThere(uint64_t pointer) const {
  const SimulateOptions &options = cta.options;
  uint64_t address = pointer & interp::addressMask;
  const SimulatedMemory *range = rangeOf(options, pointer);
  return range ? holds(*range, address, 1) : llvm::any_of(options.memory, [&](const auto &any) { return holds(any, address, 1); });
}

std::optional<uint64_t> Warp::global(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, int64_t alignment) {
  constexpr uint64_t firstPage = 4096; // never mapped
  uint64_t address = pointer & interp::addressMask;
  auto wrong = [&](const llvm::Twine &text) {
    fail(step, text, lane);
    return std::nullopt;
  };
  if (address < firstPage) return wrong("access of " + llvm::Twine(bytes) + " bytes at " + hex(address) + ": a null pointer");
  if (address % uint64_t(alignment)) return wrong("address " + hex(address) + " is not a multiple of " + llvm::Twine(alignment));
  const SimulateOptions &options = cta.options;
  const SimulatedMemory *range = rangeOf(options, pointer);
  if (range ? holds(*range, address, bytes) : llvm::any_of(options.memory, [&](const auto &any) { return holds(any, address, bytes); }))
    return address;
  if (!range && options.tagsArguments && isMapped(address, bytes))
    return address; // a loaded pointer may point to a tensor that is not an argument
  return wrong("access of " + llvm::Twine(bytes) + " bytes at " + hex(address) +
               " is outside of the kernel's memory: " + outsideText(options, pointer, bytes));
}

bool Warp::noteLaunch(const Step &step, int64_t lane, const GlobalAccess &access) {
  Launch &launch = cta.cluster.launch;
  if (!launch.history) return true;
  uint64_t address = access.pointer & interp::addressMask;
  std::optional<AccessHistory::Clash> clash = launch.history->note(
      access.program.value_or(program), {address, access.bytes, access.writes, access.isForAll, step.number, launch.stores});
  if (!clash || clash->sameStore) return true; // lanes of one store are compared in the store itself
  std::array<int64_t, 3> grid = launch.clusters;
  const SimulatedMemory *range = rangeOf(cta.options, access.pointer);
  int64_t other = clash->program;
  return fail(step,
              "race: access of " + llvm::Twine(access.bytes) + " bytes at " + hex(address) + (range ? " in " + range->name : "") +
                  ": program (" + llvm::Twine(other % grid[0]) + ", " + llvm::Twine(other / grid[0] % grid[1]) + ", " +
                  llvm::Twine(other / (grid[0] * grid[1])) + ") has " + (clash->wrote ? "stored" : "loaded") + " there" +
                  (clash->atomic ? " by an atomic" : "") + " (" + cta.nameOf(clash->where) + " at " + cta.locationOf(clash->where) +
                  "), and no atomics order the two",
              lane, clash->where);
}

bool Warp::knows(uint32_t agent, uint32_t time) const {
  if (agent & tmaStoreAgents) return false;
  int64_t rank = agent >> 24, component = agent & 0xffffff;
  return sim::at(rank == cta.rank ? clock : others[size_t(rank)], component) >= time;
}

bool Warp::failTouched(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, const AccessHistory::Clash &clash) {
  uint64_t address = pointer & interp::addressMask;
  const SimulatedMemory *range = rangeOf(cta.options, pointer);
  std::string other = cta.nameOf(clash.where) + " at " + cta.locationOf(clash.where);
  std::string what = "race: access of " + std::to_string(bytes) + " bytes at " + hex(address) + (range ? " in " + range->name : "") + ": ";
  if (clash.program & tmaStoreAgents)
    return fail(step,
                what + "a TMA store (" + other + ") may still be writing there, because no tma_wait for the complete store is in between",
                lane, clash.where);
  int64_t component = clash.program & 0xffffff;
  std::string agent = component < int64_t(cta.warps.size()) ? "warp " + std::to_string(component) : "TMA";
  if (clash.program >> 24 != cta.rank) agent += " of CTA " + std::to_string(clash.program >> 24) + " of the cluster";
  return fail(step, what + agent + (clash.wrote ? " wrote" : " read") + " these bytes (" + other + "), and nothing orders the two accesses",
              lane, clash.where);
}

bool Warp::noteGlobal(const Step &step, int64_t lane, const GlobalAccess &access) {
  if (!noteLaunch(step, lane, access)) return false;
  uint64_t address = access.pointer & interp::addressMask;
  uint32_t where = access.writes ? cta.program.firstAt[step.number] : step.number;
  std::optional<AccessHistory::Clash> clash = cta.cluster.touched.note(
      agentOf(cta.rank, index), clock[size_t(index)], {address, access.bytes, access.writes, access.atomic, where, stored[step.number]},
      [&](uint32_t agent, uint32_t time) { return knows(agent, time); });
  if (!clash || clash->sameStore) return true;
  bool same = access.value && clash->wrote && !std::memcmp(reinterpret_cast<void *>(address), access.value, size_t(access.bytes));
  return same || failTouched(step, lane, access.pointer, access.bytes, *clash); // in any order, the bytes are the same
}

static bool write(Warp &warp, const Step &step, int64_t lane, uint64_t pointer, uint64_t address, const void *value, int64_t bytes) {
  if (!warp.noteGlobal(step, lane, {pointer, bytes, true, false, false, value})) return false;
  void *data = reinterpret_cast<void *>(address);
  warp.cta.cluster.launch.changes += std::memcmp(data, value, size_t(bytes)) != 0;
  std::memcpy(data, value, size_t(bytes));
  return true;
}

// ---- loads and stores

static int64_t bytesOf(Type type) {
  return interp::formatOf(type).bytes;
}

/// Loads a lane's aligned words. Bytes outside a tensor are zeros, and the kernel must not use them.
static bool loadUnaligned(Warp &warp, const Step &step, int64_t lane, uint64_t pointer) {
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size()), all = bytes * count;
  llvm::SmallVector<uint8_t, 16> content(size_t(all), 0);
  int64_t found = 0;
  for (int64_t i = 0; i < all; ++i) {
    if (!warp.isThere(pointer + uint64_t(i))) continue;
    ++found;
    if (!warp.noteGlobal(step, lane, {pointer + uint64_t(i), 1})) return false;
    content[size_t(i)] = *reinterpret_cast<const uint8_t *>((pointer + uint64_t(i)) & interp::addressMask);
  }
  if (found == 0 || (pointer & interp::addressMask) % uint64_t(all)) return warp.global(step, lane, pointer, all, all).has_value();
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, &content[size_t(i * bytes)], size_t(bytes));
    warp.result(step, size_t(i))[size_t(lane)] = value;
  }
  return true;
}

static bool loadGlobal(Warp &warp, const Step &step) {
  auto op = cast<ptx::LoadGlobalOp>(step.op);
  bool hasPredicate = bool(op.getPredicate());
  size_t firstOther = hasPredicate ? 2 : 1;
  bool hasOther = !op.getOther().empty();
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size());
  uint32_t reads = warp.lanesWhere(step, hasPredicate ? 1 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    bool present = reads >> lane & 1;
    uint64_t pointer = warp.get(step, 0)[size_t(lane)];
    if (present && op.getUnaligned()) {
      if (!loadUnaligned(warp, step, lane, pointer)) return false;
      continue;
    }
    std::optional<uint64_t> address = present ? warp.global(step, lane, pointer, bytes * count, bytes * count) : 0;
    Warp::GlobalAccess access{pointer, bytes * count, /*writes=*/false, /*atomic=*/op.getIsVolatile(), /*isForAll=*/op.getIsVolatile()};
    if (!address || (present && !warp.noteGlobal(step, lane, access))) return false;
    for (int64_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      if (present)
        std::memcpy(&value, reinterpret_cast<const void *>(*address + uint64_t(i * bytes)), size_t(bytes));
      else if (hasOther)
        value = warp.get(step, firstOther + size_t(i))[size_t(lane)];
      warp.result(step, size_t(i))[size_t(lane)] = value;
    }
  }
  if (!op.getIsVolatile() && op.getCache() != ptx::Cache::cv) return true;
  warp.advanced = true; // a loop may wait for a store of another warp
  warp.cta.cluster.hasPolled = true;
  return warp.yield();
}

static bool storeGlobal(Warp &warp, const Step &step) {
  auto op = cast<ptx::StoreGlobalOp>(step.op);
  int64_t count = int64_t(op.getValues().size()), bytes = bytesOf(op.getValues()[0].getType());
  uint32_t writes = warp.lanesWhere(step, op.getPredicate() ? 1 + count : -1);
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(writes >> lane & 1)) continue;
    uint64_t pointer = warp.get(step, 0)[size_t(lane)];
    std::optional<uint64_t> address = warp.global(step, lane, pointer, bytes * count, bytes * count);
    if (!address) return false;
    llvm::SmallVector<uint8_t, 16> values(size_t(bytes * count));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(&values[size_t(i * bytes)], &warp.get(step, size_t(1 + i))[size_t(lane)], size_t(bytes));
    if (!write(warp, step, lane, pointer, *address, values.data(), bytes * count)) return false;
  }
  return true;
}

static bool loadShared(Warp &warp, const Step &step) {
  auto op = cast<ptx::LoadSharedOp>(step.op);
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size());
  uint32_t reads = warp.lanesWhere(step, op.getPredicate() ? 1 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    bool present = reads >> lane & 1;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)] + uint64_t(op.getOffset()));
    if (present && !warp.touch(step, lane, address, bytes * count, Warp::Access::read, bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i)
      warp.result(step, size_t(i))[size_t(lane)] =
          present ? warp.cta.load(address + uint64_t(i * bytes), bytes) : 0xdeadbeefdeadbeef & step.to.mask();
  }
  return true;
}

static bool loadBlock(Warp &warp, const Step &step) {
  int64_t bytes = step.results.empty() ? 0 : bytesOf(step.op->getResult(0).getType()), count = int64_t(step.results.size());
  Cluster &cluster = warp.cta.cluster;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)]), rank = warp.get(step, 1)[size_t(lane)];
    if (rank >= cluster.ctas.size()) return warp.fail(step, "the cluster has no CTA " + llvm::Twine(rank), lane);
    Cta &from = *cluster.ctas[rank];
    bool fits = &from == &warp.cta ? warp.touch(step, lane, address, bytes * count, Warp::Access::read, bytes * count)
                                   : warp.touchRemote(step, lane, from, address, bytes * count);
    if (!fits) return false;
    for (int64_t i = 0; i < count; ++i)
      warp.result(step, size_t(i))[size_t(lane)] = from.load(address + uint64_t(i * bytes), bytes);
  }
  return true;
}

/// Two lanes may write one byte in one instruction only if they write the same value.
static bool checkLanesAgree(Warp &warp, const Step &step, uint32_t writes, int64_t bytes, int64_t count) {
  uint64_t offset = uint64_t(cast<ptx::StoreSharedOp>(step.op).getOffset());
  std::array<std::pair<uint64_t, int64_t>, 32> accesses; // address, lane
  size_t active = 0;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
    if (writes >> lane & 1) accesses[active++] = {warp.cta.local(warp.get(step, 0)[size_t(lane)] + offset), lane};
  std::sort(accesses.begin(), accesses.begin() + active);
  auto overlaps = [&](const auto &a, const auto &b) { return a.first + uint64_t(bytes * count) > b.first; };
  if (std::adjacent_find(accesses.begin(), accesses.begin() + active, overlaps) == accesses.begin() + active) return true;
  for (auto [address, lane] : llvm::ArrayRef(accesses).take_front(active))
    for (int64_t i = 0; i < count; ++i) {
      uint64_t at = address + uint64_t(i * bytes);
      if (std::memcmp(warp.cta.at(at), &warp.get(step, size_t(1 + i))[size_t(lane)], size_t(bytes)) == 0) continue;
      return warp.fail(step, "race: another lane writes another value to the same address" + byteText(at) + " in this instruction", lane);
    }
  return true;
}

static bool storeShared(Warp &warp, const Step &step) {
  auto op = cast<ptx::StoreSharedOp>(step.op);
  int64_t count = int64_t(op.getValues().size()), bytes = bytesOf(op.getValues()[0].getType());
  uint32_t writes = warp.lanesWhere(step, op.getPredicate() ? 1 + count : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(writes >> lane & 1)) continue;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)] + uint64_t(op.getOffset()));
    if (!warp.touch(step, lane, address, bytes * count, Warp::Access::write, bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i) {
      void *data = warp.cta.at(address + uint64_t(i * bytes));
      const void *value = &warp.get(step, size_t(1 + i))[size_t(lane)];
      warp.cta.cluster.launch.changes += std::memcmp(data, value, size_t(bytes)) != 0;
      std::memcpy(data, value, size_t(bytes));
    }
  }
  return checkLanesAgree(warp, step, writes, bytes, count);
}

static bool addShared(Warp &warp, const Step &step) {
  auto op = cast<ptx::AddSharedOp>(step.op);
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? 2 : -1);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    uint64_t address = warp.cta.local(warp.get(step, 0)[size_t(lane)]);
    if (!warp.touch(step, lane, address, 4, Warp::Access::add, 4)) return false;
    uint32_t sum = uint32_t(warp.cta.load(address, 4)) + uint32_t(warp.get(step, 1)[size_t(lane)]);
    std::memcpy(warp.cta.at(address), &sum, 4);
    ++warp.cta.cluster.launch.changes;
  }
  return true;
}

// ---- atomics

uint64_t combine(ptx::Redux kind, int64_t bits, uint64_t old, uint64_t value) {
  int64_t a = signExtend(old, bits), b = signExtend(value, bits);
  switch (kind) {
  case ptx::Redux::add: return (old + value) & llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(bits));
  case ptx::Redux::min: return a < b ? old : value;
  case ptx::Redux::max: return a > b ? old : value;
  case ptx::Redux::umin: return std::min(old, value);
  case ptx::Redux::umax: return std::max(old, value);
  case ptx::Redux::and_: return old & value;
  case ptx::Redux::or_: return old | value;
  case ptx::Redux::xor_: return old ^ value;
  }
  return value;
}

static uint64_t combine(ptx::Atomic kind, const Format &format, uint64_t old, uint64_t value) {
  if (kind == ptx::Atomic::exch) return value;
  if (kind == ptx::Atomic::fadd) return encodeFloat(format, decodeFloat(format, old) + decodeFloat(format, value));
  static_assert(uint32_t(ptx::Atomic::xor_) == uint32_t(ptx::Redux::xor_), "the two enums agree as far as Redux goes");
  return combine(ptx::Redux(uint32_t(kind)), format.bits, old, value);
}

/// Executes one atomic: reads, stores the result of `update`, and records the access. Returns the old value, or nothing after an error.
template <class Update>
static std::optional<uint64_t> atomicAt(Warp &warp, const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, ptx::Order order,
                                        ptx::Scope scope, Update update) {
  std::optional<uint64_t> address = warp.global(step, lane, pointer, bytes, bytes);
  if (!address) return std::nullopt;
  Launch &launch = warp.cta.cluster.launch;
  uint32_t program = warp.program;
  bool forAll = scope != ptx::Scope::cta, acquires = order == ptx::Order::acquire || order == ptx::Order::acq_rel;
  if (launch.history && acquires && forAll) launch.history->acquire(program, *address);
  void *data = reinterpret_cast<void *>(*address);
  uint64_t old = 0;
  std::memcpy(&old, data, size_t(bytes));
  uint64_t now = update(old);
  bool changed = std::memcmp(&old, &now, size_t(bytes)) != 0;
  launch.changes += changed;
  std::memcpy(data, &now, size_t(bytes));
  if (!warp.noteGlobal(step, lane, {pointer, bytes, changed, true, forAll})) return std::nullopt;
  bool releases = order == ptx::Order::release || order == ptx::Order::acq_rel;
  if (launch.history && releases && forAll) launch.history->release(program, *address);
  return old;
}

static bool atomic(Warp &warp, const Step &step) {
  auto op = cast<ptx::AtomicOp>(step.op);
  Format format = interp::formatOf(op.getValues()[0].getType());
  int64_t count = int64_t(op.getValues().size());
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? 1 + count : -1);
  if (op.getOp() == ptx::Atomic::fadd && format.kind == Format::integer) return warp.fail(step, "fadd of an integer");
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!warp.active(lane)) continue;
    bool present = acts >> lane & 1;
    uint64_t pointer = warp.get(step, 0)[size_t(lane)];
    if (present && !warp.global(step, lane, pointer, format.bytes * count, format.bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i) {
      std::optional<uint64_t> old = 0xdeadbeefdeadbeef & format.mask();
      if (present)
        old = atomicAt(warp, step, lane, pointer + uint64_t(i * format.bytes), format.bytes, op.getOrder(), op.getScope(),
                       [&](uint64_t before) { return combine(op.getOp(), format, before, warp.get(step, size_t(1 + i))[size_t(lane)]); });
      if (!old) return false;
      if (size_t(i) < step.results.size()) warp.result(step, size_t(i))[size_t(lane)] = *old;
    }
  }
  warp.advanced = true;
  return warp.yield();
}

static bool compareSwap(Warp &warp, const Step &step) {
  auto op = cast<ptx::CompareSwapOp>(step.op);
  uint32_t acts = warp.lanesWhere(step, op.getPredicate() ? 3 : -1);
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(acts >> lane & 1)) continue;
    std::optional<uint64_t> old =
        atomicAt(warp, step, lane, warp.get(step, 0)[size_t(lane)], step.to.bytes, op.getOrder(), op.getScope(),
                 [&](uint64_t before) { return before == warp.get(step, 1)[size_t(lane)] ? warp.get(step, 2)[size_t(lane)] : before; });
    if (!old) return false;
    warp.result(step, 0)[size_t(lane)] = *old;
  }
  warp.advanced = true;
  return warp.yield();
}

// ---- position

template <class Function> static bool perLane(Warp &warp, const Step &step, Function function) {
  Lanes &result = warp.result(step, 0);
  warp.forLanes([&](int64_t lane) { result[size_t(lane)] = uint64_t(function(lane)) & step.to.mask(); });
  return true;
}

// ---- the threads of a warp

static bool shuffle(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  ptx::Shuffle kind = cast<ptx::ShuffleOp>(step.op).getKind();
  Lanes source = warp.get(step, 0);
  const Lanes &which = warp.get(step, 1);
  return perLane(warp, step, [&](int64_t lane) {
    int64_t amount = int64_t(which[size_t(lane)] & 31), from = lane;
    switch (kind) {
    case ptx::Shuffle::idx: from = amount; break;
    case ptx::Shuffle::bfly: from = lane ^ amount; break;
    case ptx::Shuffle::up: from = lane - amount; break;
    case ptx::Shuffle::down: from = lane + amount; break;
    }
    return source[size_t(from < 0 || from > 31 ? lane : from)];
  });
}

static bool redux(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  ptx::Redux kind = cast<ptx::ReduxOp>(step.op).getKind();
  const Lanes &values = warp.get(step, 0);
  uint64_t total = values[0];
  for (size_t lane = 1; lane < 32; ++lane)
    total = combine(kind, step.to.bits, total, values[lane]);
  return perLane(warp, step, [&](int64_t) { return total; });
}

static bool ballot(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  uint64_t bits = warp.lanesWhere(step, 0);
  return perLane(warp, step, [&](int64_t) { return bits; });
}

static bool matchAny(Warp &warp, const Step &step) {
  if (!warp.needAllLanes(step)) return false;
  Lanes values = warp.get(step, 0);
  return perLane(warp, step, [&](int64_t lane) {
    uint64_t bits = 0;
    for (size_t other = 0; other < 32; ++other)
      bits |= uint64_t(values[other] == values[size_t(lane)]) << other;
    return bits;
  });
}

// ---- barriers of a CTA

/// True if threads of one program may be at both operations at the same time: at one operation, or in parts that different warps run.
static bool mayRunConcurrently(Operation *here, Operation *there) {
  if (here == there || here->getParentRegion() == there->getParentRegion()) return here == there;
  for (Region *region = here->getParentRegion(); region; region = region->getParentRegion())
    if (region->isAncestor(there->getParentRegion())) {
      Operation *up = region->findAncestorOpInRegion(*here), *to = region->findAncestorOpInRegion(*there);
      return up == to && isa<scf::IfOp>(up);
    }
  return true;
}

/// Adds the warp to the barrier; the last warp to arrive completes it.
static NamedBarrier *arrive(Warp &warp, const Step &step, int64_t id, int64_t threads) {
  if (!warp.needAllLanes(step)) return nullptr;
  int64_t all = int64_t(warp.cta.warps.size()) * lanesPerWarp;
  if (threads == 0) threads = all;
  if (id < 0 || id > 15 || threads % lanesPerWarp || threads > all) {
    warp.fail(step, "barrier " + llvm::Twine(id) + " of " + llvm::Twine(threads) +
                        " threads: ids are 0 to 15, threads a multiple of 32 and at most " + llvm::Twine(all));
    return nullptr;
  }
  NamedBarrier &barrier = warp.cta.barriers[size_t(id)];
  if (barrier.arrived && barrier.threads != threads) {
    warp.fail(step, "other threads wait at barrier " + llvm::Twine(id) + " for " + llvm::Twine(barrier.threads) + " threads, not " +
                        llvm::Twine(threads));
    return nullptr;
  }
  bool isAll = id == 0 && threads == all;
  if (barrier.arrived && isAll && !mayRunConcurrently(step.op, warp.cta.program.ops[barrier.first])) {
    warp.fail(step, "other threads wait at another barrier of the CTA: control flow has diverged", -1, barrier.first);
    return nullptr;
  }
  if (!barrier.arrived) barrier.first = step.number;
  barrier.arrivingOthers.resize(warp.others.size());
  for (auto [into, known] : llvm::zip(barrier.arrivingOthers, warp.others))
    join(into, known);
  barrier.threads = threads;
  barrier.arrived += lanesPerWarp;
  warp.release(barrier.arriving);
  if (barrier.arrived == threads) {
    barrier.released = std::move(barrier.arriving);
    barrier.releasedOthers = std::move(barrier.arrivingOthers);
    barrier.arriving.clear();
    barrier.arrivingOthers.clear();
    barrier.arrived = 0;
    ++barrier.generation;
  }
  return &barrier;
}

static bool sync(Warp &warp, const Step &step, int64_t id, int64_t threads, llvm::StringRef what) {
  int64_t generation = warp.cta.barriers[size_t(id & 15)].generation;
  NamedBarrier *barrier = arrive(warp, step, id, threads);
  if (!barrier || !warp.waitUntil(step, what, [&] { return barrier->generation != generation; })) return false;
  join(warp.clock, barrier->released);
  for (auto [known, from] : llvm::zip(warp.others, barrier->releasedOthers))
    join(known, from);
  return true;
}

static bool nothing(Warp &, const Step &) {
  return true;
}

void addMemoryHandlers(HandlerTable &table) {
  auto &handlers = table.handlers;
  handlers["ptx.thread_id"] = [](Warp &warp, const Step &step) {
    return perLane(warp, step, [&](int64_t lane) { return warp.index * lanesPerWarp + lane; });
  };
  handlers["ptx.warp_id"] = [](Warp &warp, const Step &step) { return perLane(warp, step, [&](int64_t) { return warp.index; }); };
  handlers["ptx.lane_id"] = [](Warp &warp, const Step &step) { return perLane(warp, step, [](int64_t lane) { return lane; }); };
  handlers["ptx.shared_base"] = [](Warp &w, const Step &step) { return perLane(w, step, [&](int64_t) { return w.cta.base(); }); };
  handlers["ptx.cluster_rank"] = [](Warp &warp, const Step &step) { return perLane(warp, step, [&](int64_t) { return warp.cta.rank; }); };
  handlers["ptx.block_id"] = [](Warp &warp, const Step &step) {
    int64_t axis = cast<ptx::BlockIdOp>(step.op).getAxis();
    if (axis > 2) return warp.fail(step, "invalid axis");
    return perLane(warp, step, [&](int64_t) { return warp.cta.id[size_t(axis)]; });
  };
  handlers["ptx.block_count"] = [](Warp &warp, const Step &step) {
    int64_t axis = cast<ptx::BlockCountOp>(step.op).getAxis();
    if (axis > 2) return warp.fail(step, "invalid axis");
    return perLane(warp, step, [&](int64_t) { return warp.cta.grid[size_t(axis)]; });
  };
  handlers["ptx.elect"] = [](Warp &warp, const Step &step) {
    int64_t elected = int64_t(warp.cta.options.seed % uint64_t(lanesPerWarp)); // any lane, but the same one in each election
    return warp.needAllLanes(step) && perLane(warp, step, [&](int64_t lane) { return lane == elected; });
  };
  handlers["ptx.load_global"] = loadGlobal;
  handlers["ptx.store_global"] = storeGlobal;
  handlers["ptx.load_shared"] = loadShared;
  handlers["ptx.load_block"] = loadBlock;
  handlers["ptx.store_shared"] = storeShared;
  handlers["ptx.add_shared"] = addShared;
  handlers["ptx.atomic"] = atomic;
  handlers["ptx.compare_swap"] = compareSwap;
  handlers["ptx.fence"] = nothing; // the simulator accesses global memory in program order
  handlers["ptx.sleep"] = nothing;
  handlers["ptx.shuffle"] = shuffle;
  handlers["ptx.redux"] = redux;
  handlers["ptx.ballot"] = ballot;
  handlers["ptx.match_any"] = matchAny;
  handlers["ptx.warp_barrier"] = [](Warp &warp, const Step &step) { return warp.needAllLanes(step); };
  handlers["ptx.barrier"] = [](Warp &warp, const Step &step) {
    auto op = cast<ptx::BarrierOp>(step.op);
    int64_t number = warp.index;
    if (op.getWarp()) {
      number = int64_t(warp.get(step, 0)[0]);
      bool isOne = true;
      warp.forLanes([&](int64_t lane) { isOne &= int64_t(warp.get(step, 0)[size_t(lane)]) == number; });
      if (!isOne) return warp.fail(step, "the threads of a warp arrive at different barriers");
    }
    int64_t id = op.getId() + (op.getPerWarpGroup() ? number / warpsOfGroup : 0);
    return sync(warp, step, id, op.getThreads(), "barrier " + std::to_string(id));
  };
  handlers["ptx.barrier_arrive"] = [](Warp &warp, const Step &step) {
    auto op = cast<ptx::BarrierArriveOp>(step.op);
    return arrive(warp, step, op.getId(), op.getThreads()) != nullptr;
  };
  handlers["ptx.max_registers"] = [](Warp &warp, const Step &step) {
    int64_t count = cast<ptx::MaxRegistersOp>(step.op).getCount();
    if (count < minMaxnreg || count > maxMaxnreg || count % registerStep)
      return warp.fail(step, "the count is a multiple of 8 from 24 to 256");
    return warp.needAllLanes(step);
  };
}

} // namespace tilewright::gpu::sim
