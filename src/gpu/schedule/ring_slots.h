// The slots of a ring, which iterations use in turn: slot and parity are carried, so that nothing is divided.
#pragma once

#include "gpu/schedule/pipeline.h"

#include "mlir/IR/Builders.h"

#include <utility>

namespace tilewright::gpu {

/// (slot + by) mod stages, for 0 <= slot < stages and |by| <= stages.
mlir::Value slotAround(mlir::OpBuilder &b, mlir::Location loc, mlir::Value slot, int64_t by, int64_t stages);
/// The slot behind one, and its parity, which holds for one way around the ring.
std::pair<mlir::Value, mlir::Value> slotBehind(mlir::OpBuilder &b, mlir::Location loc, mlir::Value slot, mlir::Value parity,
                                               int64_t stages);
/// What the copies of an iteration need: the operands of all loads, one behind the other.
llvm::SmallVector<mlir::Value> operandsOf(const Ring &ring);

} // namespace tilewright::gpu
