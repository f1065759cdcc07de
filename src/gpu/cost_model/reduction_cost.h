// What a reduction costs, in issue slots of a warp. assign-layouts chooses layouts by its exchanges, and reductionSteps how lanes and warps
// make them.
#pragma once

#include "gpu/layout/layout.h"

namespace tilewright::gpu {

/// What combines two elements.
struct Combination {
  int64_t values = 1;      ///< of an element: the operands of the reduction
  int64_t operations = 0;  ///< on them
  bool isSymmetric = true; ///< the elements may be in either order
};

/// Returns the shuffles of a thread. `halves`: recursive halving, where a lane keeps half of its registers in each step. After it, all
/// lanes get all results, unless warps then exchange partial values.
int64_t shufflesOf(const ReductionPlan &plan, int64_t values, bool halves);
/// True if recursive halving costs less than steps in which lanes exchange all registers.
bool paysToHalve(const ReductionPlan &plan, const Combination &combination);
/// True if lanes with copies of a result combine the partial values of so many warps together. Otherwise every lane combines all of them:
/// loads from shared memory overlap, and dependent shuffles do not.
bool paysToShareParts(int64_t warps, const Combination &combination);
/// Returns the cost of the exchanges, for one value.
int64_t reductionCost(const ReductionPlan &plan);
/// Returns the cost of the loads by which threads get the partial values of several warps, in the layout of the result.
int64_t partialLoadsCost(const Layout &result, int64_t warps);

} // namespace tilewright::gpu
