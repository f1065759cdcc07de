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
  int64_t countSuperseding(mlir::Value value) const;
  bool comesFrom(mlir::Value value, mlir::BlockArgument argument) const;
  bool staysInLoop(mlir::BlockArgument argument) const;

  int64_t warps;
  llvm::SetVector<mlir::BlockArgument> carried;
};

/// Returns `sum`, which was loaded after the loop, as result `number` of the loop: what the result starts from if no MMA has run.
mlir::Value sumOrInit(mlir::OpBuilder &b, mlir::scf::ForOp loop, unsigned number, mlir::Value sum);

/// Returns the columns of tensor memory of a tile.
int64_t tensorColumnsOf(mlir::Type tile);

/// MMAs of even and odd number have their scales in different columns: an MMA's scales are copied while the one before it multiplies.
constexpr int64_t setsOfScales = 2;
/// Returns the columns of one set of scales of an MMA: four bytes of 128 rows take four.
int64_t scaleColumnsOf(ttg::MmaAsyncOp mma);
/// Returns the first column of the set of this MMA's number. `first`: that of the even set; `columns`: those of a set.
mlir::Value scaleSetOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value number, mlir::Value first, int64_t columns);

} // namespace tilewright::gpu
