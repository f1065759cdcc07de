// Delays dots by mma.sync that only the next iteration needs, so that fewer registers are live at them.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// In loops whose threads do not hold whole operands, moves a dot after arithmetic that follows it, but not past the next dot.
void delayDots(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
