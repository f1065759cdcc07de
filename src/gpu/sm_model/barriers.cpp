#include "gpu/sm_model/sm.h"

#include "support/gpu_hardware.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu::model {

//===---------------------------------------------------------------------------------------------------------- named barriers

/// A warp arrives at a named barrier. `waits`: for the others, too.
void Sm::arriveAt(Step &step, int64_t id, int64_t threads, bool waits) {
  NamedBarrier &barrier = ctaOf(step.index).barriers[static_cast<size_t>(id) % namedBarriers];
  barrier.arrived += lanesOfWarp;
  barrier.last = std::max(barrier.last, step.time);
  bool isLast = barrier.arrived >= (threads ? threads : warpsOfCta * lanesOfWarp);
  step.waits = waits && !isLast;
  if (step.waits) barrier.waiting.push_back(step.index);
  if (!isLast) return;
  double release = barrier.last + barrierLatency;
  for (size_t other : barrier.waiting) {
    warps[other]->now = std::max(warps[other]->now, release);
    push(other);
  }
  if (waits) step.warp.now = std::max(step.warp.now, release);
  barrier = NamedBarrier();
}

void Sm::syncCta(Step &step) {
  auto barrier = cast<ptx::BarrierOp>(step.node.op);
  int64_t group = barrier.getPerWarpGroup() ? step.warp.place.warp / warpsOfGroup : 0;
  arriveAt(step, barrier.getId() + group, barrier.getThreads(), /*waits=*/true);
}

void Sm::arriveAtBarrier(Step &step) {
  auto arrival = cast<ptx::BarrierArriveOp>(step.node.op);
  arriveAt(step, arrival.getId(), arrival.getThreads(), /*waits=*/false);
}

void Sm::syncCluster(Step &step) {
  step.warp.now += clusterBarrierLatency;
}

//===---------------------------------------------------------------------------------------------------------------- mbarriers

Mbarrier *Sm::mbarrierAt(const Step &step, Value address, Value predicate) {
  if (!step.warp.lanesWhere(predicate)) return nullptr;
  Integer known = step.warp.inLane(address, 0);
  isComplete &= known.has_value();
  return known ? &ctaOf(step.index).mbarriers[*known] : nullptr;
}

/// `bytes`: that are expected in addition; negative: that have arrived. Null for a barrier that is not known.
void Sm::arrive(Mbarrier *at, int64_t arrivals, int64_t bytes, double time) {
  if (!at) return;
  Mbarrier &barrier = *at;
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

void Sm::initMbarrier(Step &step) {
  auto init = cast<ptx::MbarrierInitOp>(step.node.op);
  if (Mbarrier *barrier = mbarrierAt(step, init.getBarrier(), init.getPredicate())) barrier->count = barrier->pending = init.getCount();
}

void Sm::expectBytes(Step &step) {
  auto expect = cast<ptx::MbarrierExpectOp>(step.node.op);
  arrive(mbarrierAt(step, expect.getBarrier(), expect.getPredicate()), 1, expect.getBytes(), step.time);
}

void Sm::arriveAtMbarrier(Step &step) {
  auto arrival = cast<ptx::MbarrierArriveOp>(step.node.op);
  int64_t lanes = llvm::popcount(step.warp.lanesWhere(arrival.getPredicate()));
  int64_t ctasOfCluster = arrival.getInCtas().value_or(1); // each of them does the same
  arrive(mbarrierAt(step, arrival.getBarrier(), arrival.getPredicate()), lanes * arrival.getCount() * ctasOfCluster, 0, step.time);
}

void Sm::waitForMbarrier(Step &step) {
  auto wait = cast<ptx::MbarrierWaitOp>(step.node.op);
  Mbarrier *barrier = mbarrierAt(step, wait.getBarrier(), Value());
  Integer parity = step.warp.inLane(wait.getParity(), 0);
  isComplete &= parity.has_value();
  if (!barrier || !parity) return;
  step.waits = static_cast<int64_t>(barrier->phase & 1) == (*parity & 1);
  if (step.waits)
    barrier->waiting.push_back({step.index, *parity & 1});
  else
    step.warp.now = std::max(step.warp.now, barrier->completed);
}

} // namespace tilewright::gpu::model
