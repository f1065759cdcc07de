// Stages beyond num_stages that cost nothing.
#pragma once

#include "gpu/schedule/decisions/schedule_loop.h"

namespace tilewright::gpu {

/// Makes the circular buffers of scheduled loops deeper than num_stages, where no CTA fewer fits on an SM than without: up to the depth
/// with which the copies in flight cover the latency of memory. `budget` holds what all loops have reserved, and gets what is added.
void addFreeStages(llvm::MutableArrayRef<LoopSchedule> schedules, SharedBudget &budget, const KernelLoops &kernel);

} // namespace tilewright::gpu
