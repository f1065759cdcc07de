// Chains of MMAs: threads compute the last one's operand from the first one's result, as in attention. One of the two may run for another
// iteration than the rest of the loop.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Returns the first MMA of the loop's chain, if the rewriting can separate it from the last one: without a producer it runs an iteration
/// early (prefetch_mma.cpp), with one the last MMA runs an iteration late (two_stage_pipeline.cpp).
Result<ttg::MmaAsyncOp> firstOfChain(const LoopSchedule &schedule);

} // namespace tilewright::gpu
