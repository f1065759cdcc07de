// Which loads of a loop may run ahead of the iteration that reads them.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "support/result.h"

namespace tilewright::gpu {

/// Checks that a load that feeds `alloc` can run ahead in its loop.
Result<void> checkPrefetch(mlir::Operation *load, ttg::AllocOp alloc, mlir::scf::ForOp loop, bool mayCopyAsync);
/// Checks that a load of a tile to registers can run ahead in its loop.
Result<void> checkRegisterPrefetch(tt::LoadOp load, mlir::scf::ForOp loop);
/// Checks that the store's buffer can have several stages: it is one for each iteration, and only MMAs after the store read it. Threads may
/// also load what an operand partition stores.
Result<void> checkComputedOperand(ttg::StoreSharedOp store);

/// Returns the number of stages that the loop asks for: its own num_stages, or the kernel's. With tcgen05, warp_specialize=True asks for
/// two at least, with which the producer warp and that of the MMAs run at the same time.
int64_t requestedStages(mlir::scf::ForOp loop, ttg::ConfigAttr config);
/// Finds the loads of the loop that may run ahead, and the operands of MMAs that threads compute.
LoopLoads findPrefetchableLoads(mlir::scf::ForOp loop, const GpuTarget &target);
/// Finds the readers of the buffer's copies. False if something else accesses the buffers, or reads do not end within an iteration.
bool findReaders(CopiedTiles &tiles, mlir::Block *body);
/// Returns how many bytes the load's bytes move in every iteration, if an aligned word holds those of several whole iterations; nothing if
/// it does not (load_advance.cpp).
std::optional<int64_t> bytesOfIteration(tt::LoadOp load, mlir::scf::ForOp loop);

} // namespace tilewright::gpu
