// The tuned numbers of the GPU back end. Each has a row in docs/heuristics.md: what it decides, on which machine and kernel it was
// measured, and what it gained. tools/check_heuristics.py compares the values. Limits of analyses, which bound compile time, stay with the
// analyses.
#pragma once

#include "gpu/cost_model/hardware.h"

namespace tilewright::gpu {

// ---- registers of a thread that hold no tiles
/// Next to accumulators: addresses, row values, temporaries between two dots.
inline constexpr int64_t otherRegisters = 47;
/// Next to the accumulators of a thread that only accumulates one dot.
inline constexpr int64_t otherRegistersNextToSums = 26;
/// Next to rows that a reduction needs: addresses, masks, partial sums.
inline constexpr int64_t otherRegistersNextToRows = 16;
/// Stages and coordinates of copies. A consumer has none of them, because a producer warp computes them.
inline constexpr int64_t copyRegisters = 16;

// ---- registers that partitions of warps keep (setmaxnreg)
/// Of a producer thread.
inline constexpr int64_t producerRegisters = 24;
/// Of a thread that dequantizes an operand.
inline constexpr int64_t dequantizeRegisters = 72;
/// Of a thread that dequantizes, and loads the scales of the consumers.
inline constexpr int64_t loaderRegisters = 88;
/// Of a consumer thread, at most.
inline constexpr int64_t maxConsumerRegisters = 240;

// ---- registers of tiles
/// Accumulators of an fp8 dot that are promoted (added to the f32 sum) at a time.
inline constexpr int64_t registersOfPromotedPart = 64;
/// With more accumulators in a thread, addresses that only stores use move after the loop.
inline constexpr int64_t manyAccumulators = 128;
/// A dequantize partition needs as many accumulators in a thread: with fewer, a second CTA fits on the SM and fills the gaps.
inline constexpr int64_t minDequantizedSums = 128;
/// A row stays in shared memory if a thread holds as many registers of rows across a reduction,
inline constexpr int64_t minStagedRegisters = 128;
/// and if as many CTAs
inline constexpr int64_t stagedCtas = 3;
/// of so many registers per thread fit on an SM.
inline constexpr int64_t stagedCtaRegisters = 160;
/// Loads of a row's weights are hoisted above its reduction up to so many registers of a thread.
inline constexpr int64_t maxHoistedRegisters = 16;
/// Comparisons share results in CTAs of as many warps. With fewer, ptxas may use more registers for such code.
inline constexpr int64_t minWarpsToShareComparisons = 16;

// ---- the schedule of a loop
/// As many stages are enough to keep a circular buffer across tiles.
inline constexpr int64_t minCrossTileStages = 3;
/// As many stages of copied and of dequantized tiles must fit in shared memory.
inline constexpr int64_t minDequantizedStages = 3;
/// Stages of a buffer that threads fill for MMAs with which no thread waits for the readers of a stage.
inline constexpr int64_t stagesWithoutWaiting = 3;
/// Buffers that MMAs read are refilled at the barrier after the computed operands from so many stages on.
inline constexpr int64_t minStagesToRefillAtBarrier = 4;
/// From so many MMAs on, rows arrive with the tiles. Of fewer MMAs, the first one may be prefetched, and has a circular buffer to itself.
inline constexpr int64_t minMmasToMergeRows = 3;
/// From so many MMAs on, the last one stays in flight until the next iteration's first wait.
inline constexpr int64_t minMmasToDrainLate = 3;
/// Up to so many MMAs alternate with what is computed between them, and stages are refilled after the first one.
inline constexpr int64_t maxAlternatingMmas = 2;
/// Scales of a row are loaded at the top of an iteration from so many bytes on.
inline constexpr int64_t minScaleBytesAtTop = 4;
/// Bytes of the word of scales that a thread loads for several iterations.
inline constexpr int64_t scaleWordBytes = 8;
/// The same where the dequantize partition alone loads scales.
inline constexpr int64_t scaleGroupBytes = 16;
/// Columns of scales in an iteration that the dequantize partition forwards, at most.
inline constexpr int64_t maxForwardedScales = 8;
/// Elements along K of a dequantized operand, at least.
inline constexpr int64_t minDequantizedDepth = 32;

// ---- accesses to memory
/// Tiles of an iteration's dots that take at most so many bytes are copied by cp.async instead of TMA, if threads read them.
inline constexpr int64_t maxBytesWithoutTma = 12288;
/// Bytes of a row of A in each CTA of an in-cluster split-K, at least.
inline constexpr int64_t minSplitKRowBytes = 64;
/// A CTA that shares a dot with others has as many rows or columns, at least.
inline constexpr int64_t minRowsPerCta = 16;
/// CTAs that share a program, at most, so that its rows fit in registers.
inline constexpr int64_t maxCtasForRows = 8;
/// A version for shorter rows skips parts of a row, of which there are so many,
inline constexpr int64_t rowParts = 8;
/// and keeps at least so many: blocks are powers of two, so rows are longer than half a block.
inline constexpr int64_t minRowParts = 5;
/// The first pause of a thread that waits for a lock: so many sleeps, at most,
inline constexpr int64_t maxLockSleeps = 16;
/// of so many nanoseconds.
inline constexpr int64_t lockSleepNanoseconds = 100;

// ---- costs in issue slots of a warp
/// Two barriers of an exchange through shared memory: they wait for the slowest warp, and shared memory has a latency of 30 cycles.
inline constexpr int64_t exchangeCost = 60;
/// One wavefront of shared memory.
inline constexpr int64_t wavefrontCost = 2;
/// One shuffle.
inline constexpr int64_t shuffleCost = 2;
/// One access to global memory, next to its sectors.
inline constexpr int64_t instructionCost = 4;
/// A sector that a store writes in part.
inline constexpr int64_t partialSectorCost = 2;
/// The time in which memory writes one sector.
inline constexpr int64_t streamedSectorCost = 6;
/// A line that a store writes in part takes as long as this many quarters of a sector, at least.
inline constexpr int64_t minLineQuarters = 5;
/// A loop without a known count runs so many iterations,
inline constexpr int64_t assumedIterations = 8;
/// and nested loops together so many, at most.
inline constexpr int64_t maxAssumedIterations = 512;

// ---- costs of a split over CTAs, in elements that one CTA computes
/// An exchange: two cluster barriers and a transfer through shared memory.
inline constexpr int64_t clusterExchangeCost = 500;
/// An element that is exchanged.
inline constexpr int64_t clusterElementCost = 16;
/// An element that is loaded or stored.
inline constexpr int64_t clusterAccessCost = 16;
/// A slice of a tile that a CTA holds.
inline constexpr int64_t clusterSliceCost = 10;

// ---- the code of a thread
/// Lanes share the reading of partial values from so many on.
inline constexpr int64_t minPartsToShare = 16;
/// Scratch memory of an exchange between CTAs stays reserved after it up to so many bytes. Then no barrier is needed.
inline constexpr int64_t maxReservedBytes = 8192;
/// From so many loop-invariant descriptors on, MMAs compute them in each iteration.
inline constexpr int64_t minDescriptorsToRecompute = 16;
/// Multiply-adds of a dot in one iteration of its loop, at most.
inline constexpr int64_t maxMultiplyAdds = 512;
/// Contiguous elements that a thread loads for such a dot, at most.
inline constexpr int64_t maxContiguousOfFma = 8;
/// Values that a wait for MMAs names, so that ptxas computes them before it.
inline constexpr int64_t namedBeforeWait = 8;

// ---- occupancy
/// A loop that sums the results of so many loads, and does nothing else, promises one CTA per SM.
inline constexpr int64_t minSummedLoads = 2;
/// ptxas runs again for two CTAs per SM if that takes at most one in so many registers from a thread.
inline constexpr int64_t registersPerTakenOne = 8;

} // namespace tilewright::gpu
