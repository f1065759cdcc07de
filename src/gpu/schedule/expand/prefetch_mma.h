// An MMA that starts an iteration early.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Starts the schedule's `shiftedMma` of the next iteration at the top of each, after `top`, and carries its result. `arrival` waits for
/// its circular buffer; `first`: stage and parity of the first iteration, `next`: of the next one. Returns the loop that has taken the
/// place of the schedule's.
mlir::scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, mlir::ValueRange first, mlir::ValueRange next,
                             mlir::Operation *top);

} // namespace tilewright::gpu
