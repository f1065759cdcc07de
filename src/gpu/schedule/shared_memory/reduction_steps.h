// How threads carry out a reduction: in each thread, then over the lanes of a warp, then over warps through shared memory. With 4 results
// in each thread, and 4 lanes that hold values of the same ones, recursive halving takes 2 + 1 exchanges in place of 2 * 4:
//   registers a b c d    bit 0 of the lane: keeps a b, or c d, and combines them with the other lane's    bit 1: keeps one of the two
#pragma once

#include "gpu/layout/layout.h"
#include "ir/tt.h"

namespace tilewright::gpu {

/// True if the operation combines two values by one commutative operation.
bool isCommutative(tt::ReduceOp op);

struct ReductionSteps {
  Layout source; ///< the layout in which the reduction works
  ReductionPlan plan;
  bool inWarps = false; ///< an argmin or argmax reduction, and all lanes of a warp hold values of the same results
  bool halves = false;  ///< a lane keeps half of its registers in each step, as long as it has several
  // If warps hold partial values: a tile with one more dimension, the first, in which each warp has an index.
  Layout written, read;       ///< of the partial values
  uint64_t partRegisters = 0; ///< bits of registers in `read` that run along that dimension
  uint64_t partLanes = 0;     ///< bits of lanes that do
  Layout result;              ///< of the result before it is converted to the operation's own layout
};
/// Returns nothing if no layout was found for it.
std::optional<ReductionSteps> reductionSteps(tt::ReduceOp op);

/// Where the partial values of each operand start in the operation's scratch memory; the last entry: where they end.
std::vector<int64_t> partialOffsets(tt::ReduceOp op, const ReductionSteps &steps);

} // namespace tilewright::gpu
