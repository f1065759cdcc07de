// Loads of words that hold the elements of several iterations.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Returns how many bytes the load's bytes move in every iteration, if an aligned word holds those of several whole iterations; nothing if
/// it does not.
std::optional<int64_t> bytesOfIteration(tt::LoadOp load, mlir::scf::ForOp loop);
/// Replaces a load by a load of words, each of which holds the elements of several iterations. The next words are loaded an iteration
/// early, before `insertionPoint`. `registers`: those of a thread that may hold words. False if no word holds several iterations
/// (widen_loads.cpp).
bool widenLoad(LoopSchedule &schedule, tt::LoadOp load, int64_t registers, mlir::Operation *insertionPoint);

} // namespace tilewright::gpu
