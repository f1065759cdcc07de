// Per-warp-group epilogue store: each warp group of a persistent program stores the rows that it holds.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// True if each of two warpgroups can store the rows that it holds, without ever touching memory that the other stores to
/// (per_warp_group_store.cpp).
bool canStorePerWarpGroup(mlir::scf::ForOp tiles);
/// Lets them do that, once stores stay in flight: a warpgroup only synchronizes its own warps.
void storePerWarpGroup(mlir::scf::ForOp tiles);

} // namespace tilewright::gpu
