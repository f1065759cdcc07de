// The register budget of a thread, for choose-warps and the loop schedule.
#pragma once

#include "gpu/tiles/ttg.h"

namespace tilewright::gpu {

/// Registers of a thread next to accumulators: addresses, row values, temporaries between two dots. Attention backward with 64 columns just
/// fits with 208 of 255 registers for accumulators and an operand (ptxas 13.0).
constexpr int64_t otherRegisters = 47;

/// Accumulator registers of an fp8 dot that are promoted (added to the f32 sum) at a time: 128 columns of 64 rows. 256 columns and the sum
/// itself would exceed a thread's registers.
constexpr int64_t registersOfPromotedPart = 64;

/// Warps of a warp group. setmaxnreg moves registers between warp groups.
constexpr int64_t warpsOfGroup = 4;

/// Returns the registers of a thread at the start of a CTA that has `partitionGroups` warp groups besides those of its config.
int64_t firstRegisters(ttg::ConfigAttr config, const GpuTarget &target, int64_t partitionGroups);
/// Returns the registers of a thread of the config's warp groups, after the partitions' groups have released theirs. `kept`: the registers
/// that a thread of each of these groups keeps.
int64_t defaultRegisters(ttg::ConfigAttr config, const GpuTarget &target, llvm::ArrayRef<int64_t> kept);

/// Returns the maximum number of accumulator bits that are live at one time in a loop of the function.
int64_t accumulatorBits(mlir::Operation *function);

} // namespace tilewright::gpu
