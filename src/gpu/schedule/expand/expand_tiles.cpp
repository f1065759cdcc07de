// The first copies of a persistent loop's tiles (persistent_loop.cpp), without a producer:
//   before: for %tile { start copies 0 .. S-2    for %k { ... }    drain MMAs    store the tile }
//   after:  if there is a tile { start copies 0 .. S-2 of it }
//           for %tile { for %k { ... }    drain MMAs    if there is a next tile { start its copies 0 .. S-2 }    store the tile }
// The loop over K and the loop over tiles stay two loops. In a loop over pairs (tile, k), each iteration would choose between this tile's
// and the next one's addresses, and branch around the epilogue (docs/stages/gpu_schedule.md).
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"

using namespace mlir;

namespace tilewright::gpu {

/// Starts the first copies of a tile. `of`: returns the values of that tile for those of the present one.
static LogicalResult copyTile(Expansion &e, const FirstCopies &copies, const StageState &first,
                              function_ref<SmallVector<Value>(ValueRange)> of) {
  return startFirst(
      e, first, [&](int64_t iteration) { return of(copies.exists[size_t(iteration)]).front(); },
      [&](size_t circular, int64_t iteration) { return of(copies.operands[circular][size_t(iteration)]); });
}

FailureOr<FirstCopies> copyFirstTile(Expansion &e) {
  auto tiles = cast<scf::ForOp>(e.schedule.loop->getParentOp());
  OpBuilder &b = e.b;
  b.setInsertionPoint(e.schedule.loop);
  FirstCopies copies;
  LoopIterations inner(e.schedule.loop), outer(tiles);
  for (int64_t iteration = 0; iteration < e.stages; ++iteration)
    copies.exists.push_back(inner.existsIteration(b, iteration));
  for (const CircularBuffer &circular : e.schedule.circularBuffers) {
    auto &own = copies.operands.emplace_back();
    for (int64_t iteration = 0; iteration < circular.distance; ++iteration)
      own.push_back(inner.ofIteration(b, circular.operands(), iteration));
  }
  b.setInsertionPoint(tiles);
  auto isThere = scf::IfOp::create(b, e.loc, outer.existsIteration(b, 0), /*withElseRegion=*/false);
  b.setInsertionPoint(isThere.thenYield());
  auto of = [&](ValueRange values) { return outer.ofIteration(b, values, 0); };
  Value zero = entryConstant(e.function, 0);
  if (failed(copyTile(e, copies, StageState(zero, zero, e.stages), of))) return failure();
  return copies;
}

LogicalResult copyNextTile(Expansion &e, const FirstCopies &copies) {
  StageState first(e.schedule.loop.getResults().take_back(2), e.stages);
  FailureOr<ttg::MmaAsyncWaitOp> drain = drainAfter(e.schedule.loop);
  if (failed(drain)) return failure();
  e.b.setInsertionPointAfter(*drain);
  LoopIterations outer(cast<scf::ForOp>(e.schedule.loop->getParentOp()));
  auto isThere = scf::IfOp::create(e.b, e.loc, outer.existsLater(e.b, 1), /*withElseRegion=*/false);
  e.b.setInsertionPoint(isThere.thenYield());
  return copyTile(e, copies, first, [&](ValueRange values) { return outer.later(e.b, values, 1); });
}

} // namespace tilewright::gpu
