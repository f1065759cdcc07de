// The warp's side of tensor memory: allocation, loads, stores, waits and fences. PTX ISA 9.1, sections 9.7.16.7 and 9.7.16.8.
//
// Loads and stores move their data at the issue. The order of accesses is checked (simulate_tensor_order.cpp), so no correct program could
// see them move it later.
#include "gpu/machine/simulate_program.h"
#include "gpu/machine/tcgen05.h"

using namespace mlir;

namespace tilewright::gpu::sim {

static void set(Clock &clock, int64_t component, uint32_t value) {
  if (int64_t(clock.size()) <= component) clock.resize(size_t(component) + 1);
  clock[component] = value;
}

Cta *peerOf(Warp &warp, const Step &step) {
  auto &ctas = warp.cta.cluster.ctas;
  size_t rank = size_t(warp.cta.rank ^ 1);
  if (rank >= ctas.size()) {
    warp.fail(step, "cta_group 2 needs a pair of CTAs, but the cluster has no CTA " + llvm::Twine(rank) + " (PTX ISA 9.7.16.5.1)");
    return nullptr;
  }
  if (ctas[rank]->isDone()) {
    warp.fail(step, "the peer CTA has ended: it must be active (PTX ISA 9.7.16.5)");
    return nullptr;
  }
  return ctas[rank].get();
}

// ---- allocation

/// Checks what alloc, dealloc and relinquish have in common, and numbers the operation. Returns its number, or nothing after an error.
static std::optional<size_t> startManagement(Warp &warp, const Step &step, int64_t columns) {
  TensorMemory &memory = warp.cta.tensor;
  if (memory.owner && *memory.owner != warp.index) {
    warp.fail(step, "warp " + llvm::Twine(*memory.owner) +
                        " has allocated tensor memory: one warp of a CTA allocates and frees it (PTX ISA 9.7.16.7.1)");
    return std::nullopt;
  }
  memory.owner = warp.index;
  memory.managements.push_back({step.number, columns, std::nullopt});
  return memory.managements.size() - 1;
}

/// Waits until the warp of the other CTA executes the same operation. Returns false after an error.
static bool waitForPeer(Warp &warp, const Step &step, size_t number) {
  auto &ctas = warp.cta.cluster.ctas;
  size_t rank = size_t(warp.cta.rank ^ 1);
  Cta *peer = rank < ctas.size() ? ctas[rank].get() : nullptr;
  auto there = [&] { return peer && peer->tensor.managements.size() > number; }; // the peer may have ended since
  std::string what = "the warp of the peer CTA to execute " + step.op->getName().getStringRef().str();
  if (!there() && (!peerOf(warp, step) || !warp.waitUntil(step, what, there))) return false;
  TensorManagement &own = warp.cta.tensor.managements[number], &other = peer->tensor.managements[number];
  bool same = warp.cta.program.ops[other.op]->getName() == step.op->getName() && own.columns == other.columns;
  if (same) return true;
  return warp.fail(step, "the warp of the peer CTA executes another operation: with cta_group 2 both execute it (PTX ISA 9.7.16.5)", -1,
                   other.op);
}

/// Returns the first column of a free range in all `memories`: the lowest or the highest one, at random.
static std::optional<int64_t> findFree(llvm::ArrayRef<TensorMemory *> memories, int64_t columns, bool fromTop) {
  constexpr int64_t unit = 32;
  for (int64_t i = 0; i + columns <= tensorColumns; i += unit) {
    int64_t first = fromTop ? tensorColumns - columns - i : i;
    auto isFree = [&](TensorMemory *memory) {
      return llvm::none_of(llvm::ArrayRef(memory->allocated).slice(size_t(first), size_t(columns)), [](bool used) { return used; });
    };
    if (llvm::all_of(memories, isFree)) return first;
  }
  return std::nullopt;
}

static void allocateIn(Cta &cta, size_t number, int64_t first) {
  TensorMemory &memory = cta.tensor;
  TensorManagement &management = memory.managements[number];
  if (memory.cells.empty()) memory.cells.resize(size_t(tensorColumns * tensorLanes));
  for (int64_t column = first; column < first + management.columns; ++column)
    memory.allocated[column] = true;
  memory.allocations.push_back({first, management.columns, management.op});
  management.first = first;
}

static bool checkAlloc(Warp &warp, const Step &step, int64_t columns) {
  TensorMemory &memory = warp.cta.tensor;
  if (memory.relinquished)
    return warp.fail(step, "the CTA has relinquished its right to allocate (PTX ISA 9.7.16.7.1)", -1, *memory.relinquished);
  if (columns > memory.lastColumns)
    return warp.fail(step, "allocates " + llvm::Twine(columns) + " columns after " + llvm::Twine(memory.lastColumns) +
                               ": the number must not increase from one allocation to the next (PTX ISA 9.7.16.7.1)");
  memory.lastColumns = columns;
  return true;
}

/// Checks that this allocation cannot wait forever for another CTA of the SM: one that holds columns and waits itself, for more columns or
/// for a CTA of its cluster that has none yet.
static bool checkSharing(Warp &warp, const Step &step, int64_t columns, int64_t ctaGroup) {
  int64_t held = 0, ctas = warp.cta.options.ctasPerSM;
  for (const TensorAllocation &allocation : warp.cta.tensor.allocations)
    held += allocation.columns;
  bool waitsForOthers = held || int64_t(warp.cta.cluster.ctas.size()) > ctaGroup;
  if (ctas == 1 || !waitsForOthers || ctas * (held + columns) <= tensorColumns) return true;
  return warp.fail(step, "an SM holds " + llvm::Twine(ctas) + " CTAs of this kernel with " + llvm::Twine(held + columns) +
                             " columns of tensor memory each: they may wait for each other's columns forever (PTX ISA 9.7.16.7.1)");
}

static bool alloc(Warp &warp, const Step &step, ptx::Tcgen05AllocOp op) {
  int64_t columns = op.getColumns();
  std::optional<size_t> number = startManagement(warp, step, columns);
  if (!number || !checkAlloc(warp, step, columns)) return false;
  Cta &cta = warp.cta;
  if (!checkSharing(warp, step, columns, op.getCtaGroup())) return false;
  Cta *peer = nullptr;
  llvm::SmallVector<TensorMemory *> memories = {&cta.tensor};
  if (op.getCtaGroup() == 2) {
    if (!waitForPeer(warp, step, *number) || !(peer = peerOf(warp, step))) return false;
    memories.push_back(&peer->tensor);
  }
  auto done = [&] {
    if (cta.tensor.managements[*number].first) return true; // the peer's warp found the columns
    std::optional<int64_t> first = findFree(memories, columns, cta.random() % 2);
    if (!first) return false;
    allocateIn(cta, *number, *first);
    if (peer) allocateIn(*peer, *number, *first);
    return true;
  };
  if (!done() && !warp.waitUntil(step, std::to_string(columns) + " columns of tensor memory", done)) return false;
  uint64_t shared = cta.local(warp.get(step, 0)[0]);
  if (!warp.touch(step, 0, shared, 4, Warp::Access::write, 4)) return false;
  auto address = uint32_t(*cta.tensor.managements[*number].first);
  std::memcpy(cta.at(shared), &address, 4);
  ++cta.cluster.launch.changes;
  return true;
}

/// With cta_group 2, dealloc and relinquish may wait for the other CTA, or not.
static bool mayWaitForPeer(Warp &warp, const Step &step, size_t number, int64_t ctaGroup) {
  if (ctaGroup == 1) return true;
  AsyncTiming timing = warp.cta.options.timing;
  bool waits = timing == AsyncTiming::late || (timing == AsyncTiming::random && warp.cta.random() % 2);
  return !waits || waitForPeer(warp, step, number);
}

/// Begins to free columns of a CTA: no access to them is in flight, and none may follow.
static bool startFreeing(Cta &cta, const Step &step, TensorChecker &checker, const TensorAllocation &allocation) {
  for (int64_t column = allocation.first; column < allocation.first + allocation.columns; ++column) {
    if (!cta.tensor.allocated[column]) continue; // a peer has freed them already
    for (int64_t lane = 0; lane < tensorLanes; ++lane)
      if (!checker.isUnused(cta, lane, column)) return false;
    cta.tensor.freedBy[column] = step.number;
  }
  return true;
}

static bool dealloc(Warp &warp, const Step &step, ptx::Tcgen05DeallocOp op) {
  std::optional<size_t> number = startManagement(warp, step, op.getColumns());
  if (!number) return false;
  TensorMemory &memory = warp.cta.tensor;
  uint64_t address = warp.get(step, 0)[0];
  auto isIt = [&](const TensorAllocation &one) { return uint64_t(one.first) == address && one.columns == int64_t(op.getColumns()); };
  auto allocation = llvm::find_if(memory.allocations, isIt);
  if (allocation == memory.allocations.end())
    return warp.fail(step, "no allocation has this address and " + llvm::Twine(op.getColumns()) + " columns (PTX ISA 9.7.16.7.1)");
  TensorAccess access;
  access.kind = TensorKind::dealloc;
  access.step = &step;
  access.warp = &warp;
  TensorChecker checker(warp, step, access);
  auto &ctas = warp.cta.cluster.ctas;
  size_t peer = size_t(warp.cta.rank ^ 1);
  if (!startFreeing(warp.cta, step, checker, *allocation)) return false;
  if (op.getCtaGroup() == 2 && peer < ctas.size() && !startFreeing(*ctas[peer], step, checker, *allocation)) return false; // together
  if (!mayWaitForPeer(warp, step, *number, op.getCtaGroup())) return false;
  allocation = llvm::find_if(memory.allocations, isIt); // the warp may have waited
  for (int64_t column = allocation->first; column < allocation->first + allocation->columns; ++column) {
    memory.allocated[column] = false;
    memory.freedBy[column] = std::nullopt;
    for (int64_t lane = 0; lane < tensorLanes; ++lane)
      memory.cells[column * tensorLanes + lane] = {};
  }
  memory.allocations.erase(allocation);
  warp.advanced = true;
  return true;
}

static bool relinquish(Warp &warp, const Step &step, ptx::Tcgen05RelinquishOp op) {
  std::optional<size_t> number = startManagement(warp, step, 0);
  if (!number) return false;
  warp.cta.tensor.relinquished = step.number;
  return mayWaitForPeer(warp, step, *number, op.getCtaGroup());
}

// ---- loads and stores

/// Returns the address that all threads give, or nothing after an error.
static std::optional<uint64_t> commonAddress(Warp &warp, const Step &step) {
  const Lanes &addresses = warp.get(step, 0);
  for (size_t lane = 1; lane < 32; ++lane)
    if (addresses[lane] != addresses[0]) {
      warp.fail(step, "the threads of the warp give different addresses (PTX ISA 9.7.16.8.3)", int64_t(lane));
      return std::nullopt;
    }
  return addresses[0];
}

/// Numbers a load or a store of a warp.
static TensorAccess startAccess(Warp &warp, const Step &step, TensorKind kind) {
  TensorCounter &counter = kind == TensorKind::load ? warp.tensor.loads : warp.tensor.stores;
  if (counter.complete < 0) counter.complete = warp.cta.components++;
  TensorAccess access;
  access.kind = kind;
  access.step = &step;
  access.warp = &warp;
  access.number = ++counter.issued;
  return access;
}

/// Calls `move(thread, reg, half, cell)` for each word of tensor memory of a load or a store; `half` is 0 or 1 with packing.
template <class Move>
static bool forWords(Warp &warp, const Step &step, TensorKind kind, ptx::TensorShape shape, int64_t registers, bool isPacked,
                     std::optional<uint32_t> halfOffset, Move move) {
  std::optional<uint64_t> address = commonAddress(warp, step);
  if (!address) return false;
  int64_t chunk = warp.index % 4 * lanesOfWarp, base = int64_t(*address >> 16);
  auto outside = [&](int64_t lane) {
    return warp.fail(step, "warp " + llvm::Twine(warp.index) + " gives lane " + llvm::Twine(lane) + ", but it accesses lanes " +
                               llvm::Twine(chunk) + " to " + llvm::Twine(chunk + lanesOfWarp - 1) + " only (PTX ISA 9.7.16.8.1)");
  };
  if (base % (lanesOfWarp / 2)) return outside(base); // the ISA's figures have no other addresses
  TensorChecker checker(warp, step, startAccess(warp, step, kind));
  for (int64_t thread = 0; thread < lanesPerWarp; ++thread)
    for (int64_t reg = 0; reg < registers; ++reg)
      for (int64_t half = 0; half < (isPacked ? 2 : 1); ++half) {
        TensorPlace place = placeOf(shape, thread, reg);
        uint64_t start = *address + (shape == ptx::TensorShape::m16x32bx2 && thread >= 16 ? *halfOffset : 0);
        int64_t lane = int64_t(start >> 16) + place.lane;
        int64_t column = int64_t(start & 0xffff) + (isPacked ? 2 * place.column + half : place.column);
        if (lane / lanesOfWarp * lanesOfWarp != chunk) return outside(lane);
        if (!checker.touch(warp.cta, lane, column, kind == TensorKind::store)) return false;
        move(size_t(thread), size_t(reg), half, warp.cta.tensor.cells[column * tensorLanes + lane].value);
      }
  return true;
}

static bool load(Warp &warp, const Step &step, ptx::Tcgen05LdOp op) {
  bool isPacked = op.getPack();
  for (int64_t reg = 0; reg < int64_t(step.results.size()); ++reg)
    warp.result(step, size_t(reg)).fill(0);
  return forWords(warp, step, TensorKind::load, op.getShape(), int64_t(step.results.size()), isPacked, op.getHalfOffset(),
                  [&](size_t thread, size_t reg, int64_t half, uint32_t &word) {
                    warp.result(step, reg)[thread] |= isPacked ? uint64_t(word & 0xffff) << (16 * half) : word;
                  });
}

static bool store(Warp &warp, const Step &step, ptx::Tcgen05StOp op) {
  bool isPacked = op.getUnpack();
  return forWords(warp, step, TensorKind::store, op.getShape(), int64_t(step.operands.size()) - 1, isPacked, op.getHalfOffset(),
                  [&](size_t thread, size_t reg, int64_t half, uint32_t &word) {
                    auto bits = uint32_t(warp.get(step, 1 + reg)[thread]);
                    word = isPacked ? bits >> (16 * half) & 0xffff : bits;
                  });
}

// ---- waits and fences

static bool wait(Warp &warp, const Step &step, ptx::Tcgen05WaitOp op) {
  bool isLoad = op.getKind() == ptx::TensorWait::ld;
  TensorCounter &counter = isLoad ? warp.tensor.loads : warp.tensor.stores;
  counter.waited = counter.issued;
  if (counter.complete >= 0) set(warp.clock, counter.complete, counter.waited);
  return true;
}

static bool fence(Warp &warp, const Step &, ptx::Tcgen05FenceOp op) {
  Cta &cta = warp.cta;
  if (op.getSide() == ptx::TensorFence::after) {
    auto clocks = std::make_shared<std::vector<Clock>>();
    for (const auto &other : cta.cluster.ctas)
      clocks->push_back(warp.knownOf(*other));
    warp.forLanes([&](int64_t lane) { warp.tensor.seen[lane] = clocks; });
    return true;
  }
  for (TensorCounter *counter : {&warp.tensor.loads, &warp.tensor.stores}) {
    if (counter->fenced < 0) counter->fenced = cta.components++;
    if (warp.mask == allLanes) set(warp.clock, counter->fenced, counter->waited); // all threads of a load fence it
  }
  warp.forLanes([&](int64_t lane) {
    const TensorCounter &thread = warp.tensor.threads[lane];
    if (thread.fenced >= 0) set(warp.clock, thread.fenced, thread.issued);
  });
  return true;
}

void addTensorHandlers(HandlerTable &table) {
  table.add<alloc, dealloc, relinquish, load, store, wait, fence>();
}

} // namespace tilewright::gpu::sim
