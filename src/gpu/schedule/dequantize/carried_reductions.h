// Reductions of scales that a loop with a dequantize partition carries next to its sums, as their largest exponents. The warp groups that
// load the scales compute them. If that is the partition, the results reach the consumers after the loop:
//   before: for i iter_args(%max) { %max' = max(%max, exponents of scales i) }    %large = %max > limit
//   after:  for i iter_args(%max) { %max' = ... in the partition }    partition: store %max > limit, arrive    consumers: wait, load %large
#pragma once

#include "gpu/schedule/dequantize/relayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// True if the loop carries such a reduction.
bool reducesTiles(mlir::scf::ForOp loop);

class CarriedReductions {
public:
  /// What the consumers compute, the first operand, and what the partition computes, the second one.
  CarriedReductions(Relayout &byConsumers, Relayout &byPartition) : byConsumers(byConsumers), byPartition(byPartition) {}

  /// Finds the reductions of what is loaded for the operands, and plans their layouts. Nothing is rewritten.
  void plan(mlir::scf::ForOp loop);
  /// Bytes of shared memory in which the partition leaves its results.
  int64_t bytes() const { return forwardedBytes; }
  /// Rewrites the planned reductions. Returns the loop that replaces `loop`, the planned one or its successor.
  mlir::scf::ForOp move(mlir::scf::ForOp loop);

private:
  struct Reduction {
    unsigned number; ///< of the carried value
    Relayout *side;  ///< that loads the scales
    Layout layout;
  };
  std::optional<Reduction> planned(mlir::scf::ForOp loop, unsigned number);

  Relayout &byConsumers, &byPartition;
  llvm::SmallVector<Reduction> reductions;
  int64_t forwardedBytes = 0;
};

} // namespace tilewright::gpu
