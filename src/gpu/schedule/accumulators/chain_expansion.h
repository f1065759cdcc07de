// Gives the MMAs of loops a partition, as planned (chain_plan.h). Three files have the parts: chain_partition.cpp the frame of a loop and
// what both sides share, chain_threads.cpp what threads and the correction partition do, chain_mmas.cpp the program of the MMA warp.
#pragma once

#include "gpu/schedule/accumulators/chain_plan.h"
#include "gpu/schedule/buffers.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <tuple>

namespace tilewright::gpu {

class ChainExpansion {
public:
  ChainExpansion(tt::FuncOp function, ttg::ConfigAttr config, ChainPlan &plan)
      : function(function), config(config), plan(plan), b(function.getContext()) {}
  llvm::LogicalResult run();

private:
  /// Where an MMA of the loop has its operands and results, and its barriers: one for each tile of results and each row group.
  struct Place {
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
  void allocate();
  mlir::Value tileAt(mlir::Type of, int64_t column, int64_t depth, int64_t blockColumns);
  mlir::Value allocBarriers(int64_t count, int64_t arrivals);
  void hoistBuffers();
  void erase();
  bool hasCorrection(const ChainedMma &mma) const { return plan.hasCorrection && mma.factors; }

  // ---- both sides (chain_partition.cpp)
  mlir::Value i32(mlir::Location loc, int64_t value);
  std::pair<mlir::Value, mlir::Value> stageAt(mlir::Location loc, mlir::Value number, int64_t depth);
  mlir::Value stageOf(size_t number, mlir::Value stage);
  int64_t operandDepthOf(const ChainedMma &mma) const { return mma.columnsOf ? its->depthOf(its->mmas[*mma.columnsOf]) : 1; }
  mlir::Value operandAt(size_t number, mlir::Value iteration);
  mlir::DenseI32ArrayAttr rangeOfPart(size_t number, size_t part);
  mlir::Value barrierOf(mlir::Location loc, mlir::Value stage, int64_t group);
  mlir::Operation *waitFor(mlir::Location loc, mlir::Value barriers, mlir::Value index, mlir::Value parity);
  bool startsFromZero(const ChainedMma &mma) const;

  // ---- threads (chain_threads.cpp)
  void storeInits();
  void expandThreads();
  void writeOperands(size_t number);
  mlir::Value waitForPreviousGroup(size_t number);
  void waitForReaders();
  void waitForPrevious(mlir::Location loc, size_t number);
  bool hasOtherTile(size_t number) const;
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
  void issueLate(Iteration &its, size_t number, int64_t group, mlir::Value isLater);
  void issueEarly(Iteration &its, int64_t group);
  void issueNext(Iteration &next, mlir::Value exists, mlir::Value before, int64_t group);
  void waitForColumns(mlir::Value count, int64_t group);
  void waitForCopies(Iteration &its, const ChainedMma &mma);
  void multiply(Iteration &its, size_t number, int64_t group, mlir::Value result, mlir::Value accumulate,
                mlir::DenseI32ArrayAttr kRange = {});
  void commit(Iteration &its, size_t number, int64_t group, mlir::Value stage);
  Iteration thisIteration();
  Iteration nextIteration(mlir::Location loc);
  static mlir::Value stageFor(const Iteration &its, mlir::Value index);
  mlir::Value forIteration(const Iteration &its, mlir::Value buffer);
  void inBranch(mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> emit);

  tt::FuncOp function;
  ttg::ConfigAttr config;
  ChainPlan &plan;
  mlir::OpBuilder b;
  llvm::DenseMap<std::tuple<int64_t, int64_t, mlir::Type>, mlir::Value> tiles; ///< by column, depth and type
  llvm::DenseMap<std::pair<mlir::Type, int64_t>, mlir::Value> factorBuffers;   ///< by type and number in the loop
  mlir::Value address, zero;

  // The loop that is being partitioned.
  mlir::scf::ForOp loop;
  ChainLoop *its = nullptr;
  llvm::SmallVector<Place> places; ///< of its MMAs
  mlir::Value count;               ///< of iterations, in all runs of the loop
};

} // namespace tilewright::gpu
