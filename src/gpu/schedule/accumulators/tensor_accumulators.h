// Which results of MMAs stay in tensor memory: until something else than an MMA, a wait or the back edge of a loop needs them.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

class TensorAccumulators {
public:
  explicit TensorAccumulators(tt::FuncOp function);

  /// True if the value is in tensor memory where it is defined.
  bool contains(mlir::Value value) const;
  /// True if the use takes the value in its place.
  bool isInPlace(mlir::OpOperand &use) const;
  /// True if something reads the value, or what waits pass on of it: it has a use that does not take it in its place.
  bool isRead(mlir::Value value) const;

private:
  bool maySupersede(mlir::OpOperand &use) const;
  int64_t countSuperseding(mlir::Value value) const;
  bool comesFrom(mlir::Value value, mlir::BlockArgument argument) const;
  bool staysInLoop(mlir::BlockArgument argument) const;

  llvm::SetVector<mlir::BlockArgument> carried;
};

/// Returns `sum`, which was loaded after the loop, as result `number` of the loop: what the result starts from if no MMA has run.
mlir::Value sumOrInit(mlir::OpBuilder &b, mlir::scf::ForOp loop, unsigned number, mlir::Value sum);

} // namespace tilewright::gpu
