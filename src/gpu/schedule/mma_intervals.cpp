#include "gpu/schedule/mma_intervals.h"

using namespace mlir;

namespace tilewright::gpu {

/// Iterations after its own in which a wait for an MMA is searched.
static constexpr int64_t maxDistance = 2;

Result<MmaIntervals> MmaIntervals::atEdges(scf::ForOp loop, const BlockOrder &order, ArrayRef<MmaEdge> edges) {
  MmaIntervals made(order);
  for (const MmaEdge &edge : edges) {
    if (!isa<ttg::MmaAsyncOp>(edge.op)) continue;
    ttg::MmaAsyncWaitOp wait = waitFor(edge, loop), until = cast<ttg::MmaAsyncWaitOp>(edge.until);
    if (!wait || wait->getBlock() != loop.getBody()) return Failure{"no wait passes the result of an edge's MMA through"};
    if (made.ends.insert({wait, until}).first->second != until) return Failure{"the MMAs of one wait end at different waits"};
  }
  for (const MmaEdge &edge : edges)
    if (made.finalWait(cast<ttg::MmaAsyncWaitOp>(edge.until)) != edge.until)
      return Failure{"an edge leads to a wait that becomes part of another one"};
  llvm::MapVector<Operation *, SmallVector<Value>> tiles; // by the wait at which their MMAs end
  for (auto [wait, until] : made.ends)
    llvm::append_range(tiles[until], cast<ttg::MmaAsyncWaitOp>(wait).getTiles());
  for (auto &[until, ending] : tiles) {
    int64_t count = pendingAt(ending, until, order), before = cast<ttg::MmaAsyncWaitOp>(until).getPending();
    bool isFree = made.ends.contains(until); // edges say where all of its MMAs end
    made.pending[until] = isFree ? count : std::min(before, count);
  }
  return made;
}

ttg::MmaAsyncWaitOp MmaIntervals::finalWait(ttg::MmaAsyncWaitOp wait) const {
  const auto *end = ends.find(wait);
  return end == ends.end() ? wait : end->second;
}

int64_t MmaIntervals::pendingOf(ttg::MmaAsyncWaitOp wait) const {
  auto changed = pending.find(wait);
  return changed == pending.end() ? int64_t(wait.getPending()) : changed->second;
}

MmaEdge MmaIntervals::intervalOf(ttg::MmaAsyncOp mma) const {
  int64_t issued = 0;
  Operation *op = order.next(mma);
  for (int64_t distance = 0; distance <= maxDistance; ++distance, op = order.all().front())
    for (; op; op = order.next(op)) {
      auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op);
      if (wait && finalWait(wait) == wait && pendingOf(wait) <= issued) return {mma, wait, distance};
      issued += isa<ttg::MmaAsyncOp>(op);
    }
  return {mma, nullptr, maxDistance + 1};
}

bool MmaIntervals::contains(const MmaEdge &interval, Operation *op, int64_t distance) const {
  bool isAfterStart = distance > 0 || (op != interval.op && order.isBefore(interval.op, op));
  if (!isAfterStart || !interval.until) return isAfterStart;
  return distance < interval.distance || (distance == interval.distance && !order.isBefore(interval.until, op));
}

} // namespace tilewright::gpu
