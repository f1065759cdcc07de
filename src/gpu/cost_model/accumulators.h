// Registers of a thread for tiles: how many the MMAs of a loop take, and how many there are.
#pragma once

#include "gpu/tiles/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Returns the registers of a thread for a tile with a layout.
int64_t registersOf(mlir::Type tile);
/// Returns the registers of a thread for the results of a loop's wgmmas, as many as are live at one time.
int64_t accumulatorsOf(mlir::scf::ForOp loop);
/// Returns the registers for MMAs by mma.sync or by threads, with their operands, as if all were live at one time.
int64_t registersOfMmas(mlir::scf::ForOp loop);
/// Returns the registers of a thread that are left for tiles. `warpSpecialized`: a producer warp gives registers to this thread.
int64_t registersForTiles(ttg::ConfigAttr config, const GpuTarget &target, bool warpSpecialized);
/// True if a loop's accumulators leave an SM too few registers for a second CTA.
bool limitsToOneCtaPerSM(mlir::scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target);
/// True if the loop's MMAs read their operands from registers, or threads multiply: they wait for the iteration's loads.
bool multipliesByThreads(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
