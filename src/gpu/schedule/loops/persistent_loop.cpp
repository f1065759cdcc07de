// A program that makes several tiles of a result, one after another, has a loop over tiles
// around the loop over K. Between the MMAs of two tiles nothing multiplies; meanwhile
// the next tile's first operands can be copied, and the last tile's result can be stored:
//   before: for %tile { start copies 0 .. S-2    for %k { ... }    store the tile, wait until it has been read }
//   after:  start copies 0 .. S-2 of the first tile
//           for %tile { for %k { ... }    start copies 0 .. S-2 of the next tile    wait for the store before    store the tile }
//           wait for the last store
// The circular buffer, and the buffer of the result, are in use throughout the loop over tiles.
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/program_loop.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the first copies of the loop over K, and whether it has an iteration, can be computed for another tile.
static bool canStartNextTile(const LoopSchedule &schedule, scf::ForOp tiles) {
  scf::ForOp loop = schedule.loop;
  LoopIterations inner(loop), outer(tiles);
  SmallVector<Value> values;
  for (const Copy &copy : schedule.copies())
    llvm::append_range(values, copy.load->getOperands());
  if (!llvm::all_of(values, [&](Value value) { return inner.canClone(value); })) return false;
  llvm::SetVector<Value> sources = inner.sourcesOutside(values);
  bool canClone = llvm::all_of(sources, [&](Value source) { return outer.canClone(source); });
  return canClone && inner.loads(values).empty() && outer.loads(sources.getArrayRef()).empty();
}

scf::ForOp topLevelLoopAround(scf::ForOp loop) {
  auto tiles = dyn_cast<scf::ForOp>(loop->getParentOp());
  return tiles && isa<tt::FuncOp>(tiles->getParentOp()) ? tiles : scf::ForOp();
}

scf::ForOp persistentLoop(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop, tiles = topLevelLoopAround(loop);
  if (!tiles || tiles.getUnsignedCmp() || schedule.warpSpecialized || clcProgramOf(tiles)) return {};
  if (schedule.edges.empty() || schedule.drainsAtWait()) return {};
  IntegerAttr step;
  if (matchPattern(tiles.getStep(), m_Constant(&step)) && !step.getValue().isStrictlyPositive()) return {};
  for (const CircularBuffer &circular : schedule.circularBuffers)
    if (!circular.tma || circular.threadsRead) return {};
  // The loop over tiles must not wait until others have written what is loaded, nor have a second loop, with its own circular buffers.
  auto isOwn = [&](scf::ForOp other) { return loop->isAncestor(other) ? WalkResult::advance() : WalkResult::interrupt(); };
  if (tiles.getBody()->walk(isOwn).wasInterrupted()) return {};
  if (contains(tiles, ProgramOrder::atomic | ProgramOrder::learnsWrites | ProgramOrder::waits)) return {};
  return canStartNextTile(schedule, tiles) ? tiles : scf::ForOp();
}

} // namespace tilewright::gpu
