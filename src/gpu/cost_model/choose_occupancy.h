// How many CTAs of a kernel an SM shall hold: what code generation promises ptxas, and whether ptxas tries a second time.
#pragma once

#include "ir/tt.h"

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Sets `minCtas` and `tryTwoCtas` of the kernel's `ptx.kernel`, if it has one.
void chooseOccupancy(tt::FuncOp kernel, const GpuTarget &target);

} // namespace tilewright::gpu
