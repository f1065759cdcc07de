// The order of MMAs within an iteration, and the waits at which they end. schedule-mmas decides it and writes it on the loop as the
// attribute `ttg.mma_schedule`; overlap-mmas reads it and moves the operations. The last MMA of the body starts second here:
//   #ttg.mma_schedule<ops [<0>, <3 moves true>, <1>] edges [<0 -> 1 distance 0>]>
#pragma once

#include "gpu/schedule/mma_waits.h"
#include "support/result.h"

namespace tilewright::gpu {

struct MmaSchedule {
  mlir::scf::ForOp loop;
  llvm::SmallVector<std::pair<mlir::Operation *, bool>> ops; ///< named operations in their final order, and whether they move
  llvm::SmallVector<MmaEdge> edges;                          ///< in the order of the waits that have had these operations before
};

/// True if threads compute a tile of f32: each element from those at its index. Such a tile may pass through a wait that comes after it.
bool isTileOfNumbers(mlir::Operation *op);
/// Checks that an iteration in the new order computes the same. An operation comes after what it uses; nothing writes or releases what an
/// MMA reads, from where it is issued to where it ends; and it has ended before its result is used (verify_mma_schedule.cpp).
Result<void> verify(const MmaSchedule &schedule);
/// Writes the schedule as an attribute of its loop, with `ttg.id` on the operations that it names.
void writeMmaSchedule(const MmaSchedule &schedule);
/// Reads the schedule back, and removes it and the ids. Reports an error if it names an operation that the loop does not have, or an edge
/// that does not lead from an MMA or arithmetic to a wait, or if verify() fails.
mlir::FailureOr<MmaSchedule> takeMmaSchedule(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
