// Which results of MMAs stay in tensor memory, and what reads them. A result stays until something else than an MMA, a wait or the back
// edge of a loop needs it.
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
  /// Returns the uses that need the value in registers: those that do not take it in its place.
  llvm::SmallVector<mlir::OpOperand *> readersOf(mlir::Value value) const;
  /// Returns the loop's sum that the MMA adds to in its place, maybe after other MMAs; null if there is none.
  mlir::BlockArgument sumOf(ttg::MmaAsyncOp mma) const;
  /// True if something in its loop reads that sum, before the MMA adds to it or after that.
  bool isSumRead(ttg::MmaAsyncOp mma) const { return isRead(sumOf(mma)) || isRead(mma.getD()); }
  /// Returns the loop's sum that the MMA's result becomes, if threads read it only in the next iteration, before this MMA: then the loop
  /// can carry it in tensor memory. Null otherwise.
  static mlir::BlockArgument rescaledSum(ttg::MmaAsyncOp mma);

private:
  bool isRead(mlir::Value value) const;
  bool maySupersede(mlir::OpOperand &use) const;
  int64_t countSuperseding(mlir::Value value) const;
  bool comesFrom(mlir::Value value, mlir::BlockArgument argument) const;
  bool staysInLoop(mlir::BlockArgument argument) const;

  llvm::SetVector<mlir::BlockArgument> carried;
};

/// Returns the number of a carried value among those of its loop.
unsigned numberOf(mlir::BlockArgument carried);
/// Returns `sum`, which was loaded after the loop, as result `number` of the loop: what the result starts from if no MMA has run.
mlir::Value sumOrInit(mlir::OpBuilder &b, mlir::scf::ForOp loop, unsigned number, mlir::Value sum);

} // namespace tilewright::gpu
