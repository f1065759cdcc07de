// Several stages for operands of MMAs that threads compute.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Gives each buffer that threads fill for MMAs several stages, which iterations use alternately: one is filled while MMAs read the others.
void multiBuffer(LoopSchedule &schedule);
/// Marks the fence after the computed operands, so that threads store each part of them before they compute the next one
/// (thread/interleave_stores.cpp).
void markInterleavedStores(LoopSchedule &schedule);

} // namespace tilewright::gpu
