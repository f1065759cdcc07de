// Sizes of the elements of tiles.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

namespace tilewright::ttg {

/// Returns the bits of a scalar, or of an element of a tile, in registers: 64 for pointers and indices.
inline int64_t elementBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? static_cast<int64_t>(element.getIntOrFloatBitWidth()) : 64;
}

/// The same in memory: at least a byte.
inline int64_t memoryBits(mlir::Type type) {
  return std::max<int64_t>(8, elementBits(type));
}

/// Returns the bytes of a tile in memory.
inline int64_t bytesOfTile(mlir::Type tile) {
  return mlir::cast<mlir::RankedTensorType>(tile).getNumElements() * memoryBits(tile) / 8;
}

} // namespace tilewright::ttg
