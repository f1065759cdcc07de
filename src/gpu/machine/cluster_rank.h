// The CTA's place among those of its cluster.
#pragma once

#include "gpu/machine/ptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::gpu {

/// Returns an i1, whether this is the first CTA of its cluster. In a pair, that one starts the MMAs of both.
inline mlir::Value isFirstCta(mlir::OpBuilder &b, mlir::Location loc) {
  mlir::Value rank = ptx::ClusterRankOp::create(b, loc, b.getI32Type());
  mlir::Value first = mlir::arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::eq, rank, first);
}

} // namespace tilewright::gpu
