// Global memory: loads, stores, atomics and fences. It also checks for races: the history of the interpreter (ir/interpret/history.h)
// compares the programs of a launch. Another such history, ordered by the vector clocks, compares the warps of one cluster.
//
//   store_global by program 0, fence, relaxed atomic on a flag      the flag has what the fence released
//   relaxed atomic on the flag by program 1, fence, load_global     the fence acquires that: no race. Without one of the fences: a race
#include "gpu/machine/atomic_order.h"
#include "gpu/machine/simulate_program.h"
#include "support/mapped.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

using interp::decodeFloat;
using interp::encodeFloat;
using interp::signExtend;

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
  if (!clash || clash->sameStore) return true; // noteGlobal compares the values of one store
  std::array<int64_t, 3> grid = launch.clusters;
  const SimulatedMemory *range = rangeOf(cta.options, access.pointer);
  int64_t other = clash->program;
  return fail(step,
              "race: access of " + llvm::Twine(access.bytes) + " bytes at " + hex(address) + (range ? " in " + range->name : "") +
                  ": program (" + llvm::Twine(other % grid[0]) + ", " + llvm::Twine(other / grid[0] % grid[1]) + ", " +
                  llvm::Twine(other / (grid[0] * grid[1])) + ") has " + (clash->wrote ? "stored" : "loaded") + " there" +
                  (clash->atomic ? " by an atomic" : "") + " (" + cta.whereIs(clash->where) + "), and no atomics order the two",
              lane, clash->where);
}

bool Warp::knows(uint32_t agent, uint32_t time) const {
  if (agent & tmaStoreAgents) return false;
  int64_t rank = agent >> 24, component = agent & 0xffffff;
  return sim::at(rank == cta.rank ? clock : others[rank], component) >= time;
}

bool Warp::failTouched(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, const AccessHistory::Clash &clash) {
  uint64_t address = pointer & interp::addressMask;
  const SimulatedMemory *range = rangeOf(cta.options, pointer);
  std::string other = cta.whereIs(clash.where);
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
  uint32_t where = cta.program.storeOf[step.number];
  std::optional<AccessHistory::Clash> clash = cta.cluster.touched.note(
      agentOf(cta.rank, index), clock[index], {address, access.bytes, access.writes, access.atomic, where, stored[step.number]},
      [&](uint32_t agent, uint32_t time) {
        if (!access.issued) return knows(agent, time);
        return !(agent & tmaStoreAgents) && sim::at((*access.issued)[agent >> 24], agent & 0xffffff) >= time;
      });
  if (!clash) return true;
  if (clash->sameStore) {
    if (!access.value || !cta.options.checkRaces) return true;
    auto earlier = reinterpret_cast<const uint8_t *>(clash->address);
    const uint8_t *value = static_cast<const uint8_t *>(access.value) + (clash->address - address);
    if (!std::memcmp(earlier, value, size_t(clash->bytes))) return true;
    return fail(step, "race: another thread writes another value to " + hex(clash->address) + " in this store", lane);
  }
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

/// Loads a lane's aligned words. Bytes outside a tensor are zeros, and the kernel must not use them.
static bool loadUnaligned(Warp &warp, const Step &step, int64_t lane, uint64_t pointer) {
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size()), all = bytes * count;
  llvm::SmallVector<uint8_t, 16> content(size_t(all), 0);
  int64_t found = 0;
  for (int64_t i = 0; i < all; ++i) {
    if (!warp.isThere(pointer + uint64_t(i))) continue;
    ++found;
    if (!warp.noteGlobal(step, lane, {pointer + uint64_t(i), 1})) return false;
    content[i] = *reinterpret_cast<const uint8_t *>((pointer + uint64_t(i)) & interp::addressMask);
  }
  if (found == 0 || (pointer & interp::addressMask) % uint64_t(all)) { // an error, or memory that is no argument
    std::optional<uint64_t> address = warp.global(step, lane, pointer, all, all);
    if (!address || !warp.noteGlobal(step, lane, {pointer, all})) return false;
    std::memcpy(content.data(), reinterpret_cast<const void *>(*address), size_t(all));
  }
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, &content[i * bytes], size_t(bytes));
    warp.result(step, size_t(i))[lane] = value;
  }
  return true;
}

static bool loadGlobal(Warp &warp, const Step &step, ptx::LoadGlobalOp op) {
  size_t firstOther = op.getPredicate() ? 2 : 1;
  bool hasOther = !op.getOther().empty();
  int64_t bytes = step.to.bytes, count = int64_t(step.results.size());
  uint32_t reads = warp.acting(step);
  for (int64_t lane : lanesOf(warp.mask)) {
    bool present = reads >> lane & 1;
    uint64_t pointer = warp.get(step, 0)[lane];
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
        value = warp.get(step, firstOther + size_t(i))[lane];
      warp.result(step, size_t(i))[lane] = value;
    }
  }
  if (!op.getIsVolatile() && op.getCache() != ptx::Cache::cv) return true;
  warp.advanced = true; // a loop may wait for a store of another warp
  warp.cta.cluster.hasPolled = true;
  return warp.yield();
}

static bool storeGlobal(Warp &warp, const Step &step, ptx::StoreGlobalOp op) {
  int64_t count = int64_t(op.getValues().size()), bytes = bytesOf(op.getValues()[0].getType());
  uint32_t writes = warp.acting(step);
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane : lanesOf(writes)) {
    uint64_t pointer = warp.get(step, 0)[lane];
    std::optional<uint64_t> address = warp.global(step, lane, pointer, bytes * count, bytes * count);
    if (!address) return false;
    llvm::SmallVector<uint8_t, 16> values(size_t(bytes * count));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(&values[i * bytes], &warp.get(step, size_t(1 + i))[lane], size_t(bytes));
    if (!write(warp, step, lane, pointer, *address, values.data(), bytes * count)) return false;
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
  bool forAll = scope != ptx::Scope::cta, acquires = isAcquire(order);
  if (launch.history && forAll) {
    if (acquires) launch.history->acquire(program, *address);
    launch.history->see(*address, warp.seenByAtomics);
  }
  void *data = reinterpret_cast<void *>(*address);
  uint64_t old = 0;
  std::memcpy(&old, data, size_t(bytes));
  uint64_t now = update(old);
  bool changed = std::memcmp(&old, &now, size_t(bytes)) != 0;
  launch.changes += changed;
  std::memcpy(data, &now, size_t(bytes));
  if (!warp.noteGlobal(step, lane, {pointer, bytes, changed, true, forAll})) return std::nullopt;
  if (launch.history && isRelease(order) && forAll) launch.history->release(program, *address);
  for (const auto &[lanes, released] : warp.fences)
    if (launch.history && forAll && lanes >> lane & 1) launch.history->releaseAt(*address, released);
  return old;
}

/// Orders the relaxed atomics around it: later ones release what is before the fence, and the fence acquires what earlier ones have seen.
static bool fence(Warp &warp, const Step &, ptx::FenceOp op) {
  Launch &launch = warp.cta.cluster.launch;
  if (!launch.history || op.getScope() == ptx::Scope::cta) return true;
  launch.history->learn(warp.program, warp.seenByAtomics);
  warp.seenByAtomics.clear();
  for (auto &[lanes, released] : warp.fences)
    lanes &= ~warp.mask;
  llvm::erase_if(warp.fences, [](const auto &fence) { return fence.first == 0; });
  warp.fences.push_back({warp.mask, launch.history->fence(warp.program)});
  return true;
}

static bool atomic(Warp &warp, const Step &step, ptx::AtomicOp op) {
  Format format = interp::formatOf(op.getValues()[0].getType());
  int64_t count = int64_t(op.getValues().size());
  ptx::Order order = ptx::ownOrder(op);
  uint32_t acts = warp.acting(step);
  if (op.getOp() == ptx::Atomic::fadd && format.kind == Format::integer) return warp.fail(step, "fadd of an integer");
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane : lanesOf(warp.mask)) {
    bool present = acts >> lane & 1;
    uint64_t pointer = warp.get(step, 0)[lane];
    if (present && !warp.global(step, lane, pointer, format.bytes * count, format.bytes * count)) return false;
    for (int64_t i = 0; i < count; ++i) {
      std::optional<uint64_t> old = 0xdeadbeefdeadbeef & format.mask();
      if (present)
        old = atomicAt(warp, step, lane, pointer + uint64_t(i * format.bytes), format.bytes, order, op.getScope(),
                       [&](uint64_t before) { return combine(op.getOp(), format, before, warp.get(step, size_t(1 + i))[lane]); });
      if (!old) return false;
      if (size_t(i) < step.results.size()) warp.result(step, size_t(i))[lane] = *old;
    }
  }
  warp.advanced = true;
  return warp.yield();
}

static bool compareSwap(Warp &warp, const Step &step, ptx::CompareSwapOp op) {
  uint32_t acts = warp.acting(step);
  ++warp.cta.cluster.launch.stores;
  ++warp.stored[step.number];
  for (int64_t lane : lanesOf(warp.mask)) {
    std::optional<uint64_t> old = 0xdeadbeefdeadbeef & step.to.mask();
    if (acts >> lane & 1)
      old = atomicAt(warp, step, lane, warp.get(step, 0)[lane], step.to.bytes, ptx::ownOrder(op), op.getScope(),
                     [&](uint64_t before) { return before == warp.get(step, 1)[lane] ? warp.get(step, 2)[lane] : before; });
    if (!old) return false;
    warp.result(step, 0)[lane] = *old;
  }
  warp.advanced = true;
  return warp.yield();
}

void addGlobalHandlers(HandlerTable &table) {
  table.add<loadGlobal, storeGlobal, atomic, compareSwap, fence>();
}

} // namespace tilewright::gpu::sim
