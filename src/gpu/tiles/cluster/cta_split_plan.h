// Decides how each tile of a program is split across the CTAs of a cluster, before anything changes. split_ctas.cpp says what a split is
// for, and applies the plan.
#pragma once

#include "gpu/tiles/cluster/split_k_in_cluster.h"
#include "gpu/tiles/cluster/uneven_n_split.h"
#include "gpu/tiles/cta_split.h"
#include "gpu/ttg/tile_equivalence.h"

#include "mlir/Analysis/Liveness.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

/// The splits that an operation requires of its operands and gives its results. Entries for scalars are unused.
struct OpSplits {
  llvm::SmallVector<CtaSplit> operands, results;
};

class CtaSplitPlan {
public:
  CtaSplitPlan(tt::FuncOp function, int64_t warps, int64_t ctas, SplitK alongK, const GpuTarget &target);

  int64_t getCtas() const { return ctas; }
  /// Returns the operations of the function, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// True if each user of a tile computes it in its own split.
  bool isRematerializable(mlir::Value tile) const { return rematerializable.contains(tile); }
  /// Returns the split of the tile's class. A rematerializable value has the default split, with which a class starts.
  CtaSplit splitOf(mlir::Value tile) const;
  OpSplits splitsOf(mlir::Operation *op) const;
  const SplitK &getSplitK() const { return alongK; }
  /// Returns how the columns of dots are split, if unevenly.
  const std::optional<UnevenSplit> &getUnevenSplit() const { return unevenSplit; }

  /// Returns the accumulator bits of a tile in one CTA.
  int64_t accumulatorBits(mlir::Value tile) const;
  /// Returns the maximum number of registers of a thread, with `threads` threads, that tiles occupy across a reduction: tiles that exist
  /// before it and are used after it.
  int64_t registersAtReductions(const mlir::Liveness &liveness, int64_t threads) const;

private:
  using Shape = llvm::ArrayRef<int64_t>;
  using Moves = llvm::MapVector<mlir::Value, CtaSplit>; ///< by class leader

  void noteShape(mlir::Value value);
  void collect();
  mlir::Value leaderOf(mlir::Value value) const;
  /// Returns the maximum number of bits of tiles that exist before a reduction of the block and are used after it.
  int64_t bitsAtReductions(mlir::Block *block, const mlir::LivenessBlockInfo &live) const;
  Shape shapeOf(mlir::Value tile) const { return shapes.find(tile)->second; }
  int64_t elementsOf(mlir::Value tile) const;
  bool canSplit(Shape shape, int64_t dim) const { return shape[size_t(dim)] >= ctas; }
  CtaSplit firstOf(Shape shape) const;

  CtaSplit splitOfAny(mlir::ValueRange tiles) const;
  CtaSplit splitOfDot(tt::DotOp dot) const;
  CtaSplit splitOfDot(tt::DotScaledOp dot) const;
  OpSplits splitsOfDot(tt::DotOp dot) const;
  OpSplits splitsOfDot(tt::DotScaledOp dot) const;
  OpSplits splitsOfControlFlow(mlir::Operation *op) const;
  OpSplits splitsOfReduction(tt::ReduceOp op) const;
  OpSplits splitsOfShape(mlir::Operation *op) const;

  bool slicesStay() const;
  bool columnsAlone() const;
  bool splitsColumnsAlone(mlir::Value tile, CtaSplit split, llvm::DenseSet<std::pair<mlir::Value, int64_t>> &seen) const;

  int64_t changeCost(mlir::Value tile, CtaSplit from, CtaSplit to) const;
  int64_t costOf(mlir::Operation *op) const;
  CtaSplit startOf(mlir::Value tile) const;
  void startAs(mlir::Value tile, CtaSplit split);
  void choose();
  bool improve(mlir::Value leader, const llvm::DenseSet<mlir::Value> &fixed);
  void moveWithSources(mlir::Value leader, CtaSplit split, const llvm::DenseSet<mlir::Value> &fixed, Moves &moves);

  tt::FuncOp function;
  int64_t warps, ctas;
  const GpuTarget &target;
  SplitK alongK;
  std::optional<UnevenSplit> unevenSplit;
  RematerializableTiles rematerializable;
  TileEquivalence classes;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> started;
  llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t>> shapes; // in program order
  llvm::SmallVector<mlir::Value> leaders;                          // likewise
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> touching;
  llvm::DenseMap<mlir::Value, CtaSplit> chosen; // by class leader
};

/// Returns the split of the operand of expand_dims, broadcast or trans for a split of its result.
CtaSplit sourceSplit(mlir::Operation *op, CtaSplit split);

} // namespace tilewright::gpu
