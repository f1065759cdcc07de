// How many CTAs of a kernel an SM shall hold: what code generation promises ptxas, and whether ptxas runs a second time.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns the minimum number of CTAs per SM that a kernel with partitions promises; 0: none. Kernels that reallocate registers between
/// warps need a promise: without one ptxas does not know the number of registers, and ignores setmaxnreg. They promise as many CTAs as
/// their registers and `sharedBytes` of shared memory allow.
int64_t minCtasWithPartitions(ttg::WarpSpecializeOp partitions, ttg::ConfigAttr config, const GpuTarget &target, int64_t sharedBytes);

/// Sets `minCtas` and `tryTwoCtas` of the kernel's `ptx.kernel`, if it has one that nothing has decided yet.
void chooseOccupancy(tt::FuncOp kernel);

// ---- with the registers that ptxas reports

/// True if a kernel is only slightly above the registers with which two CTAs fit on an SM. With two, the loads of one CTA overlap with the
/// barriers and locks of the other. Then ptxas runs again, with the promise of two CTAs.
bool nearlyTwoCtas(int64_t threads, int64_t registersPerThread, const GpuTarget &target);

/// Local memory of a thread, in bytes.
struct KernelMemory {
  int64_t spillBytes = 0, localBytes = 0;
};
/// True if the kernel of the second run pays nothing for its registers.
bool suitsTwoCtas(const KernelMemory &before, const KernelMemory &after);

} // namespace tilewright::gpu
