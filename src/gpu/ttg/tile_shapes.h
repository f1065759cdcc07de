// Builders for reshapes of tiles. If a tile has a layout, the layout of the result follows from it: no thread moves an element.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::gpu {

/// Returns the type of a tile that `tile` becomes: with this shape, and its layout, if it has one, changed likewise.
inline mlir::RankedTensorType reshapedType(mlir::Value tile, llvm::ArrayRef<int64_t> shape,
                                           llvm::function_ref<Layout(const Layout &)> change) {
  auto type = mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(tile));
  return ttg::hasLayout(tile.getType()) ? ttg::withLayout(type, change(ttg::layoutOf(tile.getType()))) : type;
}

inline mlir::Value reshaped(mlir::OpBuilder &b, mlir::Value tile, llvm::ArrayRef<int64_t> shape) {
  mlir::Type type = reshapedType(tile, shape, [&](const Layout &layout) { return layout.reshaped(Dims(shape.begin(), shape.end())); });
  return tt::ReshapeOp::create(b, tile.getLoc(), type, tile, false, false);
}

/// Dimension i of the result is dimension order[i] of the tile.
inline mlir::Value transposed(mlir::OpBuilder &b, mlir::Value tile, llvm::ArrayRef<int32_t> order) {
  llvm::SmallVector<int64_t> shape;
  for (int32_t dim : order)
    shape.push_back(mlir::cast<mlir::RankedTensorType>(tile.getType()).getDimSize(static_cast<unsigned>(dim)));
  mlir::Type type = reshapedType(tile, shape, [&](const Layout &layout) { return layout.transposed(Dims(order.begin(), order.end())); });
  return tt::TransOp::create(b, tile.getLoc(), type, tile, order);
}

/// Transposes dimension `from` to position `to`.
inline mlir::Value moved(mlir::OpBuilder &b, mlir::Value tile, size_t from, size_t to) {
  llvm::SmallVector<int32_t> order;
  for (int32_t dim = 0; dim < mlir::cast<mlir::RankedTensorType>(tile.getType()).getRank(); ++dim)
    if (dim != int32_t(from)) order.push_back(dim);
  order.insert(order.begin() + to, int32_t(from));
  return transposed(b, tile, order);
}

/// Adds a last dimension of extent 2: `x` and `y` are the halves.
inline mlir::Value joined(mlir::OpBuilder &b, mlir::Value x, mlir::Value y) {
  llvm::SmallVector<int64_t> shape(mlir::cast<mlir::RankedTensorType>(x.getType()).getShape());
  shape.push_back(2);
  return tt::JoinOp::create(b, x.getLoc(), reshapedType(x, shape, [](const Layout &layout) { return layout.joined(); }), x, y);
}

/// Returns the halves along a last dimension of extent 2, which a register bit alone distinguishes.
inline std::pair<mlir::Value, mlir::Value> halvesOf(mlir::OpBuilder &b, mlir::Value tile) {
  auto shape = mlir::cast<mlir::RankedTensorType>(tile.getType()).getShape().drop_back();
  mlir::Type half = reshapedType(tile, shape, [](const Layout &layout) { return layout.splitHalves()->layout; });
  auto split = tt::SplitOp::create(b, tile.getLoc(), mlir::TypeRange{half, half}, tile);
  return {split.getOutLHS(), split.getOutRHS()};
}

inline mlir::Value added(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y) {
  if (mlir::getElementTypeOrSelf(x).isInteger()) return mlir::arith::AddIOp::create(b, x, y);
  return mlir::arith::AddFOp::create(b, x, y);
}

} // namespace tilewright::gpu
