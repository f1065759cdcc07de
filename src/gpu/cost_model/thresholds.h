// The tuned numbers of the GPU back end. Each has a row in docs/heuristics.md: what it decides, on which machine and kernel it was
// measured, and what it gained. tools/check_heuristics.py compares the values. Limits of analyses, which bound compile time, stay with the
// analyses. Registers are those of a thread, of 32 bits each. A number holds for every target that can do what it decides.
#pragma once

#include "support/gpu_hardware.h"

namespace tilewright::gpu {

// ---- registers that hold no tiles
constexpr int64_t otherRegisters = 47;           ///< next to accumulators: addresses, row values, temporaries between two dots
constexpr int64_t otherRegistersNextToSums = 26; ///< next to the accumulators of a thread that only accumulates one dot
constexpr int64_t otherRegistersNextToRows = 16; ///< next to rows that a reduction needs: addresses, masks, partial sums
constexpr int64_t copyRegisters = 16;            ///< stages and coordinates of copies: a producer warp has them in place of consumers

// ---- registers that partitions of warps keep (setmaxnreg)
constexpr int64_t producerRegisters = 24;     ///< of a producer thread
constexpr int64_t mmaPartitionRegisters = 24; ///< of a thread of the MMA partition, as of the producer in its warp group
constexpr int64_t correctionRegisters = 88;   ///< of a thread of the correction partition: 64 columns of a row, addresses and factors
constexpr int64_t dequantizeRegisters = 56;   ///< of a thread that dequantizes an operand
constexpr int64_t loaderRegisters = 88;       ///< of a thread that dequantizes, and loads the scales of the consumers
constexpr int64_t maxConsumerRegisters = 240; ///< of a consumer thread, at most

// ---- registers of tiles
constexpr int64_t registersOfPromotedPart = 64; ///< accumulators of an fp8 dot that are promoted (added to the f32 sum) at a time
constexpr int64_t manyAccumulators = 128;       ///< with more in a thread, addresses that only stores use move after the loop
constexpr int64_t minDequantizedSums = 128;     ///< with fewer, a second CTA fits on the SM, and no partition dequantizes
constexpr int64_t minStagedRegisters = 128; ///< a row stays in shared memory if a thread would hold so many registers across a reduction
constexpr int64_t stagedCtaRegisters = 160; ///< and one more CTA fits on an SM with so many registers per thread
constexpr int64_t maxHoistedRegisters = 16; ///< of a row's weights, which are loaded before its reduction
constexpr int64_t minWarpsToShareComparisons = 16; ///< of equal results. With fewer, ptxas may use more registers for that

constexpr int64_t registersOfOwnAddress = 4; ///< of an element of a load of words whose offset and address are its own

// ---- the schedule of a loop
constexpr int64_t operandParts = 4;         ///< of the K extent of an operand that threads compute for an MMA
constexpr int64_t partsBeforeMma = 3;       ///< of these, after which the MMA starts
constexpr int64_t maxMmasInFlight = 16;     ///< of tcgen05; before a further one stands a wait
constexpr int64_t coveringBytes = 32768;    ///< of copies in flight, which cover the latency of memory
constexpr int64_t maxFreeStages = 6;        ///< of a circular buffer that is deeper than num_stages
constexpr int64_t minCrossTileStages = 3;   ///< enough to keep a circular buffer across tiles
constexpr int64_t minDequantizedStages = 3; ///< of copied and of dequantized tiles
constexpr int64_t stagesWithoutWaiting = 3; ///< of a buffer that threads fill for MMAs, so that no thread waits for readers
constexpr int64_t minMmasToMergeRows = 3;   ///< rows arrive with the tiles. Of fewer MMAs, the first one may be prefetched alone
constexpr int64_t minMmasToDrainLate = 3;   ///< the last MMA stays in flight until the next iteration's first wait
constexpr int64_t maxAlternatingMmas = 2;   ///< MMAs alternate with arithmetic, and stages are refilled after the first one
constexpr int64_t widenedLoadBytes = 8;     ///< bytes of the word of scales that a thread loads for several iterations
constexpr int64_t widenedRowBytes = 16;     ///< the same where the dequantize partition alone loads scales
constexpr int64_t maxForwardedScales = 8;   ///< columns of scales in an iteration that the dequantize partition forwards, at most
constexpr int64_t minDequantizedDepth = 32; ///< elements along K of a dequantized operand, at least

// ---- accesses to memory
constexpr int64_t maxBytesWithoutTma = 12288; ///< tiles that threads read for dots are copied by cp.async instead of TMA
constexpr int64_t minSplitKRowBytes = 64;     ///< bytes of a row of A in each CTA of an in-cluster split-K, at least
constexpr int64_t minRowsPerCta = 16;         ///< a CTA that shares a dot with others has as many rows or columns, at least
constexpr int64_t maxCtasForRows = 8;         ///< CTAs that share a program, at most, so that its rows fit in registers
constexpr int64_t rowParts = 8;               ///< of a row, some of which a version for shorter rows skips
constexpr int64_t minRowParts = 5;            ///< that such a version keeps: blocks are powers of two, so rows are longer than half a block
constexpr int64_t maxLockSleeps = 16;         ///< in the first pause of a thread that waits for a lock
constexpr int64_t lockSleepNanoseconds = 100; ///< of one sleep

// ---- costs in issue slots of a warp
constexpr int64_t exchangeCost = 60; ///< two barriers, which wait for the slowest warp, and the latency of shared memory (30 cycles)
constexpr int64_t wavefrontCost = 2; ///< one wavefront of shared memory
constexpr int64_t shuffleCost = 2;   ///< one shuffle
constexpr int64_t dependentShuffleLatency = 16; ///< one more dependent shuffle
constexpr int64_t instructionCost = 4;          ///< one access to global memory, next to its sectors and lines
constexpr int64_t tagLookupCost = 2;            ///< a line that an access touches: the L1 cache looks up one in a cycle, as for a wavefront
constexpr int64_t partialSectorCost = 2;        ///< a sector that a store writes in part
constexpr int64_t streamedSectorCost = 6;       ///< the time in which memory writes one sector
constexpr int64_t minLineQuarters = 5;          ///< a line takes the time of so many quarters of a sector, at least
constexpr int64_t assumedIterations = 8;        ///< of a loop
constexpr int64_t maxAssumedIterations = 512;   ///< of nested loops together

// ---- costs of a split over CTAs, in elements that one CTA computes
constexpr int64_t clusterExchangeCost = 500; ///< an exchange: two cluster barriers and a transfer through shared memory
constexpr int64_t clusterElementCost = 16;   ///< an element that is exchanged
constexpr int64_t clusterAccessCost = 16;    ///< an element that is loaded or stored
constexpr int64_t clusterSliceCost = 10;     ///< a slice of a tile that a CTA holds
constexpr int64_t maxMovedClasses = 16;      ///< classes of tiles whose splits change together, at most
constexpr int64_t maxSplitSweeps = 8;        ///< sweeps over all classes that improve their splits, at most

// ---- the code of a thread
constexpr int64_t minCombinedOperations = 16;     ///< lanes share the combination of partial values that takes so many operations
constexpr int64_t maxReservedBytes = 8192;        ///< scratch memory that stays reserved after an exchange between CTAs, to save a barrier
constexpr int64_t minDescriptorsToRecompute = 16; ///< loop-invariant descriptors, from which on each iteration computes them
constexpr int64_t maxMultiplyAdds = 512;          ///< multiply-adds of a dot in one iteration of its loop, at most
constexpr int64_t maxContiguousOfFma = 8;         ///< contiguous elements that a thread loads for such a dot, at most
constexpr int64_t fmaTileExtent = 4;              ///< rows, and columns, of such a dot that a thread computes, at most
constexpr int64_t fmaLaneColumns = 8;             ///< lanes of a warp along the columns of such a dot, at most
constexpr int64_t minExpansion = 8;               ///< addresses are computed again from tiles that have so many times fewer elements
constexpr int64_t maxUnrolledRegisters = 32;      ///< that the loads of a loop write, of the iterations that become one
constexpr int64_t maxUnrolledInstructions = 1024; ///< LLVM's instructions of iterations that become one, at most
constexpr int64_t maxUnrolledIterations = 16;     ///< of a loop, that become one
constexpr int64_t registersOfStoredPart = 8;      ///< of a thread, in one store of a loop to tensor memory
constexpr int64_t registersOfTensorAccess = 32;   ///< of a thread, in one tcgen05.ld or st, at most: ptxas needs all at once
constexpr int64_t scaledLoadsInFlight = 2;        ///< tcgen05.ld of sums that threads scale, before a wait
constexpr int64_t namedBeforeWait = 8;            ///< values that a wait for MMAs names, so that ptxas computes them before it

// ---- occupancy
constexpr int64_t minSummedLoads = 2;       ///< a loop with so many loads that does nothing but sum promises one CTA per SM
constexpr int64_t registersPerTakenOne = 8; ///< ptxas runs again if one more CTA per SM takes at most one register in so many
constexpr int64_t maxCtasOfSecondRun = 3;   ///< CTAs per SM for which ptxas runs again, at most

} // namespace tilewright::gpu
