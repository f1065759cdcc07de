// A warp of its own for the MMAs of loops in which threads compute between dots: where their results are, and when they are issued.
#pragma once

#include "gpu/schedule/tensor_memory/chained_dots/chained_loop.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

constexpr int64_t factorTiles = 2; ///< of the correction partition, for each sum

/// The barriers of a loop: the consumers have written what its MMAs need from before it; its MMAs are complete.
struct ChainLoopBarriers {
  BarrierSet start, end;
};

/// The barriers of an MMA, for each row group.
struct ChainedMmaBarriers {
  BarrierSet done;                        ///< for each tile of results: it is complete, and has read its operands
  llvm::SmallVector<BarrierSet, 2> ready; ///< for each part of K: threads have written its operands, and the sum that it adds to
  BarrierSet pingPong;                    ///< the row group may compute the operand
  BarrierSet factorsFull;                 ///< for each tile of factors: the correction partition may read it
};

/// The loops of a kernel, and what is decided about them.
struct ChainPlan : Chains {
  int64_t columns = 0;   ///< of tensor memory
  int64_t rowGroups = 1; ///< warp groups that have 128 rows of all tiles to themselves, with MMAs and barriers of their own
  /// The tiles of factors for the correction partition, a warp group that multiplies sums by them. Loops use the same ones.
  llvm::SmallVector<ttg::BufferType> factorBuffers;

  ChainLoopBarriers loopBarriers() const;
  ChainedMmaBarriers barriersOf(const ChainedMma &mma) const;
  /// Bytes of shared memory that all barriers take, and the address of tensor memory.
  int64_t barrierBytes() const;
};

/// Plans the MMA partition of a warp-specialized kernel in which some MMAs need what threads compute in the same iteration, as in
/// attention. Fails if findChains does, or if the results take too many columns of tensor memory.
Result<ChainPlan> planChains(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// Gives the MMAs to a partition, as planned: sets `ttg.partition` on the operations.
mlir::LogicalResult expandChains(tt::FuncOp function, ChainPlan plan);

/// Returns the tile of operand A in tensor memory: in the columns of `shared`, an early MMA's result, unless that is null.
TensorTile operandTile(mlir::RankedTensorType operand, const TensorTile *shared);
/// Returns the number along K of which the parts of an operand are multiples: of whole MMAs, and whole stores of threads.
int64_t partStepOf(mlir::RankedTensorType operand);
/// Returns the buffer for the tiles of a sum's factors.
ttg::BufferType factorBufferOf(mlir::Value factors);

} // namespace tilewright::gpu
