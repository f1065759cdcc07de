// Shared memory: loads, stores and additions. It also checks for races:
//
//   store_shared by warp 0          the byte stores: written by warp 0 at its time 3
//   barrier                         all warps are now ordered after time 3 of warp 0
//   load_shared by warp 1           warp 1 is ordered after time 3 of warp 0: correct. Without the barrier: a race, with both locations
#include "gpu/machine/simulate_program.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

// ---- access state of shared memory

std::string hex(uint64_t number) {
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

void Cta::noteAdd(uint64_t address, int64_t size) {
  for (uint64_t i = address; i < address + uint64_t(size); ++i) {
    const ByteState &last = state(i);
    if (!last.added) continue;
    std::vector<ByteState> &earlier = adders[i];
    llvm::erase_if(earlier, [&](const ByteState &byte) { return byte.writeAgent == last.writeAgent; });
    earlier.push_back(last);
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

void Cta::setOwner(const Chunk &chunk, uint32_t copy) {
  for (int64_t i = 0; i < chunk.bytes; ++i)
    state(chunk.address + uint64_t(i)).owner = copy;
}

void Cta::countReads(const Chunk &chunk, int count) {
  for (int64_t i = 0; i < chunk.bytes; ++i)
    state(chunk.address + uint64_t(i)).inFlightReads += uint16_t(count);
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
  return &other == &cta ? clock : others[other.rank];
}

std::vector<Clock> Warp::knownOfAll() const {
  std::vector<Clock> known;
  for (const auto &other : cta.cluster.ctas)
    known.push_back(knownOf(*other));
  return known;
}

/// Checks that a byte's last write happens before this access of the warp.
static bool checkLastWrite(Warp &warp, const Step &step, int64_t lane, Cta &cta, const ByteState &byte, uint64_t at, Warp::Access access) {
  using Access = Warp::Access;
  const Clock &known = warp.knownOf(cta);
  bool isAsync = access == Access::asyncRead || access == Access::asyncWrite;
  bool writes = access != Access::read && access != Access::asyncRead, byWarp = byte.writeAgent < int64_t(cta.warps.size());
  if (!byte.writeEpoch || (access == Access::add && byte.added)) return true;
  auto write = [&] { return cta.whereIs(byte.writeOp); };
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

/// Checks the same of the atomic additions to a byte before its last write.
static bool checkAdders(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t at, Warp::Access access) {
  auto adders = cta.adders.find(at);
  if (adders == cta.adders.end() || access == Warp::Access::add) return true;
  return llvm::all_of(adders->second, [&](const ByteState &byte) { return checkLastWrite(warp, step, lane, cta, byte, at, access); });
}

/// Checks that the reads of a byte happen before this warp writes to it.
static bool checkReaders(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t at) {
  const Clock &known = warp.knownOf(cta);
  if (auto remote = cta.remoteReads.find(at); remote != cta.remoteReads.end()) {
    for (const RemoteRead &read : remote->second)
      if (sim::at(warp.knownOf(*cta.cluster.ctas[read.cta]), read.warp) < read.epoch)
        return warp.fail(step,
                         "race: writes bytes that warp " + llvm::Twine(read.warp) + " of CTA " + llvm::Twine(read.cta) +
                             " of the cluster read (" + cta.whereIs(read.op) + ") without a cluster barrier in between" + byteText(at),
                         lane, read.op);
    cta.remoteReads.erase(remote);
  }
  if (!cta.tensorReads.empty())
    for (const TensorRead &read : cta.tensorReads[size_t(at - sharedBase) / 16])
      if (sim::at(warp.knownOf(read.warp->cta), read.complete) < read.number)
        return warp.fail(step,
                         "race: writes bytes that " + cta.whereIs(read.op) +
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
                     "race: writes bytes that " + agent + " read (" + cta.whereIs(read.op) + "), and nothing orders the two accesses" +
                         byteText(at),
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
    return warp.fail(step, "race: an asynchronous copy (" + cta.whereIs(op) + ") still fills these bytes" + byteText(at), lane, op);
  }
  if (writes && byte.inFlightReads) {
    std::optional<uint32_t> op = readerInFlight(cta, at);
    std::string reader = op ? cta.whereIs(*op) : "an asynchronous instruction";
    return warp.fail(step, "race: writes bytes that " + reader + " may still be reading" + byteText(at), lane, op.value_or(step.number));
  }
  return checkLastWrite(warp, step, lane, cta, byte, at, access) && checkAdders(warp, step, lane, cta, at, access) &&
         (!writes || checkReaders(warp, step, lane, cta, at));
}

bool Warp::touch(const Step &step, int64_t lane, Cta &target, const Chunk &chunk, Access access, int64_t alignment) {
  auto [address, bytes] = chunk;
  if (!target.inShared(address, bytes))
    return fail(step,
                hex(address) + " is outside of shared memory (" + llvm::Twine(target.shared.size()) + " bytes at " + hex(sharedBase) + ")",
                lane);
  if (address % uint64_t(alignment)) return fail(step, hex(address) + " is not a multiple of " + llvm::Twine(alignment), lane);
  [[maybe_unused]] bool isAsynchronous = access == Access::copyWrite || access == Access::asyncRead || access == Access::asyncWrite;
  assert((&target == &cta || isAsynchronous) && "the access of a thread is recorded with its own CTA's clock");
  if (&target != &cta && target.isDone()) return failEnded(step, target, lane);
  bool writes = access != Access::read && access != Access::asyncRead;
  for (uint64_t at = address; at < address + uint64_t(bytes); ++at)
    if (!checkByte(*this, step, lane, target, at, access)) return false;
  if (access == Access::read) target.noteRead(address, bytes, index, clock[index], step.number);
  if (access == Access::add) target.noteAdd(address, bytes);
  if (access == Access::write || access == Access::add) target.noteWrite(address, bytes, index, clock[index], lane, step.number);
  for (uint64_t at = address; writes && at < address + uint64_t(bytes); ++at) {
    target.state(at).added = access == Access::add;
    if (access != Access::add && !target.adders.empty()) target.adders.erase(at);
  }
  return true;
}

bool Warp::failEnded(const Step &step, const Cta &other, int64_t lane) {
  return fail(step, "CTA " + llvm::Twine(other.rank) + " of the cluster has ended, and its shared memory with it", lane);
}

bool Warp::touchRemote(const Step &step, int64_t lane, Cta &from, uint64_t address, int64_t bytes) {
  if (!from.inShared(address, bytes)) return fail(step, hex(address) + " is outside of shared memory", lane);
  if (address % uint64_t(bytes)) return fail(step, hex(address) + " is not a multiple of " + llvm::Twine(bytes), lane);
  if (from.isDone()) return failEnded(step, from, lane);
  const Clock &known = others[from.rank];
  for (uint64_t at = address; at < address + uint64_t(bytes); ++at) {
    const ByteState &byte = from.state(at);
    if (byte.owner || byte.holdsBarrier || (byte.writeEpoch && sim::at(known, byte.writeAgent) < byte.writeEpoch))
      return fail(step,
                  "race: reads bytes that CTA " + llvm::Twine(from.rank) + " of the cluster wrote (" + cta.whereIs(byte.writeOp) +
                      ") without a cluster barrier in between" + byteText(at),
                  lane, byte.writeOp);
    from.remoteReads[at].push_back({cta.rank, index, clock[index], step.number});
  }
  return true;
}

// ---- loads and stores

static bool loadShared(Warp &warp, const Step &step, ptx::LoadSharedOp op) {
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size());
  uint32_t reads = warp.acting(step);
  for (int64_t lane : lanesOf(warp.mask)) {
    bool present = reads >> lane & 1;
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane] + uint64_t(op.getOffset()));
    if (present && !warp.touch(step, lane, address, bytes * count, Warp::Access::read, bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i)
      warp.result(step, size_t(i))[lane] =
          present ? warp.cta.load(address + uint64_t(i * bytes), bytes) : 0xdeadbeefdeadbeef & step.to.mask();
  }
  return true;
}

static bool loadBlock(Warp &warp, const Step &step, ptx::LoadBlockOp) {
  int64_t bytes = step.results.empty() ? 0 : bytesOf(step.op->getResult(0).getType()), count = int64_t(step.results.size());
  Cluster &cluster = warp.cta.cluster;
  for (int64_t lane : lanesOf(warp.mask)) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane]), rank = warp.get(step, 1)[lane];
    if (rank >= cluster.ctas.size()) return warp.fail(step, "the cluster has no CTA " + llvm::Twine(rank), lane);
    Cta &from = *cluster.ctas[rank];
    bool fits = &from == &warp.cta ? warp.touch(step, lane, address, bytes * count, Warp::Access::read, bytes * count)
                                   : warp.touchRemote(step, lane, from, address, bytes * count);
    if (!fits) return false;
    for (int64_t i = 0; i < count; ++i)
      warp.result(step, size_t(i))[lane] = from.load(address + uint64_t(i * bytes), bytes);
  }
  return true;
}

bool Warp::checkWritten(const Step &step, int64_t lane, uint64_t address, const void *value, int64_t bytes) {
  if (std::memcmp(cta.at(address), value, size_t(bytes)) == 0) return true;
  return fail(step, "race: another lane writes another value to the same address" + byteText(address) + " in this instruction", lane);
}

static bool checkLanesAgree(Warp &warp, const Step &step, uint32_t writes, int64_t bytes, int64_t count) {
  uint64_t offset = uint64_t(cast<ptx::StoreSharedOp>(step.op).getOffset());
  std::array<std::pair<uint64_t, int64_t>, 32> accesses; // address, lane
  size_t active = 0;
  for (int64_t lane : lanesOf(writes))
    accesses[active++] = {warp.cta.local(warp.get(step, 0)[lane] + offset), lane};
  std::sort(accesses.begin(), accesses.begin() + active);
  auto overlaps = [&](const auto &a, const auto &b) { return a.first + uint64_t(bytes * count) > b.first; };
  if (std::adjacent_find(accesses.begin(), accesses.begin() + active, overlaps) == accesses.begin() + active) return true;
  for (auto [address, lane] : llvm::ArrayRef(accesses).take_front(active))
    for (int64_t i = 0; i < count; ++i)
      if (!warp.checkWritten(step, lane, address + uint64_t(i * bytes), &warp.get(step, size_t(1 + i))[lane], bytes)) return false;
  return true;
}

static bool storeShared(Warp &warp, const Step &step, ptx::StoreSharedOp op) {
  int64_t count = int64_t(op.getValues().size()), bytes = bytesOf(op.getValues()[0].getType());
  uint32_t writes = warp.acting(step);
  for (int64_t lane : lanesOf(writes)) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane] + uint64_t(op.getOffset()));
    if (!warp.touch(step, lane, address, bytes * count, Warp::Access::write, bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i) {
      void *data = warp.cta.at(address + uint64_t(i * bytes));
      const void *value = &warp.get(step, size_t(1 + i))[lane];
      warp.cta.cluster.launch.changes += std::memcmp(data, value, size_t(bytes)) != 0;
      std::memcpy(data, value, size_t(bytes));
    }
  }
  return checkLanesAgree(warp, step, writes, bytes, count);
}

static bool addShared(Warp &warp, const Step &step, ptx::AddSharedOp op) {
  uint32_t acts = warp.acting(step);
  for (int64_t lane : lanesOf(acts)) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[lane]);
    if (!warp.touch(step, lane, address, 4, Warp::Access::add, 4)) return false;
    uint32_t sum = uint32_t(warp.cta.load(address, 4)) + uint32_t(warp.get(step, 1)[lane]);
    std::memcpy(warp.cta.at(address), &sum, 4);
    ++warp.cta.cluster.launch.changes;
  }
  return true;
}

void addMemoryHandlers(HandlerTable &table) {
  table.add<loadShared, loadBlock, storeShared, addShared>();
}

} // namespace tilewright::gpu::sim
