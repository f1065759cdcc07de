// An MMA that starts an iteration early.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/stage_index.h"

namespace tilewright::gpu {

/// Starts the schedule's `shiftedMma` of the next iteration at the top of each, where `next` is known, and carries its result. `arrival`
/// waits for its circular buffer; `first`: the state of the first iteration, `next`: of the next one. Returns the loop that has taken the
/// place of the schedule's.
mlir::scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, const StageState &first, const StageState &next);

} // namespace tilewright::gpu
