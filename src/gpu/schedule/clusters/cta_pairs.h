#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// True if all MMAs of a kernel whose loops are scheduled are those of pairs of CTAs, and stand in loops whose stages cover the latency of
/// a copy. Then two CTAs take less time for a program than one: an iteration of theirs takes half the time, with as many stages.
bool pairsPay(tt::FuncOp scheduled);

} // namespace tilewright::gpu
