// Waits for MMAs (ttg.mma_async_wait). An MMA runs until a wait ends it, and its result passes through that wait. Each MMA is a commit
// group of its own. Groups end in the order in which they were issued, so a wait (wgmma.wait_group N) names how many of the latest ones may
// still run:
//   %d = mma_async    %e = mma_async    %s = mma_async_wait 1, %d    use of %s: %d has ended, %e may still run
// select-tensor-cores waits for each MMA where it stands. From then on schedules say where MMAs end, as edges, and only this unit makes or
// changes waits: it counts the MMAs that may still run.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

class BlockOrder;

/// An MMA that has ended after `until`, a wait or an MMA with a wait right after it: of the same iteration, or of the next one for distance
/// 1. Or arithmetic of the wait's iteration, whose result passes through the wait.
struct MmaEdge {
  mlir::Operation *op = nullptr;
  mlir::Operation *until = nullptr;
  int64_t distance = 0;
};

//===------------------------------------------------------------------------------------------------------------ to find

/// Returns the wait that the result of an MMA passes through; null if it passes through none.
ttg::MmaAsyncWaitOp waitFor(mlir::Value result);
/// Returns the wait that an edge's MMA passes through: in its iteration, or for distance 1 as the value that the loop carries for it.
ttg::MmaAsyncWaitOp waitFor(const MmaEdge &edge, mlir::scf::ForOp loop);
/// Returns the last wait in the block; null if it has none.
ttg::MmaAsyncWaitOp lastWaitIn(mlir::Block *block);
/// Returns the last MMA in the block, not in its nested regions; null if it has none.
ttg::MmaAsyncOp lastMmaIn(mlir::Block *block);
/// Returns the wait of the loop that a step has marked: after it, the MMAs of the previous iteration have finished. Null if there is none.
ttg::MmaAsyncWaitOp drainingWaitIn(mlir::scf::ForOp loop);
/// Returns the first wait after the loop, which drains the MMAs of its last iteration. Reports a bug if there is none, or it does not.
mlir::FailureOr<ttg::MmaAsyncWaitOp> drainAfter(mlir::scf::ForOp loop);
/// Returns the first wait after `op` in its block that ends all MMAs; null if there is none.
ttg::MmaAsyncWaitOp waitForAllAfter(mlir::Operation *op);
/// True if all MMAs have ended after the wait.
bool endsAllMmas(ttg::MmaAsyncWaitOp wait);
/// Returns what a wait passes on of the MMA's result, if that is its only use; null otherwise.
mlir::Value afterWait(ttg::MmaAsyncOp mma);
/// Returns the MMA that a wait in the loop's body names by this tile, and 1 if it is that of the iteration before, otherwise 0. Null if the
/// tile is no MMA's result.
std::pair<ttg::MmaAsyncOp, int64_t> waitedMma(mlir::Value tile, mlir::scf::ForOp loop);
/// True if the next iteration's MMA is the only user of the MMA's sum in the loop.
bool accumulatesInPlace(ttg::MmaAsyncOp mma, mlir::scf::ForOp loop);
/// Returns how many MMAs a wait that stands at `position` may leave pending so that those of `tiles` have ended: the MMAs between the last
/// of them and `position`. 0 if none of them stands before it in this block.
int64_t pendingAt(llvm::ArrayRef<mlir::Value> tiles, mlir::Operation *position, const BlockOrder &order);

//===------------------------------------------------------------------------------------------------------------ to make

/// Lets MMAs stay in flight across the back edge: those of iteration i have ended after `until` of iteration i + 1, which is the last of
/// them, or for a single MMA a wait before it. After the loop a wait drains them. Returns the wait that ends those of the previous
/// iteration.
ttg::MmaAsyncWaitOp keepInFlight(mlir::scf::ForOp loop, llvm::ArrayRef<MmaEdge> edges);
/// Lets each wait end the MMAs that its edges name, once the operations have their order (mma_intervals.h).
mlir::LogicalResult endAtEdges(mlir::scf::ForOp loop, llvm::ArrayRef<MmaEdge> edges);
/// Replaces the wait by one that also passes `tiles` through, after its own tiles: MMAs that it ends, or arithmetic that stays above it.
/// The new wait has its properties, but no discardable attributes.
ttg::MmaAsyncWaitOp extendWait(ttg::MmaAsyncWaitOp wait, mlir::ValueRange tiles);
/// Lets the wait end those MMAs that it names, and no later ones.
void recount(ttg::MmaAsyncWaitOp wait);
/// A wait for all MMAs but the latest one. `sum` is that of an earlier one.
ttg::MmaAsyncWaitOp waitForAllButLast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sum);
/// A wait for all MMAs. `sums` are those that something uses.
ttg::MmaAsyncWaitOp waitForAll(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange sums);

} // namespace tilewright::gpu
