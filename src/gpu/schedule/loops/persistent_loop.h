// Loops over the tiles of a persistent program.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// Returns the loop at the top of the kernel whose body has this loop: over the tiles of a persistent program, if it is one. Null if there
/// is none.
mlir::scf::ForOp topLevelLoopAround(mlir::scf::ForOp loop);
/// The loop around the schedule's whose next iteration's first copies can be started early, after the MMAs of this one; null if there
/// is none.
mlir::scf::ForOp persistentLoop(const LoopSchedule &schedule);

} // namespace tilewright::gpu
