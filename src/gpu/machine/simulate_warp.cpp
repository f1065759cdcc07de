// The instructions of a warp and of a CTA: positions, shuffles, votes, barriers, and the registers of warp groups.
//
//   barrier 1 of 64 threads by warps 0 and 1      each warp waits for the other one, and is ordered after all that it did before
#include "gpu/machine/simulate_program.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu::sim {

// ---- position

template <class Function> static bool perLane(Warp &warp, const Step &step, Function function) {
  Lanes &result = warp.result(step, 0);
  warp.forLanes([&](int64_t lane) { result[lane] = uint64_t(function(lane)) & step.to.mask(); });
  return true;
}

// ---- the threads of a warp

static bool shuffle(Warp &warp, const Step &step, ptx::ShuffleOp op) {
  ptx::Shuffle kind = op.getKind();
  Lanes source = warp.get(step, 0);
  const Lanes &which = warp.get(step, 1);
  return perLane(warp, step, [&](int64_t lane) {
    int64_t amount = int64_t(which[lane] & 31), from = lane;
    switch (kind) {
    case ptx::Shuffle::idx: from = amount; break;
    case ptx::Shuffle::bfly: from = lane ^ amount; break;
    case ptx::Shuffle::up: from = lane - amount; break;
    case ptx::Shuffle::down: from = lane + amount; break;
    }
    return source[from < 0 || from > 31 ? lane : from];
  });
}

static bool redux(Warp &warp, const Step &step, ptx::ReduxOp op) {
  ptx::Redux kind = op.getKind();
  const Lanes &values = warp.get(step, 0);
  uint64_t total = values[0];
  for (size_t lane = 1; lane < 32; ++lane)
    total = combine(kind, step.to.bits, total, values[lane]);
  return perLane(warp, step, [&](int64_t) { return total; });
}

static bool ballot(Warp &warp, const Step &step, ptx::BallotOp) {
  uint64_t bits = warp.lanesWhere(step, 0);
  return perLane(warp, step, [&](int64_t) { return bits; });
}

static bool matchAny(Warp &warp, const Step &step, ptx::MatchAnyOp) {
  Lanes values = warp.get(step, 0);
  return perLane(warp, step, [&](int64_t lane) {
    uint64_t bits = 0;
    for (size_t other = 0; other < 32; ++other)
      bits |= uint64_t(values[other] == values[lane]) << other;
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

/// Adds the warp to the barrier; the last warp to arrive completes it. Returns the warp's use of the barrier, or null after an error.
static std::shared_ptr<NamedBarrier::Generation> arrive(Warp &warp, const Step &step, int64_t id, int64_t threads) {
  int64_t all = int64_t(warp.cta.warps.size()) * lanesPerWarp;
  if (threads == 0) threads = all;
  if (id >= namedBarriers || threads > all) {
    warp.fail(step, "barrier " + llvm::Twine(id) + " of " + llvm::Twine(threads) + " threads: ids are 0 to 15, threads at most " +
                        llvm::Twine(all));
    return nullptr;
  }
  NamedBarrier &barrier = warp.cta.barriers[id];
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
  std::shared_ptr<NamedBarrier::Generation> generation = barrier.generation;
  if (generation->warps >> warp.index & 1) {
    warp.fail(step, "the warp has arrived at barrier " + llvm::Twine(id) + " already, and other warps have not", -1, barrier.first);
    return nullptr;
  }
  generation->warps |= uint32_t(1) << warp.index;
  if (!barrier.arrived) barrier.first = step.number;
  generation->others.resize(warp.others.size());
  for (auto [into, known] : llvm::zip(generation->others, warp.others))
    join(into, known);
  barrier.threads = threads;
  barrier.arrived += lanesPerWarp;
  warp.release(generation->clock);
  if (barrier.arrived == threads) {
    generation->complete = true;
    barrier.generation = std::make_shared<NamedBarrier::Generation>();
    barrier.arrived = 0;
  }
  return generation;
}

static bool sync(Warp &warp, const Step &step, int64_t id, int64_t threads, llvm::StringRef what) {
  std::shared_ptr<NamedBarrier::Generation> generation = arrive(warp, step, id, threads);
  if (!generation || !warp.waitUntil(step, what, [&] { return generation->complete; })) return false;
  join(warp.clock, generation->clock);
  for (auto [known, from] : llvm::zip(warp.others, generation->others))
    join(known, from);
  return true;
}

static bool barrier(Warp &warp, const Step &step, ptx::BarrierOp op) {
  int64_t number = warp.index;
  if (op.getWarp()) {
    const Lanes &numbers = warp.get(step, 0);
    number = int64_t(numbers[0]);
    if (!llvm::all_equal(numbers)) return warp.fail(step, "the threads of a warp arrive at different barriers");
  }
  int64_t id = op.getId() + (op.getPerWarpGroup() ? number / warpsOfGroup : 0);
  return sync(warp, step, id, op.getThreads(), "barrier " + std::to_string(id));
}
static bool barrierArrive(Warp &warp, const Step &step, ptx::BarrierArriveOp op) {
  return arrive(warp, step, op.getId(), op.getThreads()) != nullptr;
}

/// setmaxnreg: a warp that wants more registers waits until other warps of the CTA have given up enough.
static bool setRegisters(Warp &warp, const Step &step, ptx::MaxRegistersOp op) {
  int64_t count = op.getCount();
  warp.registerTrace.push_back(step.number);
  int64_t more = (count - warp.registers) * lanesPerWarp, &free = warp.cta.freeRegisters;
  if ((more > 0) != op.getIncrease() && more != 0)
    return warp.fail(step, "the warp's threads have " + llvm::Twine(warp.registers) + " registers: this is not " +
                               (op.getIncrease() ? "an increase" : "a decrease"));
  std::string what = std::to_string(count) + " registers";
  if (free < more && !warp.waitUntil(step, what, [&] { return free >= more; })) return false;
  free -= more;
  warp.registers = count;
  ++warp.cta.cluster.launch.changes;
  return true;
}

static bool blockId(Warp &warp, const Step &step, ptx::BlockIdOp op) {
  return perLane(warp, step, [&, axis = op.getAxis()](int64_t) { return warp.cta.id[axis]; });
}

static bool blockCount(Warp &warp, const Step &step, ptx::BlockCountOp op) {
  return perLane(warp, step, [&, axis = op.getAxis()](int64_t) { return warp.cta.grid[axis]; });
}

/// An operation that has no effect here.
template <class Op> static bool nothing(Warp &, const Step &, Op) {
  return true;
}

void addWarpHandlers(HandlerTable &table) {
  table.add<blockId, blockCount, nothing<ptx::SleepOp>, nothing<ptx::WarpBarrierOp>, nothing<ptx::PrefetchTensorMapOp>>();
  table.add<shuffle, redux, ballot, matchAny, barrier, barrierArrive, setRegisters>();
  table.rows["ptx.thread_id"].execute = [](Warp &warp, const Step &step) {
    return perLane(warp, step, [&](int64_t lane) { return warp.index * lanesPerWarp + lane; });
  };
  table.rows["ptx.warp_id"].execute = [](Warp &warp, const Step &step) { return perLane(warp, step, [&](int64_t) { return warp.index; }); };
  table.rows["ptx.lane_id"].execute = [](Warp &warp, const Step &step) { return perLane(warp, step, [](int64_t lane) { return lane; }); };
  table.rows["ptx.shared_base"].execute = [](Warp &w, const Step &step) { return perLane(w, step, [&](int64_t) { return w.cta.base(); }); };
  table.rows["ptx.cluster_rank"].execute = [](Warp &warp, const Step &step) {
    return perLane(warp, step, [&](int64_t) { return warp.cta.rank; });
  };
  table.rows["ptx.elect"].execute = [](Warp &warp, const Step &step) { // any lane, but the same one in each election
    return perLane(warp, step, [&](int64_t lane) { return lane == int64_t(warp.cta.options.seed % uint64_t(lanesPerWarp)); });
  };
}

} // namespace tilewright::gpu::sim
