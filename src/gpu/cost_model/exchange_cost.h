// The two ways by which the threads of a warp exchange elements, in issue slots of a warp.
#pragma once

#include "gpu/cost_model/thresholds.h"
#include "gpu/layout/layout.h"

namespace tilewright::gpu {

inline int64_t slotsOfExchange(const ScratchPlan &scratch) {
  return exchangeCost + wavefrontCost * (scratch.store.wavefronts + scratch.load.wavefronts);
}

/// Each step of a shuffle selects among the registers of a thread in one layout, or in the other one. Elements of 64 bits are two words.
inline int64_t slotsOfShuffles(const ShufflePlan &shuffle, const Layout &from, const Layout &to, int64_t elementBits) {
  int64_t registers = std::max(from.registersPerThread(), to.registersPerThread());
  return (elementBits == 64 ? 2 : 1) * (shuffleCost * shuffle.shuffles() + shuffle.selectCount() * registers);
}

} // namespace tilewright::gpu
