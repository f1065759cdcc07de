// The rules of a schedule, checked before and after it is written.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// What is wrong with a schedule, as text, or null: every iteration's wait must have its arrival, and a stage may be filled again only
/// after all threads have read it.
std::optional<std::string> verify(const LoopSchedule &schedule);
/// The same of the operands that threads compute, with or without circular buffers that copies fill.
std::optional<std::string> verifyComputed(const LoopSchedule &schedule);

} // namespace tilewright::gpu
