// Loops over the tiles of a persistent program, and the results that leave them.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/shared_memory/shared_plan.h"

namespace tilewright::gpu {

/// Returns the loop at the top of the kernel whose body has this loop: over the tiles of a persistent program, if it is one. Null if there
/// is none.
mlir::scf::ForOp topLevelLoopAround(mlir::scf::ForOp loop);
/// The loop around the schedule's whose next iteration's first copies can be started early, after the MMAs of this one; null if there
/// is none.
mlir::scf::ForOp persistentLoop(const LoopSchedule &schedule);
/// The buffers through which tiles leave a loop, as they are used if stores stay in flight: one for all tiles of a type, throughout the
/// loop.
llvm::SmallVector<DeeperBuffer> buffersHeldByStores(mlir::scf::ForOp loop);
/// Lets the stores of a loop stay in flight until their buffer is written again.
void letStoresRun(mlir::scf::ForOp loop);

/// Returns the store to shared memory that writes what a TMA store takes from its buffer: the last one before it in its block. Null if
/// there is none.
ttg::StoreSharedOp writeOf(ttg::TmaStoreOp store);
/// A result on its way out, in a loop: store_shared    fence_async    tma_store    tma_store_wait 0. The buffer has no other use.
struct TileStore {
  ttg::AllocOp alloc;
  ttg::StoreSharedOp write;
  ttg::TmaStoreOp store;
  ttg::TmaStoreWaitOp wait;
};
llvm::SmallVector<TileStore> storesOf(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
