// The backward slice of some operations: the part of a kernel that they need to run. It has the loops and branches around them, and the
// scalars that they depend on. A warp that starts copies runs such a slice as its program.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::gpu {

class BackwardSlice {
public:
  /// Both slice what lies in `within`, a function or a loop, whose arguments need no computation. A warp group may hold and read tiles.
  static BackwardSlice ofWarp(mlir::Operation *within) { return BackwardSlice(within, Runner::warp); }
  static BackwardSlice ofWarpGroup(mlir::Operation *within) { return BackwardSlice(within, Runner::warpGroup); }

  /// Adds the operation, and all that it needs.
  void keep(mlir::Operation *op);
  void need(mlir::Value value);
  bool needs(mlir::Value value) const { return needed.contains(value); }
  /// Returns the launch guards under which one warp, or a warp group, can compute the slice a second time; or why it cannot. The kernel
  /// does not write what one warp loads. A warp group of a partition may load what the kernel writes later: all that it computes goes to
  /// the consumers, which wait for it before they execute what follows its outermost loop.
  Result<LaunchGuards> guardsToCompute() const;
  /// Returns the operation that cannot be computed a second time; null if there is none.
  mlir::Operation *obstacle() const;
  /// Clones the slice's operations of a block, at the builder's insertion point.
  void clone(mlir::Block &from, mlir::OpBuilder &b, mlir::IRMapping &map) const;
  /// Clones a loop with the values that the slice needs it to carry.
  mlir::scf::ForOp clone(mlir::scf::ForOp loop, mlir::OpBuilder &b, mlir::IRMapping &map) const;

private:
  enum class Runner : uint8_t { warp, warpGroup };
  BackwardSlice(mlir::Operation *within, Runner runner) : within(within), runner(runner) {}

  void cannotCompute(mlir::Operation *op, const char *why);
  void checkComputable(mlir::Value result);
  Result<LaunchGuards> guardsOf(tt::LoadOp load) const;
  void clone(mlir::scf::IfOp branch, mlir::OpBuilder &b, mlir::IRMapping &map) const;

  mlir::Operation *within;
  Runner runner;
  llvm::DenseSet<mlir::Operation *> included;
  llvm::DenseSet<mlir::Value> needed;
  mlir::Operation *notComputable = nullptr; ///< the first one
  const char *why = nullptr;                ///< it is not
  llvm::SmallVector<tt::LoadOp> loads;
};

} // namespace tilewright::gpu
