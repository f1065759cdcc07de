// The parts of pipeline-loops: how one loop gets what its LoopSchedule says. Each file makes one part:
//   stage_buffers.cpp        circular buffers, their mbarriers, and the stage that an iteration reads
//   issue_copies.cpp         copies of later iterations, before the loop and in it, and the waits for them
//   expand_partitions.cpp    a producer warp that copies, and the consumers that release what they have read
//   expand_tiles.cpp         first copies of the next tile, in a persistent loop
//   pipeline_loops.cpp       the order of these parts
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/stage_index.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

/// The buffers and barriers of a circular buffer.
struct StageBuffers {
  llvm::SmallVector<mlir::Value> buffers; ///< one for each copy
  mlir::Value full;                       ///< mbarriers at which TMA copies arrive
  mlir::Value empty;                      ///< mbarriers at which readers arrive; set if copies have a producer
  int64_t bytes = 0;                      ///< of an iteration's copies
};

/// A loop that is being rewritten.
struct Expansion {
  Expansion(tt::FuncOp function, ttg::ConfigAttr config, LoopSchedule &schedule);

  tt::FuncOp function;
  ttg::ConfigAttr config;
  LoopSchedule &schedule;
  mlir::OpBuilder b;
  mlir::Location loc;
  int64_t stages;
  bool copyAsync;                                      ///< some circular buffer is filled by cp.async
  bool fence;                                          ///< TMA writes where threads read
  bool firstWarp;                                      ///< with a producer: only the first warp of the consumers releases stages
  std::vector<StageBuffers> stageBuffers;              ///< of each circular buffer
  std::vector<llvm::SmallVector<mlir::Value>> sources; ///< operands of each circular buffer's loads, in an iteration
  mlir::Value computedEmpty;            ///< mbarriers at which readers of computed operands arrive; null: those of the copies
  StageState stage;                     ///< of an iteration
  mlir::Operation *lastStage = nullptr; ///< the stages of an iteration stand at its top, up to here
  mlir::Operation *top = nullptr;       ///< and what else stands there, up to here
  mlir::Operation *drained = nullptr;   ///< the wait that drains the previous iteration's MMAs; null: none are in flight
  ttg::BarrierWaitOp arrival;           ///< the wait for what the shifted MMA reads; null if there is none

  /// Returns where something after `op` stands: after the wait that drains the previous iteration, if `op` is what it stands at.
  mlir::Operation *positionOf(mlir::Operation *op) const;
  /// Gives the operation to the producer warp, if the loop has one.
  void assignToProducer(mlir::Operation *op);
};

/// Carries out the schedules of a kernel's loops, as the step pipeline-loops does.
mlir::LogicalResult pipelineLoops(tt::FuncOp function, ttg::ConfigAttr config);

//===------------------------------------------------------------------------------------------------------- stage_buffers.cpp

/// Allocates the circular buffers and their full barriers, before the loop or before the persistent loop around it.
void allocateStages(Expansion &e);
/// Allocates empty barriers. Circular buffers that are released at the same place share them.
void allocateEmpty(Expansion &e);
/// Returns the empty barriers, each once.
llvm::SetVector<mlir::Value> emptyBarriers(const Expansion &e);
/// Lets the loop carry the stage and the parity of its iteration, which begin with `first`.
void carryStage(Expansion &e, const StageState &first);
/// Lets readers read this iteration's stages in place of the buffers of one tile.
void takeStages(Expansion &e);
/// Lets the MMAs of the schedule stay in flight. Returns the wait that drains those of the previous iteration; null if none stay in flight.
/// A loop whose MMAs are split has that wait already.
mlir::Operation *drainPrevious(Expansion &e);

//===-------------------------------------------------------------------------------------------------------- issue_copies.cpp

/// Starts the copies of one iteration to a circular buffer, at the insertion point. `operands`: those of all loads, one after the other.
/// `exists`: an i1, whether there is such an iteration; null if there is. Returns the copies.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>> issueCopies(Expansion &e, size_t circular, llvm::ArrayRef<mlir::Value> operands,
                                                                  mlir::Value stageIndex, mlir::Value exists);
/// Starts the copies of the first iterations, to the stages from `first` on. `existsAt` and `operandsAt` compute what an iteration needs,
/// where it is needed.
mlir::LogicalResult startFirst(Expansion &e, const StageState &first, llvm::function_ref<mlir::Value(int64_t)> existsAt,
                               llvm::function_ref<llvm::SmallVector<mlir::Value>(size_t, int64_t)> operandsAt);
/// Starts the copies of the first iterations before the loop. `first`: their first stage.
mlir::LogicalResult prologue(Expansion &e, const StageState &first);
/// Starts the copies of later iterations in the loop. Those at the top go to stages that the previous iteration has released.
mlir::LogicalResult refill(Expansion &e);
/// Each thread waits for its own copies by cp.async at the top of an iteration.
void waitForOwnCopies(Expansion &e);
/// Replaces the loads of each circular buffer by a wait before its first reader.
void waitForArrivals(Expansion &e);

//===--------------------------------------------------------------------------------------------------- expand_partitions.cpp

/// The first half of a loop whose copies have a producer: copies, releases and waits, but not yet the next iteration's stage.
mlir::LogicalResult expandPartitions(Expansion &e, const StageState &first);
/// After the loop its last iteration's MMAs have finished, too: releases their stages. `after`: the state after the loop.
mlir::LogicalResult releaseLast(Expansion &e, const StageState &after);
/// A CTA must not end before the other CTAs have told it what they have read: its producer waits until all stages are empty, in the order
/// in which it would fill them. At a barrier of the cluster all warps would wait until their stores have reached memory. Adds the
/// operations to `finalWaits`.
void outlastArrivals(Expansion &e, const StageState &after, llvm::DenseSet<mlir::Operation *> &finalWaits);

//===-------------------------------------------------------------------------------------------------------- expand_tiles.cpp

/// What the first copies of a loop need, in terms of the iteration of the loop around it: of each iteration whether it exists, and the
/// operands of each circular buffer. These values are patterns for those of other tiles.
struct FirstCopies {
  llvm::SmallVector<mlir::Value> exists;
  llvm::SmallVector<llvm::SmallVector<llvm::SmallVector<mlir::Value>>> operands; ///< by circular buffer and iteration
};
/// Starts the copies of the first tile, before the loop over tiles.
mlir::FailureOr<FirstCopies> copyFirstTile(Expansion &e);
/// Starts the copies of the next tile, once all threads have read the stages of this one.
mlir::LogicalResult copyNextTile(Expansion &e, const FirstCopies &copies);

} // namespace tilewright::gpu
