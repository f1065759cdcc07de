// Waits for MMAs (ttg.mma_async_wait). An MMA runs until a wait ends it, and its result passes through that wait. MMAs end in the order in
// which they were issued, so a wait names how many of the latest ones may still run:
//   %d = mma_async    %e = mma_async    %s = mma_async_wait 1, %d    use of %s: %d has ended, %e may still run
// The op's builder takes the pending count and the tiles: MmaAsyncWaitOp::create(b, loc, 1, tiles).
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Returns the wait that the result of an MMA passes through. Null if the first user of the result is not a wait.
ttg::MmaAsyncWaitOp waitFor(mlir::Value result);
/// Returns the last wait in the block; null if it has none.
ttg::MmaAsyncWaitOp lastWaitIn(mlir::Block *block);
/// Returns the last MMA in the block, not in its nested regions; null if it has none.
ttg::MmaAsyncOp lastMmaIn(mlir::Block *block);
/// Returns the wait of the loop that a step has marked: after it, the MMAs of the previous iteration have finished. Null if there is none.
ttg::MmaAsyncWaitOp drainingWaitIn(mlir::scf::ForOp loop);
/// Replaces the wait by one that also passes `tiles` through, after its own tiles. The new wait has no discardable attributes.
ttg::MmaAsyncWaitOp extendWait(ttg::MmaAsyncWaitOp wait, mlir::ValueRange tiles);

/// True if the wait ends an MMA, where `issued` more MMAs stand between that MMA and the wait. For 0, all MMAs have ended after the wait.
bool endsMma(ttg::MmaAsyncWaitOp wait, int64_t issued);
/// Returns the first wait after `op` in its block that ends all MMAs; null if there is none.
ttg::MmaAsyncWaitOp waitForAllAfter(mlir::Operation *op);
/// Returns the pending count of the wait if it stood before `position`: the MMAs between the last MMA that it names and `position`. 0 if
/// none of its MMAs stands before `position` in this block.
int64_t pendingAt(ttg::MmaAsyncWaitOp wait, mlir::Operation *position);

/// True if the next iteration's MMA is the only user of the MMA's sum in the loop.
bool accumulatesInPlace(ttg::MmaAsyncOp mma, mlir::scf::ForOp loop);
/// Returns the first wait after the loop, which drains the MMAs of its last iteration. Reports a bug if there is none.
mlir::FailureOr<ttg::MmaAsyncWaitOp> drainAfter(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
