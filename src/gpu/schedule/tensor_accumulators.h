// Which results of MMAs stay in tensor memory: until something else than an MMA, a wait or the back edge of a loop needs them.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

class TensorAccumulators {
public:
  TensorAccumulators(tt::FuncOp function, int64_t warps);

  /// True if the value is in tensor memory where it is defined.
  bool contains(mlir::Value value) const;
  /// True if the use takes the value in its place.
  bool isInPlace(mlir::OpOperand &use) const;

private:
  bool fits(mlir::Type type) const;
  bool maySupersede(mlir::OpOperand &use) const;
  bool staysInLoop(mlir::BlockArgument argument) const;

  int64_t warps;
  llvm::SetVector<mlir::BlockArgument> carried;
};

/// Returns the columns of tensor memory of a tile.
int64_t tensorColumnsOf(mlir::Type tile);

} // namespace tilewright::gpu
