// A warp of its own for the MMAs of loops that only accumulate.
#pragma once

#include "gpu/schedule/accumulators/tensor_columns.h"
#include "support/result.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// A loop that only accumulates.
struct AccumulationLoop {
  llvm::SmallVector<ttg::MmaAsyncOp> mmas;
  llvm::MapVector<unsigned, TensorTile> sums; ///< by the number of the loop's result
  int64_t depth = 1;                          ///< tiles of each sum
  ScaleColumns scales;
};

struct AccumulationPlan {
  llvm::MapVector<mlir::Operation *, AccumulationLoop> loops;
  int64_t columns = 0; ///< of tensor memory
  bool paired = false; ///< the MMAs are those of a pair of CTAs
};

/// True if the MMAs are those of a pair of CTAs.
bool multipliesInPairs(tt::FuncOp function);
/// Fails if no warp of its own can issue the kernel's MMAs, however they depend on what threads compute.
Result<void> checkMmaWarp(tt::FuncOp function);
/// Plans the MMA partition of a warp-specialized kernel whose loops do nothing but MMAs that accumulate in place from zero, of operands
/// that a producer copies.
Result<AccumulationPlan> planAccumulation(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// Gives the MMAs to a partition, as planned: sets `ttg.partition` on the operations.
mlir::LogicalResult expandAccumulation(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan plan);

} // namespace tilewright::gpu
