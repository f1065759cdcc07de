// Tiles and numbers that are zero.
#pragma once

#include "ir/tt.h"

#include "mlir/IR/Matchers.h"

namespace tilewright::tt {

/// True for the constant 0 or +0.0, and for a tile of them. Not for -0.0.
inline bool isZeros(mlir::Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>()) value = splat.getSrc();
  return mlir::matchPattern(value, mlir::m_Zero()) || mlir::matchPattern(value, mlir::m_PosZeroFloat());
}

} // namespace tilewright::tt
