// Loops over the tiles of a persistent program, and the results that leave them.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "support/launch_guards.h"

namespace tilewright::gpu {

/// Returns the loop at the top of the kernel whose body has this loop: over the tiles of a persistent program, if it is one. Null if there
/// is none.
mlir::scf::ForOp topLevelLoopAround(mlir::scf::ForOp loop);
/// The loop around the schedule's whose next iteration's first copies can be started early, after the MMAs of this one; null if there
/// is none.
mlir::scf::ForOp persistentLoop(const LoopSchedule &schedule);

//===--------------------------------------------------------------------------------------------------------- tile_stores.cpp

/// Warp groups that can each store the rows that they hold.
constexpr int64_t storingGroups = 2;

/// A tile that a loop stores by TMA: store_shared    fence_async    tma_store    tma_store_wait 0. The buffer has no other use.
struct TileStore {
  ttg::AllocOp alloc;
  ttg::StoreSharedOp write;
  ttg::TmaStoreOp store;
  ttg::TmaStoreWaitOp wait;
};
llvm::SmallVector<TileStore> storesOf(mlir::scf::ForOp loop);
/// Returns the buffers through which tiles leave a loop, as they are used if stores stay in flight: one for all tiles of a type, throughout
/// the loop.
llvm::SmallVector<DeeperBuffer> buffersHeldByStores(mlir::scf::ForOp loop);
/// Returns the launch guards under which each of two warp groups can store the rows that it holds, and never touches memory that the other
/// one stores to. Null if it may do that.
std::optional<LaunchGuards> perWarpGroupGuards(mlir::scf::ForOp tiles);

} // namespace tilewright::gpu
