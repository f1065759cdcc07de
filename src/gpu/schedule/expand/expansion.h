// The parts of pipeline-loops: how one loop gets what its LoopSchedule says. Each file makes one part, and decides nothing. Parts share
// what does not change while they run. What one of them makes, the next one gets as an argument.
#pragma once

#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/stage_index.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

/// The buffers and barriers of a circular buffer that copies fill.
struct StageBuffers {
  llvm::SmallVector<mlir::Value> buffers; ///< one for each copy
  mlir::Value full;                       ///< mbarriers at which TMA copies arrive
  mlir::Value empty;                      ///< mbarriers at which readers arrive; set if copies have a producer
  int64_t arrivals = 0;                   ///< that complete a phase of them
  bool firstWarp = false;                 ///< of the consumers, only the first warp arrives there
  int64_t bytes = 0;                      ///< of an iteration's copies
};

/// What a loop uses of shared memory. A later loop may continue with it.
struct LoopBuffers {
  std::vector<StageBuffers> ofCopies; ///< of each circular buffer
  mlir::Value computedFull;           ///< mbarriers at which an operand partition arrives; null if there is none
  mlir::Value computedEmpty;          ///< mbarriers at which readers of computed operands arrive; null: those of the copies

  /// Returns the empty barriers of copies, each once, and whether only the first warp arrives there.
  llvm::MapVector<mlir::Value, bool> empty() const;
  /// True if the circular buffers are like those that the schedule needs, and have a producer.
  bool fit(const LoopSchedule &schedule, ttg::ConfigAttr config) const;
};

/// A loop that is being rewritten.
struct Expansion {
  tt::FuncOp function;
  ttg::ConfigAttr config;
  const LoopSchedule &schedule;
  const LoopBuffers &buffers;
  StageState first;                         ///< the stage of the first iteration
  StageState stage;                         ///< and of an iteration, which the loop carries
  llvm::ArrayRef<LaterScalar> scalars = {}; ///< scalars of later iterations, which the loop carries as well

  mlir::Location loc() const { return mlir::scf::ForOp(schedule.loop).getLoc(); }
  mlir::OpBuilder builder() const { return mlir::OpBuilder(config.getContext()); }
  /// Returns where something after `op` stands: after `drained`, the wait that drains the previous iteration, if `op` is what it stands at.
  mlir::Operation *positionOf(mlir::Operation *op, mlir::Operation *drained) const;
  /// Gives the operation to the producer warp, if the loop has one.
  void assignToProducer(mlir::Operation *op) const;
};

/// An iteration after its rewriting, but for the next iteration's stage.
struct ExpandedIteration {
  mlir::Operation *top = nullptr;         ///< what stands at its top ends here
  ttg::BarrierWaitOp shiftedArrival = {}; ///< the wait for what the shifted MMA reads; null if there is none
};

/// True if a circular buffer of the loop is filled by cp.async.
bool hasAsyncCopies(const LoopSchedule &schedule);

//===------------------------------------------------------------------------------------------------------- stage_buffers.cpp

/// Allocates the circular buffers and their barriers, before the loop or before the persistent loop around it. Circular buffers that are
/// released at the same place share empty barriers.
LoopBuffers allocateBuffers(tt::FuncOp function, ttg::ConfigAttr config, const LoopSchedule &schedule);
/// Lets readers read this iteration's stages in place of the buffers of one tile. Returns the last of the stages, which stand at the top.
mlir::Operation *takeStages(const Expansion &e);
/// Lets the MMAs of the schedule stay in flight. Returns the wait that drains those of the previous iteration; null if none stay in flight.
/// A loop whose MMAs are split has that wait already.
mlir::Operation *drainPrevious(const Expansion &e);

//===-------------------------------------------------------------------------------------------------------- issue_copies.cpp

/// Starts the copies of one iteration to a circular buffer. `operands`: those of all loads, one after the other. `exists`: an i1, whether
/// there is such an iteration; null if there is. Returns the copies.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>> issueCopies(const Expansion &e, mlir::OpBuilder &b, size_t circular,
                                                                  llvm::ArrayRef<mlir::Value> operands, mlir::Value stageIndex,
                                                                  mlir::Value exists);
/// Starts the copies of the first iterations, to the stages from `first` on. `existsAt` and `operandsAt` compute what an iteration needs,
/// where it is needed.
mlir::LogicalResult startFirst(const Expansion &e, mlir::OpBuilder &b, const StageState &first,
                               llvm::function_ref<mlir::Value(int64_t)> existsAt,
                               llvm::function_ref<llvm::SmallVector<mlir::Value>(size_t, int64_t)> operandsAt);
/// Lets the loop carry the scalars of later iterations that its copies need, and that would otherwise be computed step by step in each.
llvm::SmallVector<LaterScalar> carryForCopies(LoopSchedule &schedule);
/// Starts the copies of the first iterations before the loop.
mlir::LogicalResult prologue(const Expansion &e);
/// Starts the copies of later iterations in the loop: those at the top go to stages that the previous iteration has released. `drained` is
/// the wait that drains the previous iteration. Returns the new end of the top.
mlir::FailureOr<mlir::Operation *> refill(const Expansion &e, mlir::Operation *top, mlir::Operation *drained);
/// Each thread waits for its own copies by cp.async at the top of an iteration. Returns the new end of the top.
mlir::Operation *waitForOwnCopies(const Expansion &e, mlir::Operation *top);
/// Replaces the loads of each circular buffer by a wait before its first reader. Returns the wait for what the shifted MMA reads.
ttg::BarrierWaitOp waitForArrivals(const Expansion &e);

//===--------------------------------------------------------------------------------------------------- expand_partitions.cpp

/// Rewrites an iteration whose copies have a producer: copies, releases and waits.
mlir::FailureOr<ExpandedIteration> expandPartitions(const Expansion &e);
/// After the loop its last iteration's MMAs have finished, too: releases their stages. `after`: the state after the loop.
mlir::LogicalResult releaseLast(const Expansion &e, const StageState &after);
/// A CTA must not end before the other CTAs have told it what they have read: its producer waits until all stages are empty, in the order
/// in which it would fill them. At a barrier of the cluster all warps would wait until their stores have reached memory. Returns the
/// operations.
llvm::SmallVector<mlir::Operation *> outlastArrivals(tt::FuncOp function, mlir::Location loc, const LoopBuffers &buffers,
                                                     const StageState &after);

//===-------------------------------------------------------------------------------------------------------- expand_tiles.cpp

/// What the first copies of a loop need, in terms of the iteration of the loop around it: of each iteration whether it exists, and the
/// operands of each circular buffer. These values are patterns for those of other tiles.
struct FirstCopies {
  llvm::SmallVector<mlir::Value> exists;
  llvm::SmallVector<llvm::SmallVector<llvm::SmallVector<mlir::Value>>> operands; ///< by circular buffer and iteration
};
/// Starts the copies of the first tile, before the loop over tiles.
mlir::FailureOr<FirstCopies> copyFirstTile(const Expansion &e);
/// Starts the copies of the next tile, once all threads have read the stages of this one.
mlir::LogicalResult copyNextTile(const Expansion &e, const FirstCopies &copies);

//===------------------------------------------------------------------------------------------------------ register_loads.cpp

/// Returns the mask of a load that is made only if `exists`, an i1, is true. `mask`: that of the load; null if it has none.
mlir::Value maskWhere(mlir::OpBuilder &b, tt::LoadOp load, mlir::Value exists, mlir::Value mask);
/// Runs the schedule's `registerLoads` an iteration ahead: at the top of the loop, or after an operation.
void prefetchRegisterLoads(LoopSchedule &schedule, llvm::function_ref<mlir::Operation *(tt::LoadOp)> after = {});

//===--------------------------------------------------------------------------------------------------------- widen_loads.cpp

/// Replaces a load by a load of words, each of which holds the elements of several iterations. The next words are loaded an iteration
/// early, before `insertionPoint`. `registers`: those of a thread that may hold words. False if no word holds several iterations.
bool widenLoad(LoopSchedule &schedule, tt::LoadOp load, int64_t registers, mlir::Operation *insertionPoint);

//===-------------------------------------------------------------------------------------------------------- multi_buffer.cpp

/// Gives each buffer that threads fill for MMAs several stages, which iterations use alternately: one is filled while MMAs read the others.
void multiBuffer(LoopSchedule &schedule);
/// Marks the fence after the computed operands, so that threads store each part of them before they compute the next one
/// (thread/interleave_stores.cpp).
void markInterleavedStores(const LoopSchedule &schedule);

//===---------------------------------------------------------------------------------------------------- stores_in_flight.cpp

/// Lets the stores of a loop stay in flight until their buffer is written again. `perWarpGroup`: each of two warp groups stores the rows
/// that it holds, and only synchronizes its own warps (perWarpGroupGuards).
void keepStoresInFlight(mlir::scf::ForOp loop, bool perWarpGroup);

//===-------------------------------------------------------------------------- prefetch_mma.cpp and two_stage_pipeline.cpp

/// Starts the schedule's `shiftedMma` of the next iteration at the top of each, where `next` is known, and carries its result. `arrival`
/// waits for its circular buffer; `first`: the state of the first iteration, `next`: of the next one. Returns the loop that has taken the
/// place of the schedule's.
mlir::scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, const StageState &first, const StageState &next);
/// Cuts an iteration of the loop in two (TwoStages): the loop has one iteration less, and the missing parts stand before and after it.
/// Returns the new loop. Reports a bug if a barrier wait has no reader after it.
mlir::FailureOr<mlir::scf::ForOp> pipelineTwoStages(mlir::scf::ForOp loop);
/// Clones the operations of a stage, which runs for another iteration than the rest of the loop, at the insertion point: in a branch that
/// is taken if the iteration `exists`. `map` has the iteration's values. The branch returns what the clones make of `results`; otherwise
/// `substitutes`, which it calls in the other block.
mlir::scf::IfOp peelStage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value exists, llvm::ArrayRef<mlir::Operation *> stage,
                          mlir::IRMapping map, mlir::ValueRange results, llvm::function_ref<llvm::SmallVector<mlir::Value>()> substitutes);

} // namespace tilewright::gpu
