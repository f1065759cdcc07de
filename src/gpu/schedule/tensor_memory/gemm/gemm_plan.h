// A warp of its own for the MMAs of loops that only accumulate: where their sums are.
#pragma once

#include "gpu/schedule/tensor_memory/tensor_accumulators.h"
#include "gpu/schedule/tensor_memory/tensor_columns.h"
#include "support/result.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// A loop that only accumulates.
struct AccumulationLoop {
  llvm::SmallVector<std::pair<ttg::MmaAsyncOp, unsigned>> mmas; ///< with the number of the sum that each adds to
  std::map<unsigned, TensorTile> sums;                          ///< the decided tiles, by the sums' numbers
  ScaleColumns scales;

  /// Tiles of each sum.
  int64_t depth() const { return sums.begin()->second.depth; }
};

struct AccumulationPlan {
  llvm::MapVector<mlir::Operation *, AccumulationLoop> loops;
  int64_t columns = 0; ///< of tensor memory
  bool paired = false; ///< the MMAs are those of a pair of CTAs
};

/// Finds the loops with MMAs, if they do nothing but MMAs that accumulate in place from zero, of operands that a producer copies. Fails
/// otherwise.
Result<AccumulationPlan> findAccumulation(tt::FuncOp function, ttg::ConfigAttr config);
/// Plans the MMA partition of a warp-specialized kernel whose loops do nothing but that.
Result<AccumulationPlan> planAccumulation(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// Gives the MMAs to a partition, as planned: sets `ttg.partition` on the operations.
mlir::LogicalResult expandAccumulation(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan plan);

/// True if the MMAs are those of a pair of CTAs.
bool multipliesInPairs(tt::FuncOp function);
/// Returns `depth` tiles of a sum.
TensorTile sumTileOf(mlir::RankedTensorType sum, int64_t depth, bool paired);
/// Returns the stage of the circular buffers that the MMA reads; null if it reads others.
mlir::Value stageIndexOf(ttg::MmaAsyncOp mma);

} // namespace tilewright::gpu
