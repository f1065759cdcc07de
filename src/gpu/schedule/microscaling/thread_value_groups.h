// A tile as MMAs by warpgroups with their first operand in registers want it: with K in another order, and by halves of its rows.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// K in the order in which registers of a first operand hold adjacent elements in memory. Of K's number, the highest bits first:
///   memory: c c s s .. p q    operand: s s .. p c c q        c: the thread in its row, s: the instruction
/// Or with every second number next to another one, as elements that share a byte are made:
///   memory: c c s s .. q p    operand: s s .. p c c q
class Reorder {
public:
  /// K is dimension `along` of a tile of two.
  Reorder(mlir::RankedTensorType tile, int64_t along, bool evenOddInterleave)
      : tile(tile), along(along), evenOddInterleave(evenOddInterleave) {}
  mlir::Value apply(mlir::OpBuilder &b, mlir::Value value) const;
  /// The layout of what is reordered, if the result is to have the layout `result`.
  Layout before(const Layout &result) const;

private:
  std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int32_t>> steps() const;
  mlir::RankedTensorType tile;
  int64_t along;
  bool evenOddInterleave;
};

/// Two tiles of half as many rows each, computed from halves as far as that is done element by element, or byte by byte.
class RowHalves {
public:
  /// `rows`: the dimension that is cut. A thread holds elements of both halves in different registers.
  explicit RowHalves(int64_t rows) : rows(rows) {}
  /// Before the builder's insertion point.
  mlir::Value half(mlir::OpBuilder &b, mlir::Value tile, size_t which);
  /// The whole again.
  static mlir::Value whole(mlir::OpBuilder &b, mlir::Value low, mlir::Value high, mlir::RankedTensorType type);

private:
  /// The shape with the rows as two dimensions: the half, and the row in it.
  Dims splitRows(mlir::RankedTensorType type) const;
  Dims order() const { return rows == 0 ? Dims{1, 2, 0} : Dims{0, 2, 1}; }
  mlir::RankedTensorType halved(mlir::RankedTensorType type) const;
  void cut(mlir::Value tile);

  int64_t rows;
  llvm::DenseMap<mlir::Value, mlir::Value> halves[2];
};

} // namespace tilewright::gpu
