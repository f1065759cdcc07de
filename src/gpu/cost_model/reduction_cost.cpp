#include "gpu/cost_model/reduction_cost.h"

#include "gpu/cost_model/thresholds.h"

#include "llvm/ADT/SmallVector.h"

#include <bit>
#include <numeric>

namespace tilewright::gpu {

/// The registers that a lane exchanges in each step.
static llvm::SmallVector<int64_t> exchangedRegisters(const ReductionPlan &plan, bool halves) {
  llvm::SmallVector<int64_t> exchanged;
  int64_t registers = plan.result.registersPerThread();
  for (int64_t step = 0; step < std::popcount(plan.laneMask); ++step)
    exchanged.push_back(halves && registers > 1 ? registers /= 2 : registers);
  return exchanged;
}

int64_t shufflesOf(const ReductionPlan &plan, int64_t values, bool halves) {
  llvm::SmallVector<int64_t> exchanged = exchangedRegisters(plan, halves);
  bool allGetAll = halves && !plan.warpMask;
  return values * std::accumulate(exchanged.begin(), exchanged.end(), allGetAll ? plan.result.registersPerThread() : 0);
}

/// The cost of combining lanes, and of giving all lanes all results after recursive halving.
static int64_t laneCost(const ReductionPlan &plan, const Combination &combination, bool halves) {
  int64_t cost = shuffleCost * shufflesOf(plan, combination.values, halves) + (halves ? dependentShuffleLatency : 0);
  int64_t registers = plan.result.registersPerThread();
  for (int64_t exchanged : exchangedRegisters(plan, halves)) {
    bool selects = !combination.isSymmetric || exchanged < registers; // what is sent and what is kept, or what is first and what is second
    cost += exchanged * ((selects ? 2 * combination.values : 0) + combination.operations);
    registers = exchanged;
  }
  return cost;
}

bool paysToHalve(const ReductionPlan &plan, const Combination &combination) {
  if (plan.result.registersPerThread() == 1 || !plan.laneMask) return false;
  return plan.warpMask || laneCost(plan, combination, true) < laneCost(plan, combination, false);
}

bool paysToShareParts(int64_t warps, const Combination &combination) {
  return warps * combination.operations >= minCombinedOperations;
}

int64_t reductionCost(const ReductionPlan &plan) {
  bool halves = plan.warpMask != 0;
  int64_t shuffles = shuffleCost * shufflesOf(plan, /*values=*/1, halves);
  if (!halves) return shuffles;
  llvm::SmallVector<int64_t> exchanged = exchangedRegisters(plan, halves);
  return shuffles + exchangeCost + wavefrontCost * (exchanged.empty() ? plan.result.registersPerThread() : exchanged.back());
}

int64_t partialLoadsCost(const Layout &result, int64_t warps) {
  return result.registersPerThread() * warps;
}

} // namespace tilewright::gpu
