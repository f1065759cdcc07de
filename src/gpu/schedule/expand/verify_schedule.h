// The rules of a schedule, checked before and after it is written.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "support/result.h"

namespace tilewright::gpu {

/// Checks a schedule: every iteration's wait must have its arrival, and a stage may be filled again only after all threads have read it.
Result<void> verify(const LoopSchedule &schedule);
/// The part of it about the operands that threads compute, with or without circular buffers that copies fill.
Result<void> verifyComputed(const LoopSchedule &schedule);

} // namespace tilewright::gpu
