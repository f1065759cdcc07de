// The part of a kernel that some of its operations need to run: loops and branches around them, and scalars that are computed. A warp that
// starts copies runs a program of its own; this is what it has in common with those of the other partitions.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::gpu {

class Skeleton {
public:
  /// Of what lies in `within`, a function or a loop: its arguments are there. `tiles`: a warpgroup runs it, which may hold and read tiles.
  explicit Skeleton(mlir::Operation *within, bool tiles = false) : within(within), tiles(tiles) {}
  /// The operation, and all that it needs.
  void keep(mlir::Operation *op);
  void need(mlir::Value value);
  bool needs(mlir::Value value) const { return needed.contains(value); }
  /// The launch guards under which all of it can be computed a second time, by one warp or by a warpgroup. Nothing if it cannot. The kernel
  /// does not write what one warp loads. A warpgroup of a partition may load what the kernel writes later: all that it computes goes to the
  /// consumers, which wait for it before they execute what follows its outermost loop.
  std::optional<LaunchGuards> guardsToCompute() const;
  /// The kept operations of a block, at the builder's insertion point.
  void clone(mlir::Block &from, mlir::OpBuilder &b, mlir::IRMapping &map) const;
  /// The same of one loop.
  mlir::scf::ForOp clone(mlir::scf::ForOp loop, mlir::OpBuilder &b, mlir::IRMapping &map) const;

private:
  bool canCompute(mlir::Value result);
  void clone(mlir::scf::IfOp branch, mlir::OpBuilder &b, mlir::IRMapping &map) const;

  mlir::Operation *within;
  bool tiles;
  llvm::DenseSet<mlir::Operation *> included;
  llvm::DenseSet<mlir::Value> needed;
  bool computable = true;
  llvm::SmallVector<tt::LoadOp> loads;
};

} // namespace tilewright::gpu
