// The scopes of mbarrier operations. An arrival in the scope of a CTA tells threads of other CTAs nothing of what the arriving thread has
// read or written. A release in the scope of a cluster waits for all stores of the thread, on every GPU. PTX ISA 8.6 has a cheaper form:
//
//   fence.release.sync_restrict::shared::cta.cluster      accesses to the CTA's shared memory, before
//   mbarrier.arrive.relaxed.cluster                       this arrival
#pragma once

#include "gpu/machine/ptx.h"
#include "support/target.h"

namespace tilewright::ptx {

/// True if the PTX for this GPU has relaxed mbarrier operations and fences restricted to shared memory.
inline bool hasSharedFences(const GpuTarget &target) {
  return target.ptxIsa() >= std::pair<int64_t, int64_t>(8, 6);
}

/// Returns the scope of arrivals at barriers of other CTAs, and of the waits for them. Before PTX ISA 8.6 it is that of a CTA: then only
/// completed MMAs may have read what the waiting CTA overwrites.
inline Scope scopeAcrossCtas(const GpuTarget &target) {
  return hasSharedFences(target) ? Scope::cluster : Scope::cta;
}

} // namespace tilewright::ptx
