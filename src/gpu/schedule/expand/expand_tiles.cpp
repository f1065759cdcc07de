// The first copies of a persistent loop's tiles (persistent_loop.cpp), without a producer:
//   before: for %tile { start copies 0 .. S-2    for %k { ... }    drain MMAs    store the tile }
//   after:  if there is a tile { start copies 0 .. S-2 of it }
//           for %tile { for %k { ... }    drain MMAs    if there is a next tile { start its copies 0 .. S-2 }    store the tile }
// The loop over K and the loop over tiles stay two loops. In a loop over pairs (tile, k), each iteration would choose between this tile's
// and the next one's addresses, and branch around the epilogue (docs/stages/gpu_schedule.md).
#include "gpu/schedule/entry_values.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"

using namespace mlir;

namespace tilewright::gpu {

/// Starts the first copies of a tile. `of`: returns the values of that tile for those of the present one.
static LogicalResult copyTile(const Expansion &e, OpBuilder &b, const FirstCopies &copies, const StageState &first,
                              function_ref<SmallVector<Value>(ValueRange)> of) {
  return startFirst(
      e, b, first, [&](int64_t iteration) { return of(copies.exists[size_t(iteration)]).front(); },
      [&](size_t circular, int64_t iteration) { return of(copies.operands[circular][size_t(iteration)]); });
}

FailureOr<FirstCopies> copyFirstTile(const Expansion &e) {
  scf::ForOp loop = e.schedule.loop;
  auto tiles = cast<scf::ForOp>(loop->getParentOp());
  OpBuilder b(loop);
  FirstCopies copies;
  LoopIterations inner(loop), outer(tiles);
  for (int64_t iteration = 0; iteration < e.schedule.stages; ++iteration)
    copies.exists.push_back(inner.existsIteration(b, iteration));
  for (const CircularBuffer &circular : e.schedule.circularBuffers) {
    auto &own = copies.operands.emplace_back();
    for (int64_t iteration = 0; iteration < circular.distance; ++iteration)
      own.push_back(inner.ofIteration(b, circular.operands(), iteration));
  }
  b.setInsertionPoint(tiles);
  auto isThere = scf::IfOp::create(b, e.loc(), outer.existsIteration(b, 0), /*withElseRegion=*/false);
  b.setInsertionPoint(isThere.thenYield());
  auto of = [&](ValueRange values) { return outer.ofIteration(b, values, 0); };
  Value zero = entryConstant(e.function, 0);
  if (failed(copyTile(e, b, copies, StageState(zero, zero, e.schedule.stages), of))) return failure();
  return copies;
}

LogicalResult copyNextTile(const Expansion &e, const FirstCopies &copies) {
  scf::ForOp loop = e.schedule.loop;
  StageState first(loop.getResults().take_back(2), e.schedule.stages);
  FailureOr<ttg::MmaAsyncWaitOp> drain = drainAfter(loop);
  if (failed(drain)) return failure();
  OpBuilder b = e.builder();
  b.setInsertionPointAfter(*drain);
  LoopIterations outer(cast<scf::ForOp>(loop->getParentOp()));
  auto isThere = scf::IfOp::create(b, e.loc(), outer.existsLater(b, 1), /*withElseRegion=*/false);
  b.setInsertionPoint(isThere.thenYield());
  return copyTile(e, b, copies, first, [&](ValueRange values) { return outer.later(b, values, 1); });
}

} // namespace tilewright::gpu
