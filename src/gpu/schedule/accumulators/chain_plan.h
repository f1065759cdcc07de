// A warp of its own for the MMAs of loops in which threads compute between dots: which loops get one, and where their results are.
#pragma once

#include "gpu/schedule/accumulators/tensor_columns.h"
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
  std::optional<unsigned> carried;     ///< number of the sum that the loop carries in tensor memory, if its result is one
  bool isRescaled = false;             ///< threads change that sum before this MMA adds to it; otherwise only MMAs do
  bool storesInit = false;             ///< threads store what that sum starts from; otherwise the first MMA overwrites it
  mlir::Value factors;                 ///< if each row of that sum is multiplied by one number: the tile of these, in the rows' layout
  std::optional<size_t> factorBuffer;  ///< of the plan, if the correction partition multiplies by the factors
  ttg::MmaAsyncWaitOp wait;            ///< which ends it, if threads need its result
  size_t lastReader = 0;               ///< the last MMA that reads an operand that threads write to shared memory for this one
  llvm::SmallVector<int32_t> partEnds; ///< in K: threads write the operands in these parts, and the MMA starts with the first
  TensorTile result;
  std::optional<TensorTile> operand; ///< operand A, if it is in tensor memory
  std::optional<size_t> columnsOf;   ///< the early MMA in the columns of whose result operand A is: threads have loaded that before

  /// True if only MMAs change the carried sum.
  bool isInPlace() const { return carried && !isRescaled; }
  /// True if the operand has two tiles, and threads need not wait before they write one: the previous iteration's MMA reads the other one,
  /// and the MMA before that was complete before the scores in whose columns the operand is. The sum is the correction partition's.
  bool hasOtherTile() const { return operand && operand->depth > 1 && factorBuffer; }
  /// The parts in which threads write its operands. An early MMA waits for none.
  int64_t partCount() const { return isEarly ? 0 : std::max(int64_t(partEnds.size()), int64_t(1)); }
};

struct ChainLoop {
  llvm::SmallVector<ChainedMma> mmas;
  llvm::MapVector<mlir::Value, ttg::BarrierWaitOp> fullWaits;          ///< by barriers
  llvm::SmallVector<std::pair<ttg::BarrierArriveOp, size_t>> releases; ///< and the MMA after which it stands
  llvm::SmallVector<ttg::MmaAsyncWaitOp> waits;
  size_t lastLate = 0;            ///< the last MMA that is not early
  bool prefetches = false;        ///< early MMAs run an iteration ahead, under the threads' computation: their results have two tiles
  bool interleaves = false;       ///< early MMAs of the next iteration follow the late ones of this one, row group by row group
  std::optional<size_t> pingPong; ///< row groups compute this MMA's operand one after the other
};

constexpr int64_t barriersOfLoop = 2; ///< before its first iteration, and after its last one
constexpr int64_t factorTiles = 2;    ///< of the correction partition, for each sum

struct ChainPlan {
  llvm::MapVector<mlir::Operation *, ChainLoop> loops;
  llvm::DenseMap<mlir::Operation *, mlir::Value> fullBarriers; ///< by the buffers that a producer fills
  int64_t columns = 0;                                         ///< of tensor memory
  int64_t rowGroups = 1; ///< warp groups that have 128 rows of all tiles to themselves, with MMAs and barriers of their own
  /// The tiles of factors for the correction partition, a warp group that multiplies sums by them. Loops use the same ones.
  llvm::SmallVector<ttg::BufferType> factorBuffers;

  /// Bytes of shared memory that the barriers take.
  int64_t barrierBytes() const;
};

/// Plans the MMA partition of a warp-specialized kernel in which some MMAs need what threads compute in the same iteration, as in
/// attention. Fails if the kernel has other loops with MMAs, MMAs of scaled operands, operands that are neither copied by a producer nor
/// written in their loop or before it, or too many columns of tensor memory.
Result<ChainPlan> planChains(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// Gives the MMAs to a partition, as planned: sets `ttg.partition` on the operations.
mlir::LogicalResult expandChains(tt::FuncOp function, ttg::ConfigAttr config, ChainPlan plan);

} // namespace tilewright::gpu
