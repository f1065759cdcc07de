// Accumulators: how many registers the dots of a kernel need, before tiles have layouts and after that, and how many there are.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

// ---- before tiles have layouts

/// Returns the bits of a tile that dots accumulate in: of the columns that are not padding. The tile has this shape and valid extent.
int64_t accumulatorBits(mlir::Type tile, const Dims &shape, const Dims &valid);
/// Returns the same for a tile of the program.
int64_t tileAccumulatorBits(mlir::Value tile);
/// Returns the maximum number of accumulator bits that are live at one time in a loop of the function. `bitsOf`: those of one tile.
/// `carriedSums`: with the results of dots that loops carry, which some targets have in tensor memory.
int64_t maxAccumulatorBits(tt::FuncOp function, llvm::function_ref<int64_t(mlir::Value)> bitsOf, bool carriedSums = true);
/// True if so many accumulator bits leave enough of the registers of a CTA's threads.
bool accumulatorsFit(int64_t bits, int64_t warps, const GpuTarget &target);
/// True if one CTA with the maximum number of warps can hold the accumulators of the function.
bool accumulatorsFit(tt::FuncOp function, const GpuTarget &target, llvm::function_ref<int64_t(mlir::Value)> bitsOf);

// ---- with layouts

/// Returns the registers of a thread for a tile with a layout.
int64_t registersOf(mlir::Type tile);
/// True if MMAs compute the tile in tensor memory.
bool isInTensorMemory(mlir::Type tile);
/// Returns the registers of a thread for the results of a loop's MMAs, as many as are live at one time. Those in tensor memory take
/// registers from the wait to the last use only, and none if the loop carries them. `loadedSums`: but with those that threads load after
/// the loop, which count for the registers of the kernel.
int64_t accumulatorsOf(mlir::scf::ForOp loop, bool loadedSums = false);
/// Returns the registers for MMAs by mma.sync or by threads, with their operands, as if all were live at one time.
int64_t registersOfMmas(mlir::scf::ForOp loop);
/// Returns the registers of a thread that are left for tiles. `warpSpecialized`: a producer warp gives registers to this thread.
int64_t registersForTiles(ttg::ConfigAttr config, const GpuTarget &target, bool warpSpecialized);
/// True if threads have registers for whole operands of the loop's MMAs. Otherwise they read operands part by part while they multiply.
bool holdWholeOperands(mlir::scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target);
/// True if a loop's accumulators leave an SM too few registers for a second CTA.
bool limitsToOneCtaPerSM(mlir::scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target);
/// True if the loop's MMAs read their operands from registers, or threads multiply: they wait for the iteration's loads.
bool multipliesByThreads(mlir::scf::ForOp loop);

} // namespace tilewright::gpu
