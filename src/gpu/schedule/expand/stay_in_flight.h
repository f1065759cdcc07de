// MMAs in flight across the back edge.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Lets the schedule's MMAs stay in flight. Returns the wait that drains those of the previous iteration.
mlir::Operation *keepInFlight(LoopSchedule &schedule);

} // namespace tilewright::gpu
