// Gives the MMAs of loops a partition, as planned (chained_plan.h). chained_partition.cpp has the frame of a loop and the idea, and each
// role of threads has a file:
//   chained_mmas.cpp         the warp that issues the MMAs
//   chained_consumers.cpp    the warps that compute between them
//   chained_correction.cpp   the warp group that multiplies sums by factors
// A role's functions append its operations to the one program of all warps, and mark those that are not the consumers'.
#pragma once

#include "gpu/schedule/stage_index.h"
#include "gpu/schedule/tensor_memory/chained_dots/chained_plan.h"

#include <vector>

namespace tilewright::gpu {

/// A planned MMA with its tiles, and its barriers (ChainedMmaBarriers).
struct ExpandedMma : ChainedMma {
  explicit ExpandedMma(const ChainedMma &planned) : ChainedMma(planned) {}
  mlir::Value results, operands; ///< tiles of tensor memory: of results, and of operand A
  mlir::Value done, pingPong, factorsFull;
  llvm::SmallVector<mlir::Value> ready;
  mlir::Value factorTiles; ///< of the correction partition
};

/// A loop that is being partitioned.
struct ChainExpansion {
  const ChainPlan &plan;
  ChainLoop &its;
  mlir::scf::ForOp loop;
  mlir::Value zero;       ///< the i32 constant, known in the whole kernel
  mlir::Value count = {}; ///< of iterations, in all runs of the loop
  std::vector<ExpandedMma> mmas = {};
};

//===---------------------------------------------------------------------------------- what the roles share (chained_partition.cpp)

/// The tile or barrier of iteration `number`, of one or two, and the phase's parity.
StageState stageAt(mlir::OpBuilder &b, mlir::Location loc, const ChainExpansion &chain, mlir::Value number, int64_t depth);
/// A stage of an MMA's results.
mlir::Value resultAt(mlir::OpBuilder &b, ExpandedMma &mma, mlir::Value stage);
/// An MMA's operand A in tensor memory, of iteration `number`; null if it is not there.
mlir::Value operandAt(mlir::OpBuilder &b, const ChainExpansion &chain, ExpandedMma &mma, mlir::Value number);
/// The elements of K that are a part of an operand; null if it has one part.
mlir::DenseI32ArrayAttr rangeOfPart(mlir::OpBuilder &b, const ExpandedMma &mma, size_t part);
/// The index of a row group's barrier of a stage: each stage has one for each row group.
mlir::Value barrierOf(mlir::OpBuilder &b, mlir::Location loc, const ChainExpansion &chain, mlir::Value stage, int64_t group);

/// The number of the iteration before.
mlir::Value previousCount(mlir::OpBuilder &b, mlir::Location loc, const ChainExpansion &chain);
/// Another partition's wait for a late MMA of iteration `number`.
ttg::BarrierWaitOp waitForMma(mlir::OpBuilder &b, mlir::Location loc, const ChainExpansion &chain, const ExpandedMma &mma,
                              mlir::Value number, int64_t group);

//===------------------------------------------------------------------------------------------------------------- the roles

/// The MMA warp, in the loop.
void issueMmas(mlir::OpBuilder &b, ChainExpansion &chain);

/// The consumers: before the loop they store what sums start from; in it they wait for results, load them and write operands; after it they
/// load its sums.
void storeInits(mlir::OpBuilder &b, ChainExpansion &chain);
void expandConsumers(mlir::OpBuilder &b, ChainExpansion &chain);
void loadResults(mlir::OpBuilder &b, ChainExpansion &chain);

/// The correction partition: it multiplies the rows of one row group by the iteration's factors.
void correctSum(mlir::OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, mlir::Value factors, const StageState &stage, int64_t group);

} // namespace tilewright::gpu
