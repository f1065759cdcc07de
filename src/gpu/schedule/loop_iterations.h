// Values of other iterations of a loop, and values that loops carry.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

/// The same arithmetic for another iteration of a loop: clones what a value is computed from, with the induction variable and loop-carried
/// values as they will be then (carried + iterations * increment, where the loop adds the same amount every iteration).
class LoopIterations {
public:
  explicit LoopIterations(mlir::scf::ForOp loop) : loop(loop) {}
  bool canClone(mlir::Value value);
  /// The values outside the loop that ofIteration and existsIteration compute with: those that `values` depend on in the first iteration,
  /// the bounds and the step, and increments. All of `values` can be cloned.
  llvm::SetVector<mlir::Value> sourcesOutside(mlir::ValueRange values);
  /// In the loop, `iterations` later.
  llvm::SmallVector<mlir::Value> later(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iterations);
  /// Before the loop, of its iteration number `iteration`.
  llvm::SmallVector<mlir::Value> ofIteration(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iteration);
  /// Returns whether that iteration exists, as an i1.
  mlir::Value existsLater(mlir::OpBuilder &b, int64_t iterations);
  mlir::Value existsIteration(mlir::OpBuilder &b, int64_t iteration);
  /// The number of iterations modulo `modulus`, as an i32, before the loop.
  mlir::Value count(mlir::OpBuilder &b, int64_t modulus);

private:
  bool canClone(mlir::Value value, llvm::DenseSet<mlir::Value> &seen);
  mlir::Value increment(mlir::BlockArgument carried);
  mlir::Value advanced(mlir::OpBuilder &b, mlir::Value start, mlir::BlockArgument carried, int64_t iterations);
  mlir::Value clone(mlir::OpBuilder &b, mlir::Value value, llvm::DenseMap<mlir::Value, mlir::Value> &map,
                    llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument);
  /// `number`, `start`: the induction variable and what is carried, so many `iterations` before.
  llvm::SmallVector<mlir::Value> cloneAt(mlir::OpBuilder &b, mlir::ValueRange values, mlir::Value number,
                                         llvm::function_ref<mlir::Value(mlir::BlockArgument)> start, int64_t iterations);
  mlir::scf::ForOp loop;
};

/// The loop with more carried values; the caller appends what is yielded for them. The old one is gone.
mlir::scf::ForOp withMoreCarried(mlir::scf::ForOp loop, mlir::ValueRange inits);
/// The same; the condition passes the new values on.
mlir::scf::WhileOp withMoreCarried(mlir::scf::WhileOp loop, mlir::ValueRange inits);
/// Appends what each iteration of the loop yields.
void appendYielded(mlir::scf::ForOp loop, mlir::ValueRange values);
/// The branch with both sides and more results; the caller appends what each side yields for them. The old one is gone.
mlir::scf::IfOp withMoreResults(mlir::scf::IfOp branch, mlir::TypeRange types);
/// State that survives all iterations of all loops around `op`: it starts as `initial` at the function's entry, and at `op`, `update`
/// computes its next value from its present one. Loops and branches around `op` are replaced. Returns the state after all of them.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> carryState(mlir::Operation *op, llvm::ArrayRef<mlir::Value> initial,
                                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> update);

} // namespace tilewright::gpu
