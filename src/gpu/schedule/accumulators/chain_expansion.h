// Gives the MMAs of loops a partition, as planned (chain_plan.h). Three files have the parts: chain_partition.cpp the frame of a loop and
// what both sides share, chain_threads.cpp what threads and the correction partition do, chain_mmas.cpp the program of the MMA warp.
#pragma once

#include "gpu/schedule/accumulators/chain_plan.h"
#include "gpu/schedule/buffers.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

class ChainExpansion {
public:
  ChainExpansion(tt::FuncOp function, ttg::ConfigAttr config, ChainPlan &plan)
      : function(function), config(config), plan(plan), memory(function, plan.columns), b(function.getContext()) {}
  llvm::LogicalResult run();

private:
  /// The tiles of an MMA of the loop, and its barriers: one for each tile of results and each row group.
  struct MmaResources {
    mlir::Value result, operand;           ///< tiles of tensor memory: of results, and of operand A
    mlir::Value done;                      ///< barriers: it is complete
    llvm::SmallVector<mlir::Value> ready;  ///< barriers, for each part of K: threads have written its operands
    mlir::Value pingPong;                  ///< barriers, for each row group: it may compute the operand
    mlir::Value factorBuffer, factorsFull; ///< of the correction partition: two tiles of factors, and barriers that they are there
  };
  /// A full barrier's phase in the iteration for which MMAs are issued.
  struct FullPhase {
    mlir::Value stage, parity, index; ///< `index`: as the loop names the stage
    bool hasWaited = false;
  };
  /// The iteration for which MMAs are issued.
  struct Iteration {
    llvm::MapVector<mlir::Value, FullPhase> full; ///< by barriers
    mlir::Value count;
  };

  // ---- the loop (chain_partition.cpp)
  llvm::LogicalResult partition(mlir::scf::ForOp of, ChainLoop &chain);
  MmaResources allocate(size_t number);
  mlir::Value factorBuffer(size_t number);
  void hoistBuffers();
  void erase();

  // ---- both sides (chain_partition.cpp)
  mlir::Value i32(mlir::Location loc, int64_t value);
  std::pair<mlir::Value, mlir::Value> stageAt(mlir::Location loc, mlir::Value number, int64_t depth);
  mlir::Value stageOf(size_t number, mlir::Value stage);
  mlir::Value operandAt(size_t number, mlir::Value iteration);
  mlir::DenseI32ArrayAttr rangeOfPart(size_t number, size_t part);
  mlir::Value barrierOf(mlir::Location loc, mlir::Value stage, int64_t group);
  mlir::Operation *waitFor(mlir::Location loc, mlir::Value barriers, mlir::Value index, mlir::Value parity, bool perWarpGroup = false);

  // ---- threads (chain_threads.cpp)
  void storeInits();
  void expandThreads();
  void writeOperands(size_t number);
  mlir::Value waitForPreviousGroup(size_t number);
  void waitForReaders();
  void waitForPrevious(mlir::Location loc, size_t number);
  void waitInGroup(mlir::Location loc, mlir::Value barriers, mlir::Value stage, mlir::Value parity);
  void arriveInGroup(mlir::Location loc, mlir::Value barriers, mlir::Value stage);
  void loadResult(size_t number);
  void loadRescaled(size_t number);
  void sendFactors(size_t number);
  void correct(size_t number, mlir::Value factors, mlir::Value stage, mlir::Value parity, int64_t group);
  void loadResults();

  // ---- the MMA partition (chain_mmas.cpp)
  void assign(mlir::Operation *op);
  void issue();
  void issueLate(Iteration &iteration, size_t number, int64_t group, mlir::Value isLater);
  void issueEarly(Iteration &iteration, int64_t group);
  void issueNext(Iteration &next, mlir::Value exists, mlir::Value before, int64_t group);
  void waitForColumns(mlir::Value count, int64_t group);
  void waitForCopies(Iteration &iteration, const ChainedMma &mma);
  void multiply(Iteration &iteration, size_t number, int64_t group, mlir::Value result, mlir::Value accumulate,
                mlir::DenseI32ArrayAttr kRange = {});
  void commit(Iteration &iteration, size_t number, int64_t group, mlir::Value stage);
  Iteration thisIteration();
  Iteration nextIteration(mlir::Location loc);
  static mlir::Value stageFor(const Iteration &iteration, mlir::Value index);
  mlir::Value forIteration(const Iteration &iteration, mlir::Value buffer);
  void inBranch(mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> emit);

  tt::FuncOp function;
  ttg::ConfigAttr config;
  ChainPlan &plan;
  TensorMemory memory;
  const mlir::Value zero = memory.zero();
  mlir::OpBuilder b;
  llvm::DenseMap<size_t, mlir::Value> factorBuffers; ///< by their number in the plan

  // The loop that is being partitioned.
  mlir::scf::ForOp loop;
  ChainLoop *chain = nullptr;
  llvm::SmallVector<MmaResources> resources; ///< of its MMAs
  mlir::Value count;                         ///< of iterations, in all runs of the loop
};

} // namespace tilewright::gpu
