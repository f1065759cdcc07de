// Registers of threads, and how many CTAs of them fit on an SM.
#pragma once

#include "gpu/cost_model/thresholds.h"
#include "support/target.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>

namespace tilewright::gpu {

/// Returns the 32-bit registers of a thread that hold a tile of `elements`, of `bits` each, spread over `threads`.
constexpr int64_t registersOfElements(int64_t elements, int64_t bits, int64_t threads) {
  return (elements * bits / threads + 31) / 32;
}

/// True if the registers of an SM suffice for so many CTAs.
inline bool fitOnSM(int64_t ctas, int64_t threads, int64_t registersPerThread, const GpuTarget &target) {
  return ctas * threads * registersPerThread <= target.registersPerSM;
}

/// Returns the registers of a thread if one CTA has the SM to itself, or the limit that the author has set (`limit`; 0: none).
inline int64_t availableRegisters(int64_t threads, int64_t limit, const GpuTarget &target) {
  int64_t available = std::min(target.registersPerThread, target.registersPerSM / threads);
  return limit > 0 ? std::min(available, limit) : available;
}

/// Returns the registers of a thread with which so many CTAs fit on an SM.
inline int64_t registersForOccupancy(int64_t ctas, int64_t threads, const GpuTarget &target) {
  return target.registersPerSM / ctas / threads / registerStep * registerStep;
}

// ---- warp specialization

/// Returns the registers of a thread when a CTA with partitions starts. `warps`: of the consumers. Next to them are `partitionGroups` warp
/// groups. One consumer group cannot use half of an SM's registers, so two such CTAs share the SM, unless there are more groups of
/// partitions than two: only CTAs that have the SM to themselves have these.
inline int64_t firstRegisters(int64_t warps, const GpuTarget &target, int64_t partitionGroups) {
  int64_t groups = warps / warpsOfGroup;
  return registersForOccupancy(groups == 1 && partitionGroups < 3 ? 2 : 1, (groups + partitionGroups) * threadsOfGroup, target);
}

/// Returns the registers of a consumer thread: what the warp groups of the partitions leave. `kept`: what a thread of each of these groups
/// keeps.
inline int64_t consumerRegisters(int64_t warps, const GpuTarget &target, llvm::ArrayRef<int64_t> kept) {
  int64_t groups = warps / warpsOfGroup, partitionGroups = static_cast<int64_t>(kept.size());
  int64_t all = firstRegisters(warps, target, partitionGroups) * (groups + partitionGroups);
  for (int64_t registers : kept)
    all -= registers;
  return std::min(maxConsumerRegisters, all / groups / registerStep * registerStep);
}

/// True if the accumulators of an instruction fit in the registers with which a CTA starts. ptxas requires that (C7602), whatever
/// setmaxnreg adds later. m64n256 with sums of 32 bits takes 154 registers.
inline bool sumsFitAtStart(int64_t columns, int64_t bits, int64_t warps, const GpuTarget &target, int64_t partitionGroups) {
  return registersOfElements(wgmmaRows * columns, bits, threadsOfGroup) + otherRegistersNextToSums <=
         firstRegisters(warps, target, partitionGroups);
}

} // namespace tilewright::gpu
