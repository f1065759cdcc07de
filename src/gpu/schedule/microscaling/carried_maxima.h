// What a loop with a dequantize partition carries next to its sums: the largest of some scales' exponents. The warp group that loads the
// scales computes it, and it reaches the consumers after the loop:
//   before: for i iter_args(%max) { %max' = max(%max, exponents of scales i) }    %large = %max > limit
//   after:  for i iter_args(%max) { %max' = ... in the partition }    partition: store %max > limit, arrive    consumers: wait, load %large
#pragma once

#include "gpu/schedule/microscaling/relayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Returns the elementwise operation of two operands that makes the next value of a tile that the loop carries, if nothing else in the loop
/// uses that tile, and the next value has no other use; null otherwise. `i`: the number of the carried value.
mlir::Operation *ownUpdateOf(mlir::scf::ForOp loop, unsigned i);

/// Lets the partition that loads the scales compute the tiles that the loop carries only for themselves, in the layout of those loads.
/// `left`, `right`: the first operand, by the consumers, and the second one, by the partition. Returns the loop that replaces `loop`.
mlir::scf::ForOp carryMaxima(mlir::scf::ForOp loop, Relayout &left, Relayout &right);

} // namespace tilewright::gpu
