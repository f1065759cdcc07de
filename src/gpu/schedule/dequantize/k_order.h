// K in the order in which the registers of an MMA's first operand hold adjacent elements in memory. Of K's index, the highest bits first:
//   memory: c c s s .. p q    operand: s s .. p c c q        c: the thread in its row, s: the instruction
// Or with even and odd elements apart, as they are made of those that share a byte:
//   memory: c c s s .. q p    operand: s s .. p c c q
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

class KOrder {
public:
  /// K is dimension `along` of a tile of two.
  KOrder(mlir::RankedTensorType tile, int64_t along, bool evenOddInterleave);
  /// The tile in the operand's order.
  mlir::Value apply(mlir::OpBuilder &b, mlir::Value value) const;
  /// The layout of what is reordered, if the result is to have the layout `result`.
  Layout before(const Layout &result) const;

private:
  mlir::RankedTensorType tile;
  llvm::SmallVector<int64_t> extents; ///< of the tile, with K in four parts, the thread first
  llvm::SmallVector<int32_t> order;   ///< in which the operand has these dimensions
};

} // namespace tilewright::gpu
