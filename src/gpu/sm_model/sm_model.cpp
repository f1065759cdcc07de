#include "gpu/sm_model/sm_model.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/registers.h"
#include "gpu/machine/ptx.h"
#include "gpu/sm_model/warp.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/tt.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

using namespace mlir;

namespace tilewright::gpu {

using namespace model;

namespace {

/// A barrier of the CTA with a number (bar.sync).
struct NamedBarrier {
  int64_t arrived = 0;
  double last = 0;
  std::vector<size_t> waiting;
};

struct Mbarrier {
  int64_t count = 1, pending = 1, bytes = 0;
  uint64_t phase = 0;
  double last = 0, completed = 0;
  std::vector<std::pair<size_t, int64_t>> waiting; // warps and parities
};

struct Cta {
  std::array<NamedBarrier, 16> barriers;
  std::map<int64_t, Mbarrier> mbarriers;
  std::map<int64_t, std::optional<int64_t>> responses; // by address: the program whose launch has been canceled
  int64_t running = 0;                                 // warps
  double end = 0;
};

struct BusyTimes {
  double tensor = 0, issue = 0, fp32 = 0, alu = 0, special = 0, shared = 0, tensorMemory = 0, l2 = 0;
};

/// How many operations there are to execute.
struct Steps {
  double all = 0;         // of one SM's CTAs
  double ofBusiestSm = 0; // 0: not known
};

/// One SM and its CTAs.
class Sm {
public:
  Sm(const Code &code, ptx::KernelAttr kernel, const ModeledLaunch &launch, const SmRates &rates, int64_t resident, double missFraction)
      : code(code), launch(launch), rates(rates), warpsOfCta(kernel.getThreads() / lanesOfWarp), resident(resident),
        cluster(std::max<int64_t>(kernel.getCluster(), 1)) {
    cyclesPerByte = std::max(1 / rates.l2BytesPerCycle, missFraction * rates.clock * static_cast<double>(rates.sms) / rates.memoryBytes);
    traffic.resize(2 * (code.body.arguments.size() + 1));
    loadLatency = rates.l2Latency + missFraction * rates.memoryLatency;
  }

  /// Counts the operations of so many CTAs.
  Steps countSteps(int64_t ctas);
  /// Runs CTAs until all are done or `maxSteps` operations have been executed. Returns the cycles of all.
  double run(int64_t ctas, const Steps &counted);

  BusyTimes busy;
  /// The bytes that each argument's accesses move; those of stores at odd places.
  std::vector<double> traffic;
  double end = 0;
  bool isComplete = true;

private:
  void start(double time);
  bool execute(size_t index, const Node &node, double time);
  bool executeTogether(size_t index, const Node &node, double time);
  bool arriveAt(size_t index, int64_t id, int64_t threads, bool waits, double time);
  bool executeAsync(size_t index, const Node &node, double time);
  void takeProgram(size_t index, ptx::ClcTryCancelOp request, double time);
  void readResponse(size_t index, ptx::ClcQueryOp query, const Node &node);
  double issueTime(size_t index, const Node &node, double time) const;
  void issue(model::Warp &warp, size_t index, const Node &node, double time);
  void multiplyTogether(model::Warp &warp, const Node &node, double time);
  double moveBytes(double time, double bytes, int64_t stream);
  double bytesOfAccess(const model::Warp &warp, const Node &node, Value address, Value predicate, int64_t bytesOfThread);
  void arrive(Cta &cta, Mbarrier &barrier, int64_t arrivals, int64_t bytes, double time);
  void finish(size_t index);
  void push(size_t index) { queue.push({warps[index]->now, index}); }
  double readyTime(const model::Warp &warp, const Node &node) const;
  Cta &ctaOf(size_t index) { return ctas[warpCta[index]]; }
  Mbarrier *barrierAt(size_t index, Value address);
  double stepsOf(int64_t program) const;
  double totalSteps(int64_t count) const;
  double stepsOfBusiestSm() const;
  int64_t programOf(int64_t cta) const;
  Place placeOf(int64_t program, int64_t warp) const;

  const Code &code;
  const ModeledLaunch &launch;
  const SmRates &rates;
  int64_t warpsOfCta, resident, cluster;
  double cyclesPerByte, loadLatency;

  std::vector<std::unique_ptr<model::Warp>> warps;
  std::vector<size_t> warpCta;
  std::vector<Cta> ctas;
  int64_t wanted = 0, started = 0;
  using Entry = std::pair<double, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<const Node *> pending; // for each warp: the operation to execute next

  std::array<double, schedulers> issueFree{}, fp32Free{}, aluFree{}, specialFree{}, tensorFree{}, tensorMemoryFree{};
  double sharedFree = 0, memoryFree = 0;
  std::map<const Node *, double> accessBytes;
};

} // namespace

/// Returns the program of this SM's CTA with this number. An SM gets CTAs from all parts of the grid, in order.
int64_t Sm::programOf(int64_t cta) const {
  int64_t programs = launch.grid[0] * launch.grid[1] * launch.grid[2],
          stride = std::max<int64_t>(programs / std::max<int64_t>(wanted, 1), 1);
  constexpr double goldenRatio = 0.6180339887;
  double fraction = static_cast<double>(cta) * goldenRatio;
  auto within = static_cast<int64_t>((fraction - std::floor(fraction)) * static_cast<double>(stride));
  return std::min(cta * stride + within, programs - 1);
}

/// Describes a warp of the first CTA of a program's cluster.
Place Sm::placeOf(int64_t program, int64_t warp) const {
  auto [x, y, z] = launch.grid;
  Place place{launch.arguments, {program % x * cluster, program / x % y, program / x / y}, launch.grid, warp};
  place.grid[0] *= cluster;
  return place;
}

void Sm::start(double time) {
  size_t cta = ctas.size();
  ctas.emplace_back();
  ctas.back().running = warpsOfCta;
  for (int64_t index = 0; index < warpsOfCta; ++index) {
    warps.push_back(std::make_unique<model::Warp>(code, placeOf(programOf(started), index)));
    warpCta.push_back(cta);
    pending.push_back(nullptr);
    warps.back()->now = time;
    push(warps.size() - 1);
  }
  ++started;
}

/// Returns when the operands are ready.
double Sm::readyTime(const model::Warp &warp, const Node &node) const {
  double time = warp.now;
  for (int32_t value : node.waits)
    time = std::max(time, warp.ready[static_cast<size_t>(value)]);
  return time;
}

/// Moves bytes between this SM and the L2 cache. `stream`: in `traffic`.
double Sm::moveBytes(double time, double bytes, int64_t stream) {
  traffic[static_cast<size_t>(stream)] += bytes;
  double from = std::max(time, memoryFree);
  memoryFree = from + bytes * cyclesPerByte;
  busy.l2 += bytes;
  return memoryFree;
}

/// The bytes of the sectors that a warp touches. The first execution counts for all.
double Sm::bytesOfAccess(const model::Warp &warp, const Node &node, Value address, Value predicate, int64_t bytesOfThread) {
  auto [it, inserted] = accessBytes.try_emplace(&node, 0);
  if (!inserted) return it->second;
  uint32_t lanes = warp.lanesWhere(predicate);
  std::map<int64_t, bool> sectors;
  double coalesced = 0;
  for (int64_t lane = 0; lane < lanesOfWarp; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    coalesced += static_cast<double>(bytesOfThread);
    if (Integer at = warp.inLane(address, lane))
      for (int64_t byte = 0; byte < bytesOfThread; byte += sectorBytes)
        sectors[(*at + byte) / sectorBytes] = true;
  }
  double touched = static_cast<double>(sectors.size()) * sectorBytes;
  return it->second = touched > 0 ? touched : coalesced;
}

/// Returns when an instruction can issue. A warp that waits for a unit leaves the issue slots to others. Accesses to tensor memory are
/// asynchronous: it does not wait for these.
double Sm::issueTime(size_t index, const Node &node, double time) const {
  size_t scheduler = index % schedulers;
  if (node.issue > 0) time = std::max(time, issueFree[scheduler]);
  switch (node.unit) {
  case Unit::fp32: return std::max(time, fp32Free[scheduler]);
  case Unit::alu: return std::max(time, aluFree[scheduler]);
  case Unit::special: return std::max(time, specialFree[scheduler]);
  case Unit::shared: return std::max(time, sharedFree);
  case Unit::tensor: {
    bool isQueued = isa<ptx::Tcgen05MmaOp, ptx::WgmmaOp>(node.op);
    return isQueued ? time : std::max(time, tensorFree[scheduler] - tensorQueue * node.occupancy);
  }
  default: return time;
  }
}

/// Takes an issue slot and the unit, and sets when the results are ready.
void Sm::issue(model::Warp &warp, size_t index, const Node &node, double time) {
  size_t scheduler = index % schedulers;
  if (node.isFree()) { // the warp does not wait for its operands: the instructions that use the result do
    double known = readyTime(warp, node);
    for (int32_t result : node.results)
      warp.ready[static_cast<size_t>(result)] = known;
    return;
  }
  double start = time;
  auto take = [&](double &free, double &used) {
    start = std::max(time, free);
    free = start + node.occupancy;
    used += node.occupancy;
  };
  if (node.unit == Unit::fp32) take(fp32Free[scheduler], busy.fp32);
  if (node.unit == Unit::alu) take(aluFree[scheduler], busy.alu);
  if (node.unit == Unit::special) take(specialFree[scheduler], busy.special);
  if (node.unit == Unit::shared) take(sharedFree, busy.shared);
  if (node.unit == Unit::tensorMemory) take(tensorMemoryFree[scheduler], busy.tensorMemory);
  if (node.unit == Unit::tensor && !isa<ptx::Tcgen05MmaOp>(node.op)) take(tensorFree[scheduler], busy.tensor);
  double done = start + node.latency + node.occupancy;
  if (node.unit == Unit::tensorMemory) warp.openTensorAccesses = std::max(warp.openTensorAccesses, done);
  if (isa<ptx::WgmmaOp>(node.op)) warp.openMmas = done, done = time;
  if (node.issue > 0) issueFree[scheduler] = time + node.issue, busy.issue += node.issue;
  warp.now = time + node.issue;
  for (int32_t result : node.results)
    warp.ready[static_cast<size_t>(result)] = done;
}

//===---------------------------------------------------------------------------------------------------------------- barriers

void Sm::arrive(Cta &, Mbarrier &barrier, int64_t arrivals, int64_t bytes, double time) {
  barrier.pending -= arrivals, barrier.bytes += bytes;
  barrier.last = std::max(barrier.last, time);
  if (barrier.pending > 0 || barrier.bytes > 0) return;
  barrier.completed = barrier.last;
  barrier.pending = barrier.count, barrier.bytes = 0;
  ++barrier.phase;
  auto waiting = std::move(barrier.waiting);
  barrier.waiting.clear();
  for (auto [index, parity] : waiting) {
    if (static_cast<int64_t>(barrier.phase & 1) == parity) {
      barrier.waiting.push_back({index, parity});
      continue;
    }
    warps[index]->now = std::max(warps[index]->now, barrier.completed);
    push(index);
  }
}

Mbarrier *Sm::barrierAt(size_t index, Value address) {
  Integer at = warps[index]->inLane(address, 0);
  return at ? &ctaOf(index).mbarriers[*at] : nullptr;
}

/// bar.sync (`waits`) or bar.arrive of a warp. Returns false if the warp has to wait.
bool Sm::arriveAt(size_t index, int64_t id, int64_t threads, bool waits, double time) {
  NamedBarrier &barrier = ctaOf(index).barriers[static_cast<size_t>(id) % 16];
  barrier.arrived += lanesOfWarp;
  barrier.last = std::max(barrier.last, time);
  bool isLast = barrier.arrived >= (threads ? threads : warpsOfCta * lanesOfWarp);
  if (waits && !isLast) {
    barrier.waiting.push_back(index);
    return false;
  }
  if (!isLast) return true;
  double release = barrier.last + barrierLatency;
  for (size_t other : barrier.waiting) {
    warps[other]->now = std::max(warps[other]->now, release);
    push(other);
  }
  if (waits) warps[index]->now = std::max(warps[index]->now, release);
  barrier = NamedBarrier();
  return true;
}

/// Barriers. Returns false if the warp has to wait.
bool Sm::executeTogether(size_t index, const Node &node, double time) {
  model::Warp &warp = *warps[index];
  Cta &cta = ctaOf(index);
  if (auto barrier = dyn_cast<ptx::BarrierOp>(node.op)) {
    int64_t id = barrier.getId() + (barrier.getPerWarpGroup() ? warp.place.warp / warpsOfGroup : 0);
    return arriveAt(index, id, barrier.getThreads(), true, time);
  }
  if (auto arrival = dyn_cast<ptx::BarrierArriveOp>(node.op)) return arriveAt(index, arrival.getId(), arrival.getThreads(), false, time);
  if (auto init = dyn_cast<ptx::MbarrierInitOp>(node.op)) {
    if (warp.lanesWhere(init.getPredicate()))
      if (Mbarrier *barrier = barrierAt(index, init.getBarrier())) barrier->count = barrier->pending = init.getCount();
    return true;
  }
  if (auto expect = dyn_cast<ptx::MbarrierExpectOp>(node.op)) {
    if (warp.lanesWhere(expect.getPredicate()))
      if (Mbarrier *barrier = barrierAt(index, expect.getBarrier())) arrive(cta, *barrier, 1, expect.getBytes(), time);
    return true;
  }
  if (auto arrival = dyn_cast<ptx::MbarrierArriveOp>(node.op)) {
    int64_t lanes = llvm::popcount(warp.lanesWhere(arrival.getPredicate()));
    int64_t ctasOfCluster = arrival.getInCtas().value_or(1); // each of them does the same
    if (lanes)
      if (Mbarrier *barrier = barrierAt(index, arrival.getBarrier()))
        arrive(cta, *barrier, lanes * arrival.getCount() * ctasOfCluster, 0, time);
    return true;
  }
  if (auto wait = dyn_cast<ptx::MbarrierWaitOp>(node.op)) {
    Mbarrier *barrier = barrierAt(index, wait.getBarrier());
    Integer parity = warp.inLane(wait.getParity(), 0);
    if (!barrier || !parity) return true;
    if (static_cast<int64_t>(barrier->phase & 1) != (*parity & 1)) {
      warp.now = std::max(warp.now, barrier->completed);
      return true;
    }
    barrier->waiting.push_back({index, *parity & 1});
    return false;
  }
  return true;
}

//===---------------------------------------------------------------------------------------------------------------- memory

/// Returns the argument from which an address is computed, or 0 if it is not known.
static int64_t baseOf(Value address) {
  for (int depth = 0; depth < 64; ++depth) {
    if (auto argument = dyn_cast<BlockArgument>(address)) {
      if (isa<tt::FuncOp>(argument.getOwner()->getParentOp())) return argument.getArgNumber();
      auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      if (!init) return 0;
      address = init->get();
      continue;
    }
    Operation *op = address.getDefiningOp();
    if (!isa<arith::AddIOp>(op)) return 0;
    // The pointer is the first operand.
    address = op->getOperand(0);
  }
  return 0;
}

static int64_t baseOfMap(Value map) {
  ttg::TensorMapAttr spec = ttg::tensorMapOf(map);
  return spec ? spec.getBase() : 0;
}

static double boxBytes(Value map) {
  ttg::TensorMapAttr spec = ttg::tensorMapOf(map);
  if (!spec) return 0;
  double bytes = static_cast<double>(spec.getElement().getIntOrFloatBitWidth()) / 8;
  for (int64_t extent : spec.getBox().asArrayRef())
    bytes *= static_cast<double>(extent);
  return bytes;
}

/// Waits until all but the latest `left` groups are complete.
static void waitFor(std::deque<double> &groups, size_t left, double &now) {
  while (groups.size() > left) {
    now = std::max(now, groups.front());
    groups.pop_front();
  }
}

/// A tcgen05.mma: all tensor cores execute it, after those before it. What it reads of shared memory can take longer.
void Sm::multiplyTogether(model::Warp &warp, const Node &node, double time) {
  double from = std::max(time, *llvm::max_element(tensorFree));
  tensorFree.fill(from + std::max(node.occupancy, node.sharedCycles));
  warp.openMmas = tensorFree[0];
  busy.tensor += schedulers * node.occupancy;
  busy.shared += node.sharedCycles;
}

/// Accesses to global memory, copies, MMAs' groups. Always true: these waits have known ends.
bool Sm::executeAsync(size_t index, const Node &node, double time) {
  model::Warp &warp = *warps[index];
  auto setReady = [&](double done) {
    for (int32_t result : node.results)
      warp.ready[static_cast<size_t>(result)] = done;
  };
  llvm::TypeSwitch<Operation *>(node.op)
      .Case<ptx::LoadGlobalOp>([&](ptx::LoadGlobalOp load) {
        double bytes = bytesOfAccess(warp, node, load.getAddress(), load.getPredicate(), bytesOf(load.getValues().getTypes()));
        setReady(bytes > 0 ? moveBytes(time, bytes, 2 * baseOf(load.getAddress())) + loadLatency : time);
      })
      .Case<ptx::StoreGlobalOp>([&](ptx::StoreGlobalOp store) {
        double bytes = bytesOfAccess(warp, node, store.getAddress(), store.getPredicate(), bytesOf(store.getValues().getTypes()));
        moveBytes(time, bytes, 2 * baseOf(store.getAddress()) + 1);
      })
      .Case<ptx::AtomicOp, ptx::CompareSwapOp>([&](auto) { setReady(moveBytes(time, lanesOfWarp * sectorBytes, 0) + 2 * rates.l2Latency); })
      .Case<ptx::CopyAsyncOp>([&](ptx::CopyAsyncOp copy) {
        double bytes = bytesOfAccess(warp, node, copy.getGlobal(), copy.getPredicate(), copy.getBytes());
        warp.openCopies = std::max(warp.openCopies, moveBytes(time, bytes, 2 * baseOf(copy.getGlobal())) + loadLatency);
      })
      .Case<ptx::CopyCommitOp>([&](auto) { warp.copies.push_back(warp.openCopies); })
      .Case<ptx::CopyWaitOp>([&](ptx::CopyWaitOp wait) { waitFor(warp.copies, static_cast<size_t>(wait.getPending()), warp.now); })
      .Case<ptx::TmaLoadOp>([&](ptx::TmaLoadOp load) {
        if (!warp.lanesWhere(load.getPredicate())) return;
        double bytes = boxBytes(load.getMap());
        double done = moveBytes(time, bytes, 2 * baseOfMap(load.getMap())) + loadLatency + tmaLatency;
        int64_t copies = load.getMulticast() ? llvm::popcount(static_cast<uint32_t>(*load.getMulticast())) : 1;
        if (load.getToLeader()) copies *= cluster; // the other CTA of the pair does the same
        if (Mbarrier *barrier = barrierAt(index, load.getBarrier()))
          arrive(ctaOf(index), *barrier, 0, -static_cast<int64_t>(bytes) * copies, done);
      })
      .Case<ptx::TmaStoreOp>([&](ptx::TmaStoreOp store) {
        if (!warp.lanesWhere(store.getPredicate())) return;
        warp.openStores = std::max(warp.openStores, moveBytes(time, boxBytes(store.getMap()), 2 * baseOfMap(store.getMap()) + 1));
      })
      .Case<ptx::TmaCommitOp>([&](auto) { warp.stores.push_back(warp.openStores); })
      .Case<ptx::TmaWaitOp>([&](ptx::TmaWaitOp wait) { waitFor(warp.stores, static_cast<size_t>(wait.getPending()), warp.now); })
      .Case<ptx::WgmmaCommitOp>([&](auto) { warp.mmas.push_back(warp.openMmas); })
      .Case<ptx::WgmmaWaitOp>([&](ptx::WgmmaWaitOp wait) {
        size_t before = warp.mmas.size();
        waitFor(warp.mmas, static_cast<size_t>(wait.getPending()), warp.now);
        if (warp.mmas.size() < before) warp.now += mmaLatency;
        setReady(warp.now);
      })
      .Case<ptx::Tcgen05MmaOp>([&](ptx::Tcgen05MmaOp mma) {
        if (warp.lanesWhere(mma.getPredicate())) multiplyTogether(warp, node, time);
      })
      .Case<ptx::Tcgen05CpOp>([&](ptx::Tcgen05CpOp copy) {
        if (warp.lanesWhere(copy.getPredicate())) busy.shared += node.sharedCycles;
      })
      .Case<ptx::Tcgen05CommitOp>([&](ptx::Tcgen05CommitOp commit) {
        Mbarrier *barrier = warp.lanesWhere(commit.getPredicate()) ? barrierAt(index, commit.getBarrier()) : nullptr;
        if (barrier) arrive(ctaOf(index), *barrier, 1, 0, std::max(time, warp.openMmas + mmaLatency));
      })
      .Case<ptx::Tcgen05WaitOp>([&](auto) { warp.now = std::max(warp.now, warp.openTensorAccesses); })
      .Case<ptx::FenceOp>([&](auto) { warp.now += rates.l2Latency; })
      .Case<ptx::ClusterWaitOp>([&](auto) { warp.now += clusterBarrierLatency; });
  return true;
}

//===--------------------------------------------------------------------------------------------------------- launch control

/// A CTA takes the next program of this SM, which then starts no CTA for it.
void Sm::takeProgram(size_t index, ptx::ClcTryCancelOp request, double time) {
  const model::Warp &warp = *warps[index];
  Integer address = warp.lanesWhere(request.getPredicate()) ? warp.inLane(request.getResponse(), 0) : std::nullopt;
  if (!address) return;
  ctaOf(index).responses[*address] = started < wanted ? std::optional(programOf(started++)) : std::nullopt;
  if (Mbarrier *barrier = barrierAt(index, request.getBarrier())) arrive(ctaOf(index), *barrier, 0, -clcResponseBytes, time + clcLatency);
}

void Sm::readResponse(size_t index, ptx::ClcQueryOp query, const Node &node) {
  model::Warp &warp = *warps[index];
  Integer address = warp.inLane(query.getResponse(), 0);
  std::optional<int64_t> program = address ? ctaOf(index).responses[*address] : std::nullopt;
  std::array<int64_t, 3> block = placeOf(program.value_or(0), 0).block;
  warp.setInteger(node.results[0], program.has_value());
  for (size_t axis = 0; axis < block.size(); ++axis)
    warp.setInteger(node.results[axis + 1], block[axis]);
}

//===---------------------------------------------------------------------------------------------------------------- running

/// Executes one operation. False if the warp has to wait.
bool Sm::execute(size_t index, const Node &node, double time) {
  model::Warp &warp = *warps[index];
  warp.evaluate(node);
  issue(warp, index, node, time);
  if (!node.bodies.empty()) {
    warp.enter(node);
    return true;
  }
  if (!isa<ptx::PtxDialect>(node.op->getDialect())) return true;
  if (isa<ptx::BarrierOp, ptx::BarrierArriveOp, ptx::MbarrierInitOp, ptx::MbarrierExpectOp, ptx::MbarrierArriveOp, ptx::MbarrierWaitOp>(
          node.op))
    return executeTogether(index, node, warp.now);
  if (auto request = dyn_cast<ptx::ClcTryCancelOp>(node.op)) return takeProgram(index, request, warp.now), true;
  if (auto query = dyn_cast<ptx::ClcQueryOp>(node.op)) return readResponse(index, query, node), true;
  return executeAsync(index, node, warp.now);
}

void Sm::finish(size_t index) {
  Cta &cta = ctaOf(index);
  model::Warp &warp = *warps[index];
  double last = warp.now;
  for (const std::deque<double> *groups : {&warp.stores, &warp.mmas, &warp.copies})
    for (double done : *groups)
      last = std::max(last, done);
  cta.end = std::max(cta.end, last);
  end = std::max(end, last);
  warps[index].reset();
  if (--cta.running == 0 && started < wanted) start(cta.end + ctaStartLatency);
}

double Sm::stepsOf(int64_t program) const {
  double steps = 0;
  for (int64_t warp = 0; warp < warpsOfCta; ++warp)
    steps += model::Warp(code, placeOf(program, warp)).countSteps();
  return steps;
}

double Sm::totalSteps(int64_t count) const {
  constexpr int64_t maxSamples = 64;
  int64_t samples = std::min(count, maxSamples);
  double steps = 0;
  for (int64_t sample = 0; sample < samples; ++sample)
    steps += stepsOf(programOf(samples == 1 ? 0 : sample * (count - 1) / (samples - 1)));
  return steps / static_cast<double>(samples) * static_cast<double>(count);
}

/// Returns the operations of the SM with the most of them: each CTA goes to the SM that is free first. Programs of one position along the
/// first axis count as alike.
double Sm::stepsOfBusiestSm() const {
  constexpr int64_t maxProgramsOfAxis = 512, maxPrograms = 65536;
  int64_t programs = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (programs > maxPrograms) return 0;
  std::vector<double> steps(static_cast<size_t>(std::min(launch.grid[0], maxProgramsOfAxis)));
  for (auto [index, count] : llvm::enumerate(steps))
    count = stepsOf(static_cast<int64_t>(index) * launch.grid[0] / static_cast<int64_t>(steps.size()));
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int64_t sm = 0; sm < std::max<int64_t>(rates.sms / cluster, 1); ++sm)
    free.push(0);
  double most = 0;
  for (int64_t program = 0; program < programs; ++program) {
    auto x = static_cast<size_t>(program % launch.grid[0] * static_cast<int64_t>(steps.size()) / launch.grid[0]);
    double done = free.top() + steps[x];
    free.pop();
    free.push(done);
    most = std::max(most, done);
  }
  return most;
}

Steps Sm::countSteps(int64_t count) {
  wanted = count;
  return {totalSteps(count), stepsOfBusiestSm()};
}

double Sm::run(int64_t count, const Steps &counted) {
  constexpr double maxSteps = 500'000;
  wanted = count;
  for (int64_t cta = 0; cta < std::min(count, resident); ++cta)
    start(ctaStartLatency);
  double all = counted.all, steps = 0, halfTime = 0, now = 0;
  double budget = std::min(all, maxSteps), half = 0;
  while (!queue.empty() && steps < maxSteps) {
    auto [time, index] = queue.top();
    queue.pop();
    model::Warp &warp = *warps[index];
    if (!pending[index] && !(pending[index] = warp.next())) {
      finish(index);
      continue;
    }
    const Node &node = *pending[index];
    double ready = node.isFree() ? time : issueTime(index, node, readyTime(warp, node));
    if (ready > time) {
      queue.push({ready, index});
      warp.now = ready;
      continue;
    }
    pending[index] = nullptr;
    ++steps;
    now = std::max(now, time);
    if (half == 0 && steps >= budget / 2) half = steps, halfTime = now;
    if (execute(index, node, time)) push(index);
  }
  bool isStuck = queue.empty() && std::any_of(ctas.begin(), ctas.end(), [](const Cta &cta) { return cta.running > 0; });
  isComplete = !isStuck;
  // The rest goes on at the rate of the second half, and the SM with the most work ends last.
  double cycles = steps < maxSteps ? end : now + std::max(all - steps, 0.0) * (now - halfTime) / (steps - half);
  double scale = steps > 0 ? std::max(all / steps, 1.0) : 1, most = counted.ofBusiestSm / all;
  for (double BusyTimes::*field : {&BusyTimes::tensor, &BusyTimes::issue, &BusyTimes::fp32, &BusyTimes::alu, &BusyTimes::special,
                                   &BusyTimes::shared, &BusyTimes::tensorMemory, &BusyTimes::l2})
    busy.*field *= scale;
  for (double &bytes : traffic)
    bytes *= scale;
  return std::max(most > 0 ? cycles * most : cycles, busy.shared); // what MMAs read of shared memory has not delayed other accesses to it
}

/// Returns how many CTAs an SM holds at a time.
static int64_t residentCtas(ptx::KernelAttr kernel, int64_t registers, const SmRates &rates, const GpuTarget &target) {
  int64_t threads = kernel.getThreads(), sharedOfSM = target.sharedBytes + reservedSharedBytes;
  int64_t ctas = std::min(rates.ctasPerSM, residentWarps * lanesOfWarp / threads);
  ctas = std::min(ctas, sharedOfSM / (kernel.getSharedBytes() + reservedSharedBytes));
  int64_t rounded = (registers + registerStep - 1) / registerStep * registerStep;
  if (registers > 0) ctas = std::min(ctas, ctasByRegisters(threads, rounded, target));
  return std::max<int64_t>(ctas, 1);
}

/// Returns the fraction of the traffic that goes to memory: each tensor is read and written once, the rest comes from the L2 cache.
static double missFraction(ArrayRef<double> traffic, const ModeledLaunch &launch, double scale) {
  double all = 0, fromMemory = 0;
  for (auto [stream, ofOne] : llvm::enumerate(traffic)) {
    double bytes = ofOne * scale, tensor = stream / 2 < launch.tensorBytes.size() ? launch.tensorBytes[stream / 2] : 0;
    all += bytes;
    fromMemory += tensor > 0 ? std::min(bytes, tensor) : bytes;
  }
  return all > 0 ? fromMemory / all : 1;
}

std::vector<std::pair<std::string, double>> LaunchPrediction::busyUnits() const {
  std::vector<std::pair<std::string, double>> units = {
      {"tensor cores", tensorCores}, {"instruction issue", issue},    {"arithmetic", arithmetic}, {"special functions", special},
      {"shared memory", shared},     {"tensor memory", tensorMemory}, {"L2 cache", l2},           {"memory", memory}};
  llvm::erase_if(units, [](const auto &unit) { return unit.first == "tensor memory" && unit.second == 0; }); // few GPUs have it
  llvm::sort(units, [](const auto &a, const auto &b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  return units;
}

/// Gives each pointer an address of its own, so that distances between the accesses of a warp are known.
static ModeledLaunch withAddresses(ModeledLaunch launch, tt::FuncOp function) {
  for (auto [index, value] : llvm::enumerate(launch.arguments))
    if (!value && index < function.getNumArguments() && function.getArgument(static_cast<unsigned>(index)).getType().isInteger(64))
      value = static_cast<int64_t>(index + 1) << 40;
  return launch;
}

LaunchPrediction predictLaunch(ModuleOp module, const ModeledLaunch &described, const SmRates &rates) {
  LaunchPrediction prediction;
  auto kernels = module.getOps<tt::FuncOp>();
  if (kernels.empty()) return prediction;
  tt::FuncOp function = *kernels.begin();
  auto kernel = function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  std::optional<GpuTarget> target = gpuTarget(rates.target);
  if (!kernel || !target) return prediction;
  Code code = decode(function.getBody(), rates, described.fusesMultiplyAdd);
  ModeledLaunch launch = withAddresses(described, function);
  int64_t cluster = std::max<int64_t>(kernel.getCluster(), 1);
  int64_t all = launch.grid[0] * launch.grid[1] * launch.grid[2] * cluster;
  int64_t ofOne = (all + rates.sms - 1) / rates.sms;
  int64_t resident = std::min(residentCtas(kernel, launch.registers, rates, *target), ofOne);
  prediction.ctasPerSM = resident;
  double sms = static_cast<double>(rates.sms), miss = 1, cycles = 0;
  BusyTimes busy;
  std::optional<Steps> counted;
  // How much of the traffic goes to memory follows from the traffic, which the first run counts.
  for (int round = 0; round < 2; ++round) {
    Sm sm(code, kernel, launch, rates, resident, miss);
    if (!counted) counted = sm.countSteps(ofOne);
    cycles = sm.run(ofOne, *counted);
    busy = sm.busy;
    prediction.isComplete = sm.isComplete;
    miss = missFraction(sm.traffic, launch, static_cast<double>(all) / static_cast<double>(ofOne));
  }
  cycles = std::max(cycles, 1.0); // of an empty kernel or grid
  prediction.tensorCores = busy.tensor / schedulers / cycles;
  prediction.clock = rates.clock + (rates.busyClock - rates.clock) * std::min(1.0, prediction.tensorCores);
  prediction.seconds = cycles / prediction.clock + rates.launchSeconds;
  prediction.issue = busy.issue / schedulers / cycles;
  prediction.arithmetic = std::max(busy.fp32, busy.alu) / schedulers / cycles;
  prediction.special = busy.special / schedulers / cycles;
  prediction.shared = busy.shared / cycles;
  prediction.tensorMemory = busy.tensorMemory / schedulers / cycles;
  prediction.l2 = busy.l2 / rates.l2BytesPerCycle / cycles;
  prediction.memory = busy.l2 * miss * sms / rates.memoryBytes * rates.clock / cycles;
  return prediction;
}

} // namespace tilewright::gpu
