// The stages of a circular buffer, which iterations use alternately: stage and parity are carried, so that nothing is divided.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tilewright::gpu {

mlir::Value i32Constant(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// Which of `stages` stages an iteration uses, and the parity of the phase of the stage's mbarriers, which holds for one way around the
/// circular buffer. `parity` is null where no mbarriers belong to the stages.
struct StageState {
  StageState() = default;
  StageState(mlir::Value index, mlir::Value parity, int64_t stages) : index(index), parity(parity), stages(stages) {}
  StageState(mlir::ValueRange carried, int64_t stages) : StageState(carried[0], carried[1], stages) {}
  llvm::SmallVector<mlir::Value> values() const { return {index, parity}; }

  /// The state of the next iteration.
  StageState next(mlir::OpBuilder &b, mlir::Location loc) const;
  /// True if the loop, which carries this state, passes what next() returns to its next iteration.
  bool advancesIn(mlir::scf::ForOp loop) const;
  /// The state that many iterations later, an i32 less than 2 * stages.
  StageState after(mlir::OpBuilder &b, mlir::Location loc, mlir::Value iterations) const;
  /// The stage so many iterations later, or earlier if that is negative: `stages` at most.
  mlir::Value indexAfter(mlir::OpBuilder &b, mlir::Location loc, int64_t iterations) const;
  /// The parity of the phase before, which mbarriers have. A fresh barrier has completed the phase of parity 1.
  mlir::Value previousParity(mlir::OpBuilder &b, mlir::Location loc) const;

  mlir::Value index, parity;
  int64_t stages = 1;
};

/// The type of a buffer of `depth` tiles like this one.
ttg::BufferType withDepth(ttg::BufferType type, int64_t depth);
/// Replaces the buffer of one tile by one with the state's stages, allocated at the insertion point. The loop's operations use the state's
/// stage, which is known in its body.
void replaceByStages(mlir::OpBuilder &b, ttg::AllocOp alloc, mlir::scf::ForOp loop, const StageState &state);

} // namespace tilewright::gpu
