// Facts about NVIDIA GPUs that decisions use, one name each. Each section names the targets for which its facts hold, each comment the
// unit. docs/heuristics.md names the source of each fact. What differs between GPUs is a field of GpuTarget (support/target.h).
#pragma once

#include <cstdint>

namespace tilewright::gpu {

// ---- every target: launches
constexpr int64_t maxGridX = 2147483647; ///< CTAs of a grid along its first axis
constexpr int64_t maxGridYZ = 65535;     ///< CTAs of a grid along each other axis

// ---- every target: warps and their registers
constexpr int64_t warpsOfGroup = 4;     ///< warps that execute wgmma together, and that setmaxnreg changes together
constexpr int64_t warpGroupBit = 2;     ///< bit of a warp's number: from this one on, the number is that of its warp group
constexpr int64_t threadsOfGroup = 128; ///< threads of a warp group
constexpr int64_t namedBarriers = 16;   ///< barriers of a CTA (bar.sync)
constexpr int64_t registerBits = 32;    ///< bits of a register of a thread, and of a lane of a column of tensor memory
constexpr int64_t registerStep = 8;     ///< registers: those of a thread come in multiples of this

// ---- every target: memory
constexpr int64_t sectorBytes = 32;               ///< bytes that the L2 cache transfers as one
constexpr int64_t lineSectors = 4;                ///< sectors of one line of the L2 cache
constexpr int64_t maxAccessBytes = 16;            ///< bytes of the widest access of a thread
constexpr int64_t minCopyAsyncBytes = 4;          ///< bytes of the narrowest cp.async (sm_80 and newer)
constexpr int64_t reservedSharedBytes = 1024;     ///< bytes of each CTA on an SM, next to what it asks for (sm_80 and newer)
constexpr int64_t immediateOffsetRange = 8388608; ///< bytes: the offset of an access is a signed number below this

// ---- every target: mma.sync
constexpr int64_t mmaDepthBytes = 32; ///< bytes of a row of A, or of a column of B, that one MMA multiplies; of wgmma and tcgen05, too
constexpr int64_t mmaRows = 16;       ///< rows of one mma.sync
constexpr int64_t mmaColumns = 8;     ///< columns of one mma.sync

// ---- sm_90 and newer: TMA, mbarriers, setmaxnreg
constexpr int64_t tmaMaxExtent = 256;       ///< elements: the largest extent of a TMA box
constexpr int64_t tmaMaxRank = 5;           ///< dimensions of a tensor map, at most
constexpr int64_t tmaAlignment = 16;        ///< bytes: of the base, the strides and the inner extent of a box
constexpr int64_t swizzleAlignment = 1024;  ///< bytes: alignment of a swizzled buffer of TMA or wgmma
constexpr int64_t plainAlignment = 128;     ///< bytes: alignment of a buffer of TMA without swizzle
constexpr int64_t swizzleSpanBytes = 128;   ///< bytes of a row of the widest swizzle
constexpr int64_t minSwizzleSpanBytes = 32; ///< bytes of a row of the narrowest swizzle
constexpr int64_t swizzleRows = 8;          ///< rows after which a swizzle repeats
constexpr int64_t mbarrierBytes = 8;        ///< bytes of an mbarrier, and its alignment
constexpr int64_t minMaxnreg = 24;          ///< registers of a thread: the least that setmaxnreg sets
constexpr int64_t maxMaxnreg = 256;         ///< registers of a thread: the most that setmaxnreg sets

// ---- sm_90a: wgmma
constexpr int64_t wgmmaRows = 64;                 ///< rows of one wgmma
constexpr int64_t wgmmaColumnStep = 8;            ///< columns: those of a wgmma are a multiple of this
constexpr int64_t wgmmaColumnStepOfIntegers = 16; ///< columns: the same for 8-bit integers, from 32 columns on
constexpr int64_t wgmmaMaxColumns = 256;          ///< columns of one wgmma, at most
constexpr int64_t descriptorAddressBits = 18;     ///< bits of a shared address that a matrix descriptor holds; of tcgen05, too

// ---- sm_100a and newer: tcgen05, cluster launch control
constexpr int64_t tensorMemoryLanes = 128;    ///< lanes of tensor memory: rows of one tcgen05.mma, or 64 rows in half of them
constexpr int64_t minTensorColumns = 32;      ///< columns of an allocation of tensor memory, at least
constexpr int64_t scalesOfWord = 4;           ///< block scales of a row in a word of tensor memory
constexpr int64_t tcgen05MinRows = 64;        ///< rows of one tcgen05.mma, at least
constexpr int64_t tcgen05ColumnStep = 16;     ///< columns: those of a tcgen05.mma with 128 rows are a multiple of this
constexpr int64_t tcgen05MaxColumns = 256;    ///< columns of one tcgen05.mma, at most
constexpr int64_t tcgen05ColumnsPerCycle = 2; ///< columns of 128 rows and 32 bytes of K that an SM multiplies in a cycle (B200)
constexpr int64_t halfTileRowBit = 4;         ///< bit of a lane that is not a bit of the row, in a tile of 64 rows
constexpr int64_t bytesBetweenPadding = 8;    ///< bytes of 4-bit operands after which as many of padding follow, with a number to a byte
constexpr int64_t clcResponseBytes = 16;      ///< bytes of a response of cluster launch control, and its alignment
constexpr int64_t copyLatencyCycles = 1110;   ///< cycles from the start of a copy by TMA to its arrival, from memory (B200)

} // namespace tilewright::gpu
