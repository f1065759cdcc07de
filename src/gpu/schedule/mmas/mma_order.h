// The two parts of schedule-mmas. Each changes the order of a loop's body, which is data: nothing moves yet.
#pragma once

#include "gpu/schedule/block_order.h"
#include "gpu/schedule/mma_waits.h"

namespace tilewright::gpu {

/// True if an MMA may be issued, and waited for, on either side of the operation: it says nothing about buffers.
bool mayPass(mlir::Operation *op);
/// Issues MMAs, and loads to registers, earlier (early_mmas.cpp). What is issued early is held for longer: `registers` are there next to
/// all accumulators. Returns the registers that the loads leave.
int64_t issueEarly(mlir::scf::ForOp loop, BlockOrder &order, int64_t registers);
/// Waits for MMAs later (late_waits.cpp). What is waited for late keeps the registers of its first operand. `warpSpecialized`: a producer
/// fills circular buffers. Returns the edges from MMAs, and from arithmetic between them, to the waits at which they end.
llvm::SmallVector<MmaEdge> waitLate(mlir::scf::ForOp loop, BlockOrder &order, int64_t registers, bool warpSpecialized);

} // namespace tilewright::gpu
