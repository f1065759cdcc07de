// The simulator's main loop: decoding a kernel into steps, structured control flow under a mask, and the scheduling of warps.
//
//   %sum = scf.for %i = %lo to %hi step %c iter_args(%s = %zero) { ... }     lanes may run different numbers of iterations:
//     mask = lanes with i < hi; while any is left: run the body under it, step i, take lanes out
//
// A warp that has to wait yields to the scheduler, which runs the other warps in a random order from the seed. Some warps run far ahead of
// the rest. If no warp makes progress in a whole round and no TMA instruction is pending, the CTA is deadlocked.
#include "gpu/cost_model/registers.h"
#include "gpu/machine/simulate_program.h"
#include "gpu/machine/tcgen05.h"
#include "ir/location.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace tilewright::gpu {

std::string sim::textOf(Location location) {
  if (FileLineColLoc file = locationOf(location))
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) + ":" + llvm::Twine(file.getColumn())).str();
  std::string text;
  llvm::raw_string_ostream out(text);
  location.print(out);
  return text;
}

uint64_t pointerInto(uint64_t address, int64_t memory) {
  return interp::taggedPointer(address, memory);
}

std::string SimulationError::message() const {
  std::string result = sim::textOf(location) + ": " + text;
  if (other) result += " (other: " + sim::textOf(*other) + ")";
  return result;
}

namespace sim {

// ---- decoding

namespace {
class Decoder {
public:
  Decoder(Program &program, const SimulateOptions &options) : program(program), options(options) {
    addControlHandlers(table);
    addScalarHandlers(table);
    addMemoryHandlers(table);
    addGlobalHandlers(table);
    addWarpHandlers(table);
    addDebugHandlers(table);
    addAsyncHandlers(table);
    addTmaHandlers(table);
    addMatrixHandlers(table);
    addScaledMatrixHandlers(table);
    addTensorHandlers(table);
    addTensorCoreHandlers(table);
    addLaunchControlHandlers(table);
  }
  std::optional<SimulationError> error;

  int32_t number(Value value) {
    auto [it, inserted] = numbers.try_emplace(value, int32_t(program.values));
    if (inserted) ++program.values;
    return it->second;
  }
  void decode(Region &region, Body &body) {
    if (region.empty()) return;
    if (!llvm::hasSingleElement(region))
      return refuse(region.getParentOp(), "has unstructured control flow, which the simulator does not support");
    Block &block = region.front();
    for (BlockArgument argument : block.getArguments())
      body.arguments.push_back(number(argument));
    for (Operation &op : block) {
      if (error) return;
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        for (Value operand : op.getOperands())
          body.yielded.push_back(number(operand));
        continue;
      }
      Step &step = body.steps.emplace_back();
      step.op = &op;
      HandlerRow row = table.rows.lookup(op.getName().getStringRef());
      if (!row.execute) return refuse(&op, "is not supported by the simulator");
      step.handler = row.execute;
      step.forwards = row.forwards;
      step.number = uint32_t(program.ops.size());
      step.isWarpWide = op.hasTrait<ptx::Together>();
      if (row.predicate) step.predicate = row.predicate(&op);
      program.ops.push_back(&op);
      auto store = dyn_cast<ptx::StoreGlobalOp>(op);
      std::optional<uint32_t> tile = store ? store.getTile() : std::nullopt;
      program.storeOf.push_back(tile ? firstOfStore.try_emplace(*tile, step.number).first->second : step.number);
      if (auto below = op.getAttrOfType<IntegerAttr>(ptx::indexBelowName)) step.below = below.getInt();
      program.usesWgmma |= isa<ptx::WgmmaOp>(op);
      if (std::optional<FusedSum> fused = fusedSumOf(&op, options)) {
        step.handler = table.rows.at(ptx::FmaOp::getOperationName()).execute;
        step.negatesFactors = fused->negatesFactors;
        step.negatesAddend = fused->negatesAddend;
        llvm::append_range(step.operands, llvm::map_range(fused->operands, [&](Value value) { return number(value); }));
      } else {
        llvm::append_range(step.operands, llvm::map_range(op.getOperands(), [&](Value value) { return number(value); }));
      }
      for (Value result : op.getResults())
        step.results.push_back(number(result));
      if (op.getNumOperands() && interp::isSupported(op.getOperand(0).getType())) step.from = interp::formatOf(op.getOperand(0).getType());
      if (op.getNumResults() && interp::isSupported(op.getResult(0).getType())) step.to = interp::formatOf(op.getResult(0).getType());
      step.bodies.resize(op.getNumRegions());
      for (auto [nested, into] : llvm::zip(op.getRegions(), step.bodies))
        decode(nested, into);
    }
  }
  void refuse(Operation *op, const llvm::Twine &text) {
    if (!error) error = SimulationError{(op->getName().getStringRef() + " " + text).str(), op->getLoc(), std::nullopt};
  }

private:
  Program &program;
  const SimulateOptions &options;
  HandlerTable table;
  DenseMap<Value, int32_t> numbers;
  DenseMap<uint32_t, uint32_t> firstOfStore; // by the number of a tile's store: its first op
};
} // namespace

// ---- control flow

static bool runIf(Warp &warp, const Step &step) {
  uint32_t before = warp.mask, taken = warp.lanesWhere(step, 0);
  for (size_t arm = 0; arm < 2; ++arm) {
    warp.mask = arm == 0 ? taken : before & ~taken;
    const Body &body = step.bodies[arm];
    if (!warp.mask) continue;
    if (!warp.run(body)) return false;
    for (auto [from, to] : llvm::zip(body.yielded, step.results))
      warp.copy(from, to);
  }
  warp.mask = before;
  return true;
}

/// Copies all at once: a value may be both read and written.
static void copyAll(Warp &warp, ArrayRef<int32_t> from, ArrayRef<int32_t> to) {
  SmallVector<Lanes, 0> lanes;
  SmallVector<std::pair<uint32_t, uint64_t>> states;
  lanes.reserve(from.size());
  for (int32_t value : from) {
    lanes.push_back(warp.values[value]);
    states.push_back({warp.inFlight[value], warp.definedAt[value]});
  }
  for (auto [index, value] : llvm::enumerate(to)) {
    warp.forLanes([&](int64_t lane) { warp.values[value][lane] = lanes[index][lane]; });
    warp.inFlight[value] = states[index].first;
    warp.definedAt[value] = states[index].second;
  }
}

static bool runFor(Warp &warp, const Step &step) {
  auto loop = cast<scf::ForOp>(step.op);
  const Body &body = step.bodies[0];
  ArrayRef<int32_t> initial = ArrayRef(step.operands).drop_front(3), carried = ArrayRef(body.arguments).drop_front();
  auto wide = [&](size_t operand, int64_t lane) -> __int128 { // wide enough for the step past the last iteration
    uint64_t bits = warp.get(step, operand)[lane];
    return loop.getUnsignedCmp() ? __int128(bits) : __int128(interp::signExtend(bits, step.from.bits));
  };
  std::array<__int128, size_t(lanesPerWarp)> counter{};
  warp.forLanes([&](int64_t lane) { counter[lane] = wide(0, lane); });
  uint32_t before = warp.mask;
  copyAll(warp, initial, carried);
  while (true) {
    uint32_t goesOn = 0;
    bool rises = true;
    warp.forLanes([&](int64_t lane) {
      bool inside = counter[lane] < wide(1, lane);
      rises &= !inside || wide(2, lane) > 0;
      goesOn |= uint32_t(inside) << lane;
    });
    if (!rises) return warp.fail(step, "the step of a loop must be positive");
    warp.mask = goesOn;
    if (!goesOn) break;
    warp.forLanes([&](int64_t lane) { warp.values[body.arguments[0]][lane] = uint64_t(counter[lane]) & step.from.mask(); });
    if (!warp.run(body)) return false;
    copyAll(warp, body.yielded, carried);
    warp.forLanes([&](int64_t lane) { counter[lane] += wide(2, lane); });
  }
  warp.mask = before;
  for (auto [from, to] : llvm::zip(carried, step.results))
    warp.copy(from, to);
  return true;
}

/// True if an iteration yields, in the active lanes, the values that it began with.
static bool sameValues(Warp &warp, ArrayRef<int32_t> yielded, ArrayRef<int32_t> arguments) {
  for (auto [from, to] : llvm::zip(yielded, arguments))
    for (int64_t lane : lanesOf(warp.mask))
      if (warp.values[from][lane] != warp.values[to][lane]) return false;
  return true;
}

static bool runWhile(Warp &warp, const Step &step) {
  const Body &test = step.bodies[0], &body = step.bodies[1];
  uint32_t before = warp.mask;
  copyAll(warp, step.operands, test.arguments);
  Launch &launch = warp.cta.cluster.launch;
  while (warp.mask) {
    uint64_t changes = launch.changes;
    if (!warp.run(test)) return false;
    uint32_t goesOn = 0, now = warp.mask;
    warp.forLanes([&](int64_t lane) { goesOn |= uint32_t(warp.values[test.yielded[0]][lane] & 1) << lane; });
    warp.mask = now & ~goesOn;
    copyAll(warp, ArrayRef(test.yielded).drop_front(), step.results);
    warp.mask = goesOn;
    if (!goesOn) break;
    copyAll(warp, ArrayRef(test.yielded).drop_front(), body.arguments);
    if (!warp.run(body)) return false;
    // An iteration that changes neither memory nor the loop-carried values repeats identically until another warp changes memory.
    bool same = changes == launch.changes && sameValues(warp, body.yielded, test.arguments);
    copyAll(warp, body.yielded, test.arguments);
    warp.spinsSince = same ? std::optional(changes) : std::nullopt;
    warp.waitsAt = same ? &step : nullptr;
    warp.waitsFor = "memory to change in a loop";
    warp.advanced = true;
    if (!warp.yield()) return false;
  }
  warp.spinsSince = std::nullopt;
  warp.waitsAt = nullptr;
  warp.mask = before;
  return true;
}

void addControlHandlers(HandlerTable &table) {
  table.set("scf.if", runIf);
  table.set("scf.for", runFor);
  table.set("scf.while", runWhile);
  for (const char *name : {"scf.if", "scf.for", "scf.while"})
    table.rows[name].forwards = true;
}

// ---- a warp

uint32_t Warp::lanesWhere(const Step &step, int64_t operand) const {
  uint32_t result = 0;
  for (int64_t lane : lanesOf(mask))
    result |= uint32_t(get(step, size_t(operand))[lane] & 1) << lane;
  return result;
}

/// Executes all pending asynchronous operations of a cluster. False if one failed.
static bool runEngines(Cluster &cluster) {
  for (const auto &cta : cluster.ctas)
    while (!cta->isIdle() && cta->runEngine()) {
    }
  return llvm::none_of(cluster.ctas, [](const auto &cta) { return cta->stopping; });
}

bool Warp::run(const Body &body) {
  for (const Step &step : body.steps) {
    if (cta.stopping) return false;
    if (cta.options.stop && cta.options.stop->load(std::memory_order_relaxed)) return fail(step, "interrupted");
    if (int64_t(++steps) > cta.options.maxSteps)
      return fail(step, "the warp has run " + llvm::Twine(steps) + " instructions; it may be in an endless loop");
    if (cta.program.usesWgmma && !step.forwards)
      for (int32_t operand : step.operands)
        if (inFlight[operand]) return fail(step, "an accumulator is used without a wgmma_wait for its group");
    if (step.below && !checkIndex(step)) return false;
    if (step.isWarpWide && mask != allLanes)
      return fail(step, "all lanes of the warp must take part, but only " + llvm::Twine(llvm::popcount(mask)) + " are active");
    if (!step.handler(*this, step)) return false;
    if (cta.options.timing == AsyncTiming::early && !runEngines(cta.cluster)) return false;
    if (cta.program.usesWgmma && !step.forwards)
      for (int32_t value : step.results) {
        inFlight[value] = 0;
        definedAt[value] = steps;
      }
  }
  return true;
}

void Warp::copy(int32_t from, int32_t to) {
  forLanes([&](int64_t lane) { values[to][lane] = values[from][lane]; });
  inFlight[to] = inFlight[from];
  definedAt[to] = definedAt[from];
}

bool Warp::fail(const Step &step, const llvm::Twine &text, int64_t lane, std::optional<uint32_t> otherOp) {
  if (!cta.error) {
    std::string where =
        ("CTA (" + llvm::Twine(cta.id[0]) + ", " + llvm::Twine(cta.id[1]) + ", " + llvm::Twine(cta.id[2]) + "), warp " + llvm::Twine(index))
            .str();
    if (lane >= 0) where += ", lane " + std::to_string(lane);
    std::optional<Location> other;
    if (otherOp) other = cta.program.ops[*otherOp]->getLoc();
    cta.error = SimulationError{where + ": " + step.op->getName().getStringRef().str() + ": " + text.str(), step.op->getLoc(), other};
  }
  cta.stopping = true;
  return false;
}

bool Warp::checkIndex(const Step &step) {
  for (int64_t lane : lanesOf(mask)) {
    uint64_t index = get(step, 0)[lane];
    if (index >= uint64_t(step.below))
      return fail(step,
                  "index " + llvm::Twine(interp::signExtend(index, step.from.bits)) + " along an axis of size " + llvm::Twine(step.below),
                  lane);
  }
  return true;
}

bool Warp::yield() {
  swapcontext(&context, scheduler);
  return !cta.stopping;
}

void Warp::release(Clock &into) {
  join(into, clock);
  ++clock[index];
}

bool Warp::fencedSince(int64_t lane, uint32_t writeEpoch, uint32_t seenEpoch) const {
  auto fence = std::lower_bound(asyncFences.begin(), asyncFences.end(), std::pair<uint32_t, uint32_t>{writeEpoch, 0});
  for (; fence != asyncFences.end() && fence->first <= seenEpoch; ++fence)
    if (fence->second >> lane & 1) return true;
  return false;
}

// ---- a CTA

std::string Cta::locationOf(uint32_t op) const {
  return textOf(program.ops[op]->getLoc());
}
std::string Cta::whereIs(uint32_t op) const {
  return program.ops[op]->getName().getStringRef().str() + " at " + locationOf(op);
}

static void enterWarp(uint32_t low, uint32_t high) {
  Warp *warp = reinterpret_cast<Warp *>(uint64_t(high) << 32 | low);
  warp->run(warp->cta.program.body);
  warp->finished = true;
  warp->waitsAt = nullptr;
  swapcontext(&warp->context, warp->scheduler);
}

/// Returns the registers of a thread when its CTA starts: those that ptxas may use. An SM of each GPU with setmaxnreg has as many.
static int64_t registersAtStart(ptx::KernelAttr kernel) {
  if (kernel.getMaxRegisters()) return kernel.getMaxRegisters();
  int64_t ctas = std::max<int64_t>(kernel.getMinCtas(), 1);
  return std::min(registersForOccupancy(ctas, kernel.getThreads(), GpuTarget()), maxMaxnreg);
}

void Cta::start(std::array<int64_t, 3> ctaId, ucontext_t &scheduler) {
  id = ctaId;
  random.seed(options.seed ^ uint64_t(cluster.number) << rankShift ^ uint64_t(rank));
  int64_t warpCount = program.kernel.getThreads() / lanesPerWarp;
  int64_t sharedBytes = program.kernel.getSharedBytes();
  shared.assign(size_t(sharedBytes), 0xff);
  bytes.assign(size_t(sharedBytes), {});
  reads.assign(size_t(sharedBytes * (warpCount + (warpCount + 3) / 4)), {});
  barriers = {};
  remoteReads.clear();
  adders.clear();
  freeRegisters = 0;
  mbarriers.clear();
  engine.clear();
  tensor = {};
  tensorQueue.clear();
  tensorReads.clear();
  launchRequests.clear();
  refusedCancel.reset();
  copies = 0;
  copyOps.assign(1, 0);
  components = warpCount + (warpCount + 3) / 4;
  stopping = false;
  bool fresh = warps.empty();
  constexpr size_t stackBytes = 512 * 1024;
  for (int64_t index = 0; index < warpCount; ++index) {
    auto warp = std::make_unique<Warp>(*this, index);
    warp->stack = fresh ? std::unique_ptr<char[]>(new char[stackBytes]) : std::move(warps[index]->stack);
    warp->values.assign(size_t(program.values), Lanes{});
    warp->inFlight.assign(size_t(program.values), 0);
    warp->definedAt.assign(size_t(program.values), 0);
    warp->clock.assign(size_t(components), 0);
    warp->clock[index] = 1;
    warp->others.assign(cluster.ctas.size(), {});
    warp->program = uint32_t(cluster.number);
    warp->registers = registersAtStart(program.kernel);
    warp->stored.assign(program.ops.size(), 0);
    size_t slot = 0, map = 0;
    FunctionType type = cast<FunctionType>(
        cast<FunctionOpInterface>(program.body.steps.empty() ? program.ops.back()->getParentOp() : program.body.steps[0].op->getParentOp())
            .getFunctionType());
    for (auto [argument, number] : llvm::zip(type.getInputs(), program.body.arguments)) {
      bool isMap = isa<ptx::TensorMapType>(argument);
      uint64_t bits = isMap ? map++ : args.slots[slot++] & interp::formatOf(argument).mask();
      warp->values[number].fill(bits);
    }
    getcontext(&warp->context);
    warp->context.uc_stack.ss_sp = warp->stack.get();
    warp->context.uc_stack.ss_size = stackBytes;
    warp->context.uc_link = nullptr;
    warp->scheduler = &scheduler;
    auto address = reinterpret_cast<uint64_t>(warp.get());
    makecontext(&warp->context, reinterpret_cast<void (*)()>(enterWarp), 2, uint32_t(address), uint32_t(address >> 32));
    if (fresh)
      warps.push_back(std::move(warp));
    else
      warps[index] = std::move(warp);
  }
}

bool Cta::isDone() const {
  return llvm::all_of(warps, [](const std::unique_ptr<Warp> &warp) { return warp->finished; });
}

void Cluster::start(std::array<int64_t, 3> first, int64_t which) {
  number = which;
  arrived = generation = 0;
  arriving.assign(ctas.size(), {});
  released = arriving;
  touched = AccessHistory();
  stores = 0;
  tensorAccesses.assign(1, {});
  live.clear();
  for (auto [rank, cta] : llvm::enumerate(ctas)) {
    cta->start({first[0] + int64_t(rank), first[1], first[2]}, scheduler);
    for (auto &warp : cta->warps)
      live.push_back(warp.get());
  }
}

/// If one CTA stops, all CTAs stop.
bool Cluster::isStopping() {
  bool stopping = llvm::any_of(ctas, [](const auto &cta) { return cta->stopping; });
  for (auto &cta : ctas)
    cta->stopping |= stopping;
  return stopping;
}

/// Runs each warp until it waits, or for a random part of the way: a warp may be far ahead of the other ones before a barrier holds it.
/// Returns true if any warp made progress, or the cluster pauses.
bool Cluster::runRound(bool stopping) {
  std::mt19937_64 &random = ctas.front()->random;
  bool advanced = false;
  uint64_t changes = launch.changes;
  std::shuffle(live.begin(), live.end(), random);
  for (Warp *warp : live) {
    bool goesOn = true;
    while (goesOn) {
      warp->advanced = hasPolled = false;
      swapcontext(&scheduler, &warp->context);
      bool further = warp->advanced && warp->spinsSince != launch.changes;
      advanced |= further || warp->finished;
      stopping = isStopping();
      goesOn = further && !warp->finished && !stopping && random() % 8 != 0;
      paused = hasPolled && !stopping && launch.random() % 8 == 0;
      if (paused) break;
    }
    if (paused) break;
    bool mayRunEngine = warp->cta.options.timing != AsyncTiming::late;
    if (!stopping && mayRunEngine && random() % 4 == 0) advanced |= warp->cta.runEngine();
  }
  llvm::erase_if(live, [](Warp *warp) { return warp->finished; });
  return paused || advanced || changes != launch.changes;
}

std::string Cluster::whatWarpsWaitFor() {
  std::string text;
  std::sort(live.begin(), live.end(), [](Warp *a, Warp *b) { return std::pair(a->cta.rank, a->index) < std::pair(b->cta.rank, b->index); });
  for (Warp *warp : live) {
    if (!warp->waitsAt) continue;
    std::string which = ctas.size() > 1 ? " of CTA " + std::to_string(warp->cta.rank) : "";
    text += " warp " + std::to_string(warp->index) + which + " waits for " + warp->waitsFor + " at " + textOf(warp->waitsAt->op->getLoc()) +
            ";";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

bool Cluster::resume() {
  constexpr int64_t roundsOfIteration = 32; // a warp stops at volatile loads and barriers
  int64_t idleRounds = 0;
  paused = false;
  while (!live.empty()) {
    bool stopping = isStopping(); // every warp then leaves at its next iteration
    if (runRound(stopping) || isStopping() || live.empty()) {
      if (paused) return true;
      idleRounds = 0;
      continue;
    }
    bool advanced = false;
    for (auto &cta : ctas) // each CTA has a separate TMA queue
      advanced |= cta->runEngine();
    if (advanced || isStopping()) continue;
    auto spins = [&](Warp *warp) { return warp->spinsSince == launch.changes; };
    if (llvm::any_of(live, spins)) {
      // A warp that does not spin may wait at a barrier that the spinning warps reach in their next iteration.
      if (!llvm::all_of(live, spins) && ++idleRounds < roundsOfIteration) continue;
      seen = launch.changes;
      return true;
    }
    live.front()->fail(*live.front()->waitsAt, "deadlock:" + whatWarpsWaitFor());
  }
  bool stopping = isStopping();
  for (auto &cta : ctas) {
    while (!stopping && !cta->isIdle()) // at the end of the kernel, stores that no thread has waited for are completed
      if (!cta->runEngine()) break;
    if (!stopping && !cta->error) cta->checkDone();
  }
  return false;
}

void Cluster::stop(llvm::StringRef why) {
  std::string text = why.str() + whatWarpsWaitFor();
  auto spinning = llvm::find_if(live, [](Warp *warp) { return warp->spinsSince && warp->waitsAt; });
  if (!why.empty() && spinning != live.end()) (*spinning)->fail(*(*spinning)->waitsAt, text);
  for (auto &cta : ctas)
    cta->stopping = true;
  resume(); // it does not pause now
}

void Cta::checkDone() {
  for (auto &warp : warps)
    for (size_t lane = 0; lane < 32; ++lane) {
      const auto &open = warp->openStores[lane];
      const auto &groups = warp->storeGroups[lane];
      const EngineCopy *first = open.empty() ? nullptr : open.front().get();
      for (const auto &group : groups)
        if (!group.empty() && !first) first = group.front().get();
      if (!first) continue;
      const EngineCopy &store = *first;
      warp->fail(*store.step, "the warp ends without a tma_wait for this store, which may still be reading shared memory", int64_t(lane));
      return;
    }
  if (!tensor.allocations.empty()) {
    const TensorAllocation &leak = tensor.allocations.front();
    error = SimulationError{"CTA " + std::to_string(rank) + " of the cluster ends with " + std::to_string(leak.columns) +
                                " columns of tensor memory allocated: every allocation must be freed (PTX ISA 9.7.16.7.1)",
                            program.ops[leak.op]->getLoc(), std::nullopt};
    return;
  }
  for (const auto &[address, barrier] : mbarriers)
    if (barrier.seen < barrier.filled) {
      error = SimulationError{"CTA " + std::to_string(rank) + " of the cluster ends, and no wait has seen phase " +
                                  std::to_string(barrier.filled - 1) + " of the mbarrier complete: its TMA load may still be filling bytes",
                              program.ops[barrier.filledBy]->getLoc(), std::nullopt};
      return;
    }
  if (!compareGroups(&Warp::registerTrace, "setmaxnreg")) return;
  if (program.usesWgmma) compareGroups(&Warp::matrixTrace, "wgmma");
}

bool Cta::compareGroups(std::vector<uint32_t> Warp::*trace, const char *instruction) {
  constexpr size_t size = warpsOfGroup;
  for (size_t first = 0; first < warps.size(); first += size)
    for (size_t other = first + 1; other < std::min(first + size, warps.size()); ++other) {
      const std::vector<uint32_t> &a = (*warps[first]).*trace, &b = (*warps[other]).*trace;
      if (a == b) continue;
      size_t at = 0;
      while (at < a.size() && at < b.size() && a[at] == b[at])
        ++at;
      Operation *op = program.ops[at < a.size() ? a[at] : b[at]];
      error = SimulationError{"warps " + std::to_string(first) + " and " + std::to_string(other) +
                                  " of one warpgroup did not execute the same " + instruction + " instructions",
                              op->getLoc(), std::nullopt};
      return false;
    }
  return true;
}

// ---- the grid

static std::unique_ptr<Cluster> makeCluster(Launch &launch, const Program &program, const SimulatedArguments &args,
                                            std::array<int64_t, 3> grid) {
  auto cluster = std::make_unique<Cluster>(launch);
  for (int64_t rank = 0; rank < program.kernel.getCluster(); ++rank)
    cluster->ctas.push_back(std::make_unique<Cta>(program, args, launch.options, *cluster, rank, grid));
  return cluster;
}

/// Runs the clusters in order. A cluster that waits for memory to change is set aside, and retried whenever memory has changed. A paused
/// one is set aside for a while.
static std::optional<SimulationError> runGrid(Launch &launch, const Program &program, const SimulatedArguments &args,
                                              std::array<int64_t, 3> grid) {
  constexpr size_t maxWaiting = 1024; // more than any GPU runs at once
  std::vector<std::unique_ptr<Cluster>> waiting, idle;
  std::optional<SimulationError> error;
  auto run = [&](std::unique_ptr<Cluster> cluster) {
    bool waits = cluster->resume();
    for (const auto &cta : cluster->ctas)
      if (!error && cta->error) error = cta->error;
    (waits ? waiting : idle).push_back(std::move(cluster));
  };
  auto runWaiting = [&](bool leavesPaused) {
    for (size_t i = 0; i < waiting.size() && !error;) {
      bool stays = waiting[i]->paused ? leavesPaused && launch.random() % 2 : waiting[i]->seen == launch.changes;
      if (stays) {
        ++i;
        continue;
      }
      std::unique_ptr<Cluster> cluster = std::move(waiting[i]);
      waiting.erase(waiting.begin() + int64_t(i));
      run(std::move(cluster));
      i = 0;
    }
  };
  std::array<int64_t, 3> count = launch.clusters;
  for (int64_t number = 0; number < count[0] * count[1] * count[2] && !error && waiting.size() < maxWaiting; ++number) {
    launch.nextCluster = number + 1;
    if (launch.canceled.count(number)) continue;
    if (idle.empty()) idle.push_back(makeCluster(launch, program, args, grid));
    std::unique_ptr<Cluster> cluster = std::move(idle.back());
    idle.pop_back();
    cluster->start(launch.positionOf(number, program.kernel.getCluster()), number);
    run(std::move(cluster));
    runWaiting(/*leavesPaused=*/true);
  }
  runWaiting(/*leavesPaused=*/false);
  for (const auto &cluster : waiting) {
    cluster->stop(error ? "" : "deadlock: no program can continue:");
    for (const auto &cta : cluster->ctas)
      if (!error && cta->error) error = cta->error;
  }
  return error;
}

} // namespace sim

// ---- the entry

std::optional<SimulationError> simulate(ModuleOp module, llvm::StringRef entry, std::array<int64_t, 3> grid, const SimulatedArguments &args,
                                        const SimulateOptions &options) {
  auto wrong = [](Location at, const llvm::Twine &text) { return SimulationError{text.str(), at, std::nullopt}; };
  auto function = dyn_cast_or_null<FunctionOpInterface>(module.lookupSymbol(entry));
  if (!function) return wrong(module.getLoc(), "the module has no function " + entry);
  auto kernel = function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  if (!kernel) return wrong(function.getLoc(), "function " + entry + " has no ptx.kernel attribute");
  if (kernel.getCluster() < 1 || kernel.getCluster() > 16 || grid[0] % kernel.getCluster())
    return wrong(function.getLoc(), "a cluster has 1 to 16 CTAs, and the grid along x is a multiple of it");
  if (kernel.getThreads() <= 0 || kernel.getThreads() % 32 || kernel.getThreads() > 1024)
    return wrong(function.getLoc(),
                 "a CTA has 32 to 1024 threads, a multiple of 32; this kernel asks for " + llvm::Twine(kernel.getThreads()));
  if (kernel.getSharedBytes() < 0 || kernel.getSharedBytes() > 232448)
    return wrong(function.getLoc(),
                 "a CTA has at most 232448 bytes of shared memory; this kernel asks for " + llvm::Twine(kernel.getSharedBytes()));
  size_t slots = 0, maps = 0;
  for (Type type : function.getArgumentTypes())
    ++(isa<ptx::TensorMapType>(type) ? maps : slots);
  if (slots != args.slots.size() || maps != args.maps.size())
    return wrong(function.getLoc(), "the kernel takes " + llvm::Twine(slots) + " values and " + llvm::Twine(maps) +
                                        " tensor maps, given are " + llvm::Twine(args.slots.size()) + " and " +
                                        llvm::Twine(args.maps.size()));
  if (Operation *other = findOtherCtaGroup(function))
    return wrong(other->getLoc(), "all tcgen05 operations of a kernel have one cta_group (PTX ISA 9.7.16.5)");
  sim::Program program;
  program.kernel = kernel;
  sim::Decoder decoder(program, options);
  decoder.decode(function.getFunctionBody(), program.body);
  if (decoder.error) return decoder.error;
  if (program.ops.empty()) return std::nullopt;
  std::array<int64_t, 3> clusters = {grid[0] / kernel.getCluster(), grid[1], grid[2]};
  sim::Launch launch{.options = options, .clusters = clusters};
  if (options.checkRaces) launch.history.emplace();
  return sim::runGrid(launch, program, args, grid);
}

} // namespace tilewright::gpu
