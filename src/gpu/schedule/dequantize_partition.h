// A warpgroup that only dequantizes the second operand of an MMA: what the pipeline, specialize-warps and the lowering must know of it.
#pragma once

#include "gpu/schedule/loop_schedule.h"

namespace tilewright::gpu {

/// Whether a warpgroup of its own dequantizes the second operand in this loop. What it makes has as many stages as the circular buffers.
bool isDequantizing(mlir::scf::ForOp loop);

/// The wait after which, in a loop whose first operand is dequantized by halves, the MMAs of the iteration before are over; else null.
ttg::WgmmaWaitOp drainingWaitIn(mlir::scf::ForOp loop);
/// What another warpgroup dequantizes goes to stages as the copies do, the same ones: they are empty when those are. It says that it has
/// read what was copied, and that a stage is made (barriers `made`), at one place; the consumers wait for that before their MMA.
mlir::LogicalResult fillDequantized(LoopSchedule &schedule, mlir::Value stageIndex, mlir::Value parity, llvm::ArrayRef<mlir::Value> empty,
                                    mlir::Value made);
/// Runs the loads to registers of both partitions an iteration ahead, and has the consumers fence what they read.
void prefetchLoadsInPartitions(LoopSchedule &schedule);
/// Each of the two partitions waits where it first reads a stage of `buffers`.
void waitInPartitions(LoopSchedule &schedule, llvm::ArrayRef<mlir::Value> buffers, mlir::Value barriers, mlir::Value stageIndex,
                      mlir::Value parity);

/// Marks the fence after the computed operands, so that threads store each part of them before they compute the next one
/// (thread/interleave_stores.cpp).
void markInterleavedStores(LoopSchedule &schedule);

} // namespace tilewright::gpu
