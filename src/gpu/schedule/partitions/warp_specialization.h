// Whether a kernel gets a producer warp.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Why a kernel with these loops, placed, has no warp that only starts copies; null if it gets one. `runsDecoupled`: with such a warp, no
/// warp group waits for another from tile to tile.
std::optional<std::string> warpSpecializationObstacle(llvm::ArrayRef<LoopSchedule> loops, bool runsDecoupled, ttg::ConfigAttr config,
                                                      const GpuTarget &target);
/// Returns the first reason against such a warp that holds for every schedule of the kernel; null if there is none.
std::optional<std::string> warpSpecializationObstacle(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
