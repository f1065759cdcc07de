// Facts about NVIDIA GPUs that decisions use, one name each. docs/heuristics.md names the source of each fact. What differs between GPUs is
// a field of GpuTarget (support/target.h).
#pragma once

#include <cstdint>

namespace tilewright::gpu {

// ---- warp groups
constexpr int64_t warpsOfGroup = 4;     ///< warps that execute wgmma together, and that setmaxnreg changes together
constexpr int64_t warpGroupBit = 2;     ///< from this bit on, a warp's number is that of its warp group
constexpr int64_t threadsOfGroup = 128; ///< threads of a warp group
constexpr int64_t namedBarriers = 16;   ///< of a CTA (bar.sync)

// ---- tensor cores
constexpr int64_t wgmmaRows = 64;                 ///< rows of one wgmma
constexpr int64_t wgmmaColumnStep = 8;            ///< the number of columns of a wgmma is a multiple of this
constexpr int64_t wgmmaColumnStepOfIntegers = 16; ///< the same for 8-bit integers, from 32 columns on
constexpr int64_t wgmmaMaxColumns = 256;          ///< the largest number of columns of one wgmma
constexpr int64_t tensorMemoryLanes = 128;        ///< lanes of tensor memory: rows of one tcgen05.mma, or 64 rows in half of them
constexpr int64_t scalesOfWord = 4;               ///< block scales of a row in a word of tensor memory
constexpr int64_t tcgen05MinRows = 64;            ///< the fewest rows of one tcgen05.mma
constexpr int64_t tcgen05ColumnStep = 16;         ///< the number of columns of a tcgen05.mma with 128 rows is a multiple of this
constexpr int64_t tcgen05MaxColumns = 256;        ///< the largest number of columns of one tcgen05.mma
constexpr int64_t halfTileRowBit = 4;             ///< the bit of a lane that is not a bit of the row, in a tile of 64 rows
constexpr int64_t bytesBetweenPadding = 8;        ///< of 4-bit operands, if a number has a byte of shared memory: so much padding follows
constexpr int64_t tcgen05ColumnsPerCycle = 2;     ///< columns of 128 rows and 32 bytes of K that an SM multiplies in a cycle
constexpr int64_t minTensorColumns = 32;          ///< the fewest columns of an allocation of tensor memory
constexpr int64_t registerBits = 32;              ///< of a register of a thread, and of a lane of a column of tensor memory
constexpr int64_t mmaDepthBytes = 32;             ///< of a row of A, or of a column of B, that one MMA multiplies
constexpr int64_t mmaRows = 16;                   ///< of one mma.sync
constexpr int64_t mmaColumns = 8;                 ///< of one mma.sync

// ---- registers
constexpr int64_t registerStep = 8; ///< registers of a thread come in multiples of this
constexpr int64_t minMaxnreg = 24;  ///< bounds of setmaxnreg's count
constexpr int64_t maxMaxnreg = 256;

// ---- memory
constexpr int64_t sectorBytes = 32;               ///< that the L2 cache transfers as one
constexpr int64_t lineSectors = 4;                ///< sectors of one line of the L2 cache
constexpr int64_t maxAccessBytes = 16;            ///< of the widest access of a thread
constexpr int64_t minCopyAsyncBytes = 4;          ///< of the narrowest cp.async
constexpr int64_t tmaMaxExtent = 256;             ///< the largest extent of a TMA box, in elements
constexpr int64_t tmaMaxRank = 5;                 ///< the largest number of dimensions of a tensor map
constexpr int64_t tmaAlignment = 16;              ///< of the base, the strides and the inner extent of a box, in bytes
constexpr int64_t swizzleAlignment = 1024;        ///< of a swizzled buffer of TMA or wgmma, in bytes
constexpr int64_t plainAlignment = 128;           ///< of a buffer of TMA without swizzle, in bytes
constexpr int64_t swizzleSpanBytes = 128;         ///< bytes of a row of the widest swizzle
constexpr int64_t minSwizzleSpanBytes = 32;       ///< bytes of a row of the narrowest swizzle
constexpr int64_t swizzleRows = 8;                ///< rows after which a swizzle repeats
constexpr int64_t reservedSharedBytes = 1024;     ///< of each CTA on an SM, next to what it asks for
constexpr int64_t mbarrierBytes = 8;              ///< bytes of an mbarrier, and its alignment
constexpr int64_t clcResponseBytes = 16;          ///< bytes of a response of cluster launch control, and its alignment
constexpr int64_t immediateOffsetRange = 8388608; ///< bytes: the offset of an access is a signed number below this
constexpr int64_t descriptorAddressBits = 18;     ///< bits of a shared address that a matrix descriptor holds
constexpr int64_t residentWarps = 64;             ///< warps that an SM holds at most

} // namespace tilewright::gpu
