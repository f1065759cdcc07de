// What the schedules of a kernel's loops take of shared memory.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/shared_memory/shared_plan.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// The buffers of computed operands as they would be with `stages` stages, in use throughout `around`.
llvm::SmallVector<DeeperBuffer> computedBuffers(const LoopSchedule &schedule, int64_t stages, mlir::scf::ForOp around);
/// The circular buffers as they would be with `stages` stages, in use throughout `around`. `copies`: also those that copies fill.
llvm::SmallVector<DeeperBuffer> buffersOf(const LoopSchedule &schedule, int64_t stages, mlir::scf::ForOp around, bool copies = true);
/// Bytes of the tiles of one stage of the circular buffers that copies fill.
int64_t bytesOfStage(const LoopSchedule &schedule);
/// Bytes of the mbarriers of a loop's circular buffers: full ones for TMA, empty ones for each place of release, and those of an operand
/// partition.
int64_t barriersOf(const LoopSchedule &schedule);

/// Shared memory with the circular buffers of the loops that have been scheduled.
class SharedBudget {
public:
  /// `later`: bytes that stay free for what later steps add.
  SharedBudget(tt::FuncOp function, const GpuTarget &target, int64_t later) : planner(function), target(target), later(later) {}
  /// True if these buffers, and barriers of so many bytes, fit as well.
  bool fits(llvm::ArrayRef<DeeperBuffer> more, int64_t barriers = 0) const { return holds(bytesWith(more, barriers)); }
  /// True if so many bytes fit, with what later steps add.
  bool holds(int64_t bytes) const;
  void reserve(llvm::ArrayRef<DeeperBuffer> buffers, int64_t barriers = 0);
  /// The bytes of what has been reserved, and of all other buffers.
  int64_t bytes() const { return bytesWith({}); }
  /// The same with these buffers, which replace reserved ones of the same tiles, and with barriers of so many bytes.
  int64_t bytesWith(llvm::ArrayRef<DeeperBuffer> more, int64_t barriers = 0) const;

private:
  SharedPlanner planner;
  const GpuTarget &target;
  int64_t later;
  int64_t reservedBarriers = 0;
};

} // namespace tilewright::gpu
