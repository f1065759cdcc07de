// Builders for tile reshapes that CTAs of a cluster need to exchange slices.
#pragma once

#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::gpu {

/// Transposes dimension `from` to position `to`.
inline mlir::Value moved(mlir::ImplicitLocOpBuilder &b, mlir::Value tile, size_t from, size_t to) {
  auto type = mlir::cast<mlir::RankedTensorType>(tile.getType());
  llvm::SmallVector<int32_t> order;
  for (int32_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != int32_t(from)) order.push_back(dim);
  order.insert(order.begin() + to, int32_t(from));
  llvm::SmallVector<int64_t> shape;
  for (int32_t dim : order)
    shape.push_back(type.getDimSize(dim));
  return tt::TransOp::create(b, mlir::RankedTensorType::get(shape, type.getElementType()), tile, order);
}

inline mlir::Value reshaped(mlir::ImplicitLocOpBuilder &b, mlir::Value tile, llvm::ArrayRef<int64_t> shape) {
  auto type = mlir::RankedTensorType::get(shape, mlir::cast<mlir::RankedTensorType>(tile.getType()).getElementType());
  return tt::ReshapeOp::create(b, type, tile, false, false);
}

inline mlir::Value joined(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y) {
  auto type = mlir::cast<mlir::RankedTensorType>(x.getType());
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  return tt::JoinOp::create(b, mlir::RankedTensorType::get(shape, type.getElementType()), x, y);
}

inline mlir::Value added(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y) {
  if (mlir::getElementTypeOrSelf(x).isInteger()) return mlir::arith::AddIOp::create(b, x, y);
  return mlir::arith::AddFOp::create(b, x, y);
}

} // namespace tilewright::gpu
