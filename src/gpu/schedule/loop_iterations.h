// Values of other iterations of a loop, and values that loops carry.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

/// A scalar that a loop carries, as it will be so many iterations later, which the loop carries as well. Both are indices of carried
/// values.
struct LaterScalar {
  unsigned carried = 0, later = 0;
  int64_t iterations = 0;
};

/// The same arithmetic for another iteration of a loop: clones what a value is computed from, with the induction variable and loop-carried
/// values as they will be then: carried + iterations * increment, where the loop adds the same amount every iteration; a scalar that
/// changes otherwise is computed iteration by iteration. Loads of scalars are cloned, too, with a mask: whether their iteration exists.
/// What has been computed is not computed again, where it can be used.
class LoopIterations {
public:
  explicit LoopIterations(mlir::scf::ForOp loop, llvm::ArrayRef<LaterScalar> scalars = {});
  bool canClone(mlir::Value value);
  /// The loads of the loop that are cloned for `values`, all of which can be cloned. Their caller checks each of them by
  /// ttg::unwrittenGuards.
  llvm::SmallVector<tt::LoadOp> loads(mlir::ValueRange values);
  /// The values outside the loop that ofIteration and existsIteration compute with: those that `values` depend on in the first iteration,
  /// the bounds and the step, and increments. All of `values` can be cloned.
  llvm::SetVector<mlir::Value> sourcesOutside(mlir::ValueRange values);
  /// In the loop, `iterations` later.
  llvm::SmallVector<mlir::Value> later(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iterations);
  /// Before the loop, of its iteration number `iteration`.
  llvm::SmallVector<mlir::Value> ofIteration(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iteration);
  /// The scalars that the loop carries, that `values` of another iteration depend on, and that are computed iteration by iteration.
  llvm::SmallVector<mlir::BlockArgument> recurrences(mlir::ValueRange values);
  /// Returns whether that iteration exists, as an i1.
  mlir::Value existsLater(mlir::OpBuilder &b, int64_t iterations);
  mlir::Value existsIteration(mlir::OpBuilder &b, int64_t iteration);
  /// The number of iterations modulo `modulus`, as an i32, before the loop.
  mlir::Value count(mlir::OpBuilder &b, int64_t modulus);

private:
  bool canClone(mlir::Value value, llvm::DenseSet<mlir::Value> &seen);
  mlir::Value increment(mlir::BlockArgument carried);
  mlir::Value advanced(mlir::OpBuilder &b, mlir::Value start, mlir::Value by, int64_t iterations);
  /// A value of another iteration, and an operation before which it is known; null: it is known at the end of a block.
  struct Clone {
    mlir::Value value;
    mlir::Operation *next = nullptr;
  };
  static bool isKnownAt(mlir::OpBuilder &b, const Clone &clone);
  /// Values of the iteration with this number, counted from the first one or from the present one: by number and value.
  using Clones = llvm::DenseMap<std::pair<int64_t, mlir::Value>, Clone>;
  struct Origin {
    mlir::Value number;                                                 ///< the induction variable there
    llvm::function_ref<mlir::Value(mlir::BlockArgument)> start;         ///< what is carried there
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, int64_t)> exists; ///< whether there is an iteration so many later; null: there is
    Clones &clones;                                                     ///< what has been computed
  };
  mlir::Value clone(mlir::OpBuilder &b, mlir::Value value, const Origin &origin, int64_t iterations);
  mlir::Value argumentOf(mlir::OpBuilder &b, mlir::BlockArgument argument, const Origin &origin, int64_t iterations);
  llvm::SmallVector<mlir::Value> cloneAt(mlir::OpBuilder &b, mlir::ValueRange values, const Origin &origin, int64_t iterations);
  /// The values of the loop that `values` depend on, in all iterations, and the values outside.
  llvm::SetVector<mlir::Value> dependencies(mlir::ValueRange values);
  mlir::scf::ForOp loop;
  Clones ofFirst, ofPresent; ///< counted from the first iteration, and from the present one
};

/// Lets the loop carry, next to each of these scalars, what it will be `iterations` later. So an iteration computes one step, not as many
/// as that. Returns the new loop; `made` gets them.
mlir::scf::ForOp carryLater(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::BlockArgument> scalars, int64_t iterations,
                            llvm::SmallVectorImpl<LaterScalar> &made);
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
