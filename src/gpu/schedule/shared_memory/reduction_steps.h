// How threads carry out a reduction: in each thread, then over the lanes of a warp, then over warps through shared memory. With 4 results
// in each thread, and 4 lanes that hold values of the same ones, recursive halving takes 2 + 1 exchanges in place of 2 * 4:
//   registers a b c d    bit 0 of the lane: keeps a b, or c d, and combines them with the other lane's    bit 1: keeps one of the two
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/machine/ptx.h"
#include "gpu/tiles/arg_reduction.h"
#include "ir/tt.h"

#include <string>

namespace tilewright::gpu {

struct ReductionSteps {
  Layout source; ///< the layout in which the reduction works
  ReductionPlan plan;
  std::optional<ArgReduction> argInWarps; ///< an argmin or argmax reduction, and all lanes of a warp hold values of the same results
  bool isSymmetric = false;               ///< two values may be combined in either order
  std::optional<ptx::Redux> redux;        ///< one instruction combines a register of all lanes
  bool recursiveHalving = false;          ///< a lane keeps half of its registers in each step, as long as it has several
  int64_t shuffles = 0;                   ///< of a thread, before warps exchange
  // If warps hold partial values: a tile with one more dimension, the first, in which each warp has an index.
  Layout writtenLayout, readLayout;    ///< of the partial values
  ReductionPlan partPlan;              ///< of `readLayout` along that dimension
  std::optional<ptx::Redux> partRedux; ///< as `redux`
  Layout result;                       ///< of the result before it is converted to the operation's own layout
};
/// Returns nothing if no layout was found for it.
std::optional<ReductionSteps> reductionSteps(tt::ReduceOp op);
/// Returns an error message, or null: each partial value is written once, and each thread reads all partial values of its results.
std::optional<std::string> verifyReduction(const ReductionSteps &steps);

/// Where the partial values of each operand start in the operation's scratch memory; the last entry: where they end.
std::vector<int64_t> partialOffsets(tt::ReduceOp op, const ReductionSteps &steps);

} // namespace tilewright::gpu
