// How many CTAs of a kernel an SM shall hold: what code generation promises ptxas, and whether ptxas runs a second time.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns the minimum number of CTAs per SM that a kernel with partitions promises; 0: none. Kernels that reallocate registers between
/// warps need a promise: without one ptxas does not know the number of registers, and ignores setmaxnreg. They promise as many CTAs as
/// their registers and `sharedBytes` of shared memory allow.
int64_t minCtasWithPartitions(ttg::WarpSpecializeOp partitions, ttg::ConfigAttr config, const GpuTarget &target, int64_t sharedBytes);

/// Sets `minCtas` and `tryMoreCtas` of the kernel's `ptx.kernel`, if it has one that nothing has decided yet.
void chooseOccupancy(tt::FuncOp kernel);

// ---- with the registers that ptxas reports

/// What a CTA takes of an SM. Shared memory in bytes.
struct CtaResources {
  int64_t threads = 0, registersPerThread = 0, sharedBytes = 0;
};
/// Returns how many CTAs ptxas shall promise in a second run: one more than fit on an SM, if the kernel is only slightly above the
/// registers with which that many fit. Then the loads of one CTA overlap with the barriers and locks of another. 0: no second run.
int64_t ctasThatNearlyFit(const CtaResources &cta, const GpuTarget &target);

/// Local memory of a thread, in bytes.
struct KernelMemory {
  int64_t spillBytes = 0, localBytes = 0;
};
/// True if the kernel of the second run pays nothing for its registers.
bool suitsMoreCtas(const KernelMemory &before, const KernelMemory &after);

} // namespace tilewright::gpu
