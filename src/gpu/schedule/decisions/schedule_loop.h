// What schedule-loops knows when it decides about one loop, and what it decides. Loops are scheduled one after the other, inner ones first:
//   for each loop: decision = scheduleLoop(its loads, kernel, earlier)    earlier.add(decision)
// Each of these functions reads the kernel and what is known of the loops before, and returns its decision.
#pragma once

#include "gpu/schedule/decisions/shared_budget.h"
#include "gpu/schedule/policies/policies.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

/// What does not change while the loops of a kernel are scheduled.
struct KernelLoops {
  tt::FuncOp function;
  PolicyContext context;
  llvm::ArrayRef<Policy> policies;
  llvm::MapVector<mlir::Operation *, LoopLoads> found; ///< by loop, inner ones first
  bool warpSpecialized = false;                        ///< a producer warp starts copies

  /// True if the producer warp starts the copies of this loop: in a kernel with an operand partition, only those of that one's loops.
  bool hasProducer(const LoopLoads &loads) const;
  /// Lets a policy schedule a loop with circular buffers of `stages` stages.
  LoopSchedule withPolicy(LoopSchedule schedule, int64_t stages) const;
  /// Lets loads to registers run an iteration ahead as well, if threads multiply, or compute operands of MMAs, and if the registers
  /// suffice.
  LoopSchedule withRegisterLoads(LoopSchedule schedule) const;
};

/// How a loop's circular buffers are used across the iterations of the persistent loop around it.
struct CrossTile {
  mlir::scf::ForOp tiles;          ///< the persistent loop; null: they are not
  int64_t stages = 1;              ///< of the circular buffers then, which may be fewer than without
  bool storesInFlight = false;     ///< TMA stores of the persistent loop stay in flight
  bool storesPerWarpGroup = false; ///< each warp group makes its own
};

/// What is decided about a loop.
struct LoopDecision {
  LoopSchedule schedule;
  CrossTile crossTile;
  llvm::SmallVector<DeeperBuffer> continued; ///< memory of the circular buffers that it continues with, and of what is in use meanwhile
  bool copies = false;                       ///< it has loads that may be copied ahead
};

/// What earlier loops leave to later ones.
struct EarlierLoops {
  explicit EarlierLoops(SharedBudget budget) : budget(std::move(budget)) {}
  SharedBudget budget;                                                        ///< shared memory with their buffers
  llvm::SmallPtrSet<mlir::Operation *, 4> storesInFlight, storesPerWarpGroup; ///< loops whose TMA stores stay in flight, and how
  std::optional<LoopSchedule> left; ///< the last one with a producer, if the next one may continue with its buffers

  /// The buffers that TMA stores of the loop hold if they stay in flight, and that are not in the budget yet.
  llvm::SmallVector<DeeperBuffer> addedByStores(mlir::scf::ForOp loop) const;
  /// Adds the next loop.
  void add(const LoopDecision &decision);

private:
  void keepStoresInFlight(mlir::scf::ForOp loop);
};

/// Schedules a loop. Fails if an operand partition's circular buffers do not fit.
Result<LoopDecision> scheduleLoop(const LoopLoads &found, const KernelLoops &kernel, const EarlierLoops &earlier);

//===-------------------------------------------------------------------------------------------------------- buffer_depths.cpp

/// Depths of a loop's buffers, which are 1 where there is nothing to overlap.
struct BufferDepths {
  int64_t stages = 1;   ///< of the circular buffers that copies fill
  int64_t computed = 1; ///< of the buffers of computed operands
};
/// Chooses the greatest depths, up to the requested stages, that fit in shared memory.
BufferDepths chooseDepths(const LoopSchedule &schedule, const KernelLoops &kernel, const SharedBudget &budget);
/// Returns the greatest depth, up to `requested`, with which the circular buffers fit if they are in use throughout `around`. `others`:
/// further buffers. What else is in shared memory meanwhile stays where it is. Null if even without circular buffers it does not fit.
std::optional<int64_t> affordableStages(const LoopSchedule &schedule, int64_t requested, mlir::scf::ForOp around,
                                        llvm::ArrayRef<DeeperBuffer> others, const KernelLoops &kernel, const SharedBudget &budget);

//===----------------------------------------------------------------------------------------------------- buffers_across_loops.cpp

/// True if the warp groups of a kernel with warp specialization would need no barrier from one tile of this loop to the next.
bool mayRunDecoupled(const LoopSchedule &schedule, const KernelLoops &kernel, const EarlierLoops &earlier);
/// Lets the copies of a loop without a producer continue in the next iteration of the persistent loop around it.
CrossTile prefetchAcrossTiles(const LoopSchedule &schedule, const KernelLoops &kernel, const EarlierLoops &earlier);
/// The same for a loop with a producer, of `stages` stages: it fills the circular buffers for the next tile while this one is stored, if
/// the bytes of these buffers have no other use meanwhile.
CrossTile keepStagesAcrossTiles(const LoopSchedule &schedule, int64_t stages, const KernelLoops &kernel, const EarlierLoops &earlier);
/// If a loop with a producer may continue with the circular buffers that the loop before it has left: returns what is in use up to this
/// loop, all of which fits. Null if it may not.
std::optional<llvm::SmallVector<DeeperBuffer>> continuedBuffers(const LoopSchedule &schedule, const EarlierLoops &earlier);

} // namespace tilewright::gpu
