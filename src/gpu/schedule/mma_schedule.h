// The order of MMAs within an iteration, and the waits at which they end. schedule-mmas decides it and writes it on the loop as the
// attribute `ttg.mma_schedule`; overlap-mmas reads it and moves the operations. The attribute has the form of ttg.loop_schedule:
//   #ttg.loop_schedule<policy "overlap-mmas" requested 1 index_stage 0
//     ops [<0 : stage 0 order 1 partition 0>, <3 : stage 0 order 2 partition 0>, <1 : stage 0 order 3 partition 0>] edges [<0 -> 1 distance
//     0>]>
// Operations with odd orders stay where they are. One with an even order moves: it follows those of lower orders, and those of its own
// order that are listed before it. Order 0 is the top of the iteration.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::ttg {
/// On an scf.for: its MmaSchedule. Written by schedule-mmas, removed by overlap-mmas.
constexpr llvm::StringLiteral mmaScheduleName = "ttg.mma_schedule";
} // namespace tilewright::ttg

namespace tilewright::gpu {

/// An MMA that has ended after the wait `until`; of the previous iteration for distance 1. Or arithmetic that the wait must not pass.
struct MmaEdge {
  mlir::Operation *op = nullptr;
  ttg::MmaAsyncWaitOp until;
  int64_t distance = 0;
};

struct MmaSchedule {
  mlir::scf::ForOp loop;
  llvm::SmallVector<std::pair<mlir::Operation *, bool>> ops; ///< named operations in their final order, and whether they move
  llvm::SmallVector<MmaEdge> edges;                          ///< in the order of the waits that have had these operations before
};

/// Writes the schedule as an attribute of its loop, with `ttg.id` on the operations that it names.
void writeMmaSchedule(const MmaSchedule &schedule);
/// Reads the schedule back, and removes it and the ids. Reports an error if it names an operation that the loop does not have, or an edge
/// that does not lead from an MMA or arithmetic to a wait.
mlir::FailureOr<MmaSchedule> takeMmaSchedule(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
