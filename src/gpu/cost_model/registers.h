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

/// Returns how many CTAs the registers of an SM suffice for.
inline int64_t ctasByRegisters(int64_t threads, int64_t registersPerThread, const GpuTarget &target) {
  return target.registersPerSM / (threads * registersPerThread);
}

/// Returns how many CTAs the shared memory of an SM suffices for. `bytes`: of one.
inline int64_t ctasByShared(int64_t bytes, const GpuTarget &target) {
  return (target.sharedBytes + reservedSharedBytes) / (bytes + reservedSharedBytes);
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

/// The registers of threads of a CTA with partitions.
struct PartitionRegisters {
  int64_t ctas = 1;     ///< that share an SM
  int64_t atStart = 0;  ///< of each thread when the CTA starts
  int64_t consumer = 0; ///< of a consumer's thread, once the warp groups of the partitions have released theirs
};

/// `warps`: of the consumers. `kept`: what a thread of each warp group of the partitions keeps. One consumer group cannot use half of an
/// SM's registers, so two such CTAs share the SM, if `sharedBytes` of a CTA permit that, and if the partitions have two groups at most:
/// only CTAs that have the SM to themselves have more.
inline PartitionRegisters partitionRegisters(int64_t warps, const GpuTarget &target, llvm::ArrayRef<int64_t> kept, int64_t sharedBytes) {
  int64_t groups = warps / warpsOfGroup, allGroups = groups + static_cast<int64_t>(kept.size());
  bool fitTwice = ctasByShared(sharedBytes, target) >= 2;
  PartitionRegisters registers;
  registers.ctas = groups == 1 && kept.size() < 3 && fitTwice ? 2 : 1;
  registers.atStart = registersForOccupancy(registers.ctas, allGroups * threadsOfGroup, target);
  int64_t left = registers.atStart * allGroups;
  for (int64_t ofThread : kept)
    left -= ofThread;
  if (groups) registers.consumer = std::min(maxConsumerRegisters, left / groups / registerStep * registerStep);
  return registers;
}

/// The same before shared memory is allocated: as many CTAs share an SM as registers permit.
inline PartitionRegisters partitionRegisters(int64_t warps, const GpuTarget &target, llvm::ArrayRef<int64_t> kept) {
  return partitionRegisters(warps, target, kept, /*sharedBytes=*/0);
}

/// True if the accumulators of an instruction fit in the registers with which a CTA starts. ptxas requires that (C7602), whatever
/// setmaxnreg adds later. m64n256 with sums of 32 bits takes 154 registers.
inline bool sumsFitAtStart(int64_t columns, int64_t bits, const PartitionRegisters &registers) {
  return registersOfElements(wgmmaRows * columns, bits, threadsOfGroup) + otherRegistersNextToSums <= registers.atStart;
}

} // namespace tilewright::gpu
