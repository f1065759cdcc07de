// The cut of a loop's iteration into two parts, of which the second one runs one iteration late (two_stage_pipeline.cpp).
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tilewright::gpu {

/// The parts of an iteration. The first MMA belongs to the first one. The last MMA, and all that depends on it, belong to the second one.
class TwoStages {
public:
  explicit TwoStages(mlir::scf::ForOp loop);
  /// True if the parts can be separated: the second one only computes and multiplies, and everything that it takes can be carried.
  bool areSeparable();
  /// Adds to the second part waits for copies that only it reads, what tells after its wait that an iteration's copies have been read, and
  /// what gives a value another shape. Reports a bug if a barrier wait has no reader after it.
  mlir::LogicalResult addWaitsAndShapes();

  bool isInSecond(mlir::Operation *op) const { return op && second.contains(op); }
  bool isInSecond(mlir::BlockArgument carried) const;
  /// What the second part reads from the first one, or from the iteration's number, also in regions of its operations.
  llvm::SetVector<mlir::Value> forwarded() const;

  mlir::scf::ForOp loop;
  mlir::Block *body;
  ttg::MmaAsyncOp firstMma, lastMma; ///< null if there is none

private:
  bool isOfSecond(mlir::Value value) const;
  bool isOnlyForSecond(mlir::Value value) const;
  void addUsers(mlir::Value value);
  void add(mlir::Operation *op);

  llvm::SmallPtrSet<mlir::Operation *, 32> second;
};

} // namespace tilewright::gpu
