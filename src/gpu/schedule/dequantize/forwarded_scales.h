// Scales of the first operand that the dequantize partition loads for the consumers, and leaves in shared memory. A fence waits for loads
// from memory that were issued before it, and the consumers have none then (docs/heuristics.md, `loaderRegisters`).
//   before: consumers: %s = tt.load %scales    dequantize by %s
//   after:  partition: %s = tt.load %scales    ttg.store_shared %s, %p        consumers: %s = ttg.load_shared %p    dequantize by %s
#pragma once

#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/schedule/dequantize/relayout.h"

namespace tilewright::gpu {

/// Returns how many of the lowest bits of each element are known to be 0: of constants, of what has been shifted, and of the same bits in
/// another type.
int64_t trailingZeros(mlir::Value tile);

class ForwardedScales {
public:
  /// What the consumers compute, the first operand, and what the partition computes, the second one.
  ForwardedScales(const DequantizeCandidate &candidate, Relayout &byConsumers, Relayout &byPartition)
      : c(candidate), byConsumers(byConsumers), byPartition(byPartition) {}

  /// Plans to forward the scales that `tile` is computed from: what comes from loads to registers alone, before each scale is repeated for
  /// its group.
  void plan(mlir::Value tile);
  bool empty() const { return scales.empty(); }
  /// Bytes of an iteration's scales in shared memory.
  int64_t bytes() const;
  /// The partition stores them for the consumers, before the builder's insertion point.
  void store(mlir::OpBuilder &b);

private:
  const DequantizeCandidate &c;
  Relayout &byConsumers, &byPartition;
  llvm::SmallVector<mlir::Value> scales;
  llvm::DenseSet<mlir::Value> searched;
};

} // namespace tilewright::gpu
