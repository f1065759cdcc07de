// The tiles of tensor memory of a kernel whose first warp issues the MMAs. A value that an MMA has computed stays in its tile until
// something else than an MMA, a wait or the back edge needs it. Values that are linked in this way share one tile. Tiles that are not live
// at the same time share columns.
#pragma once

#include "gpu/schedule/tensor_memory/tensor_accumulators.h"
#include "gpu/schedule/tensor_memory/tensor_columns.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

struct AccumulatorTiles {
  llvm::SmallVector<TensorTile> tiles;
  llvm::MapVector<mlir::Value, size_t> accumulators;   ///< the tile of each value
  llvm::MapVector<mlir::Operation *, size_t> operands; ///< the tile of each MMA's operand A, if that comes from registers
  TensorColumns columns;
  ScaleColumns scales;
};

AccumulatorTiles planTiles(tt::FuncOp function, const TensorAccumulators &accumulators);

} // namespace tilewright::gpu
