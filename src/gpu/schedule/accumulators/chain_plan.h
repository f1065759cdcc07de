// Which loops get a warp of their own for their MMAs, if threads compute between these (chain_partition.h), and where their results are.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// An MMA of the loop, in the order of the text.
struct ChainedMma {
  ttg::MmaAsyncOp op;
  bool isEarly = false;                ///< it needs nothing of the threads in its iteration
  std::optional<unsigned> inPlace;     ///< number of the sum that the loop carries and only MMAs change
  std::optional<unsigned> rescaled;    ///< the same of one that threads change before this MMA adds to it
  mlir::Value factors;                 ///< if each row of that sum is multiplied by one number: the tile of these, in the rows' layout
  ttg::MmaAsyncWaitOp wait;            ///< which ends it, if threads need its result
  int64_t lastReader = 0;              ///< the last MMA that reads an operand that threads write for this one
  llvm::SmallVector<int32_t> partEnds; ///< in K: threads write an operand in these parts, and the MMA starts with the first
  std::optional<size_t> columnsOf;     ///< the early MMA in the columns of whose result operand A is: threads have loaded that before
};

struct ChainLoop {
  llvm::SmallVector<ChainedMma> mmas;
  llvm::MapVector<mlir::Value, ttg::BarrierWaitOp> fullWaits;          ///< by barriers
  llvm::SmallVector<std::pair<ttg::BarrierArriveOp, size_t>> releases; ///< and the MMA after which it stands
  llvm::SmallVector<ttg::MmaAsyncWaitOp> waits;
  bool prefetches = false;        ///< early MMAs run an iteration ahead, under the threads' computation: their results have two tiles
  bool interleaves = false;       ///< early MMAs of the next iteration follow the late ones of this one, row group by row group
  std::optional<size_t> pingPong; ///< row groups compute this MMA's operand one after the other

  int64_t depthOf(const ChainedMma &mma) const { return mma.isEarly && prefetches ? 2 : 1; }
};

struct ChainPlan {
  llvm::MapVector<mlir::Operation *, ChainLoop> loops;
  llvm::DenseMap<mlir::Operation *, mlir::Value> fullBarriers; ///< by the buffers that a producer fills
  int64_t columns = 0;                                         ///< of tensor memory
  int64_t rowGroups = 1;      ///< warp groups that have 128 rows of all tiles to themselves, with MMAs and barriers of their own
  bool hasCorrection = false; ///< a warp group multiplies sums by the factors of their rows
};

/// Fails if the kernel's MMAs cannot get a partition.
Result<ChainPlan> planChains(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

/// Two tiles of the factors of an MMA's sum.
ttg::BufferType factorBufferOf(const ChainedMma &mma);

} // namespace tilewright::gpu
