// The stages of a circular buffer, which iterations use alternately: stage and parity are carried, so that nothing is divided.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include <utility>

namespace tilewright::gpu {

mlir::Value i32Constant(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
/// (stage + by) mod stages, for 0 <= stage < stages and |by| <= stages.
mlir::Value stageAround(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stageIndex, int64_t by, int64_t stages);
/// The stage after one.
mlir::Value nextStage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stageIndex, int64_t stages);
/// The stage after one, and its parity, which holds for one way around the circular buffer.
std::pair<mlir::Value, mlir::Value> stageAfter(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stageIndex, mlir::Value parity,
                                               int64_t stages);
/// The type of a buffer of `depth` tiles like this one.
ttg::BufferType withDepth(ttg::BufferType type, int64_t depth);
/// Replaces the buffer of one tile by one of `depth` stages, allocated at the insertion point. The loop's operations use stage
/// `stageIndex`, which is known in its body.
void replaceByStages(mlir::OpBuilder &b, ttg::AllocOp alloc, int64_t depth, mlir::scf::ForOp loop, mlir::Value stageIndex);

} // namespace tilewright::gpu
