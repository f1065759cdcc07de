// Loads to registers that run an iteration ahead.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Schedules the loop's loads to registers one iteration ahead, as far as they can be; none if `registers` of a thread do not suffice.
void addRegisterLoads(LoopSchedule &schedule, int64_t registers);
/// Runs the schedule's `registerLoads` an iteration ahead: at the top of the loop, or after an operation.
void prefetchRegisterLoads(LoopSchedule &schedule, llvm::function_ref<mlir::Operation *(tt::LoadOp)> after = {});

} // namespace tilewright::gpu
