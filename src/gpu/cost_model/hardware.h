// Facts about NVIDIA GPUs that decisions use, one name each. docs/heuristics.md names the source of each fact. What differs between GPUs is
// a field of GpuTarget (support/target.h).
#pragma once

#include <cstdint>

namespace tilewright::gpu {

// ---- warp groups
/// Warps that execute wgmma together, and that setmaxnreg changes together.
inline constexpr int64_t warpsOfGroup = 4;
/// The bit of a warp's number from which on bits number its warp group.
inline constexpr int64_t warpGroupBit = 2;
/// Threads of a warp group.
inline constexpr int64_t threadsOfGroup = 128;

// ---- tensor cores
/// Rows of one wgmma.
inline constexpr int64_t wgmmaRows = 64;
/// The number of columns of a wgmma is a multiple of this.
inline constexpr int64_t wgmmaColumnStep = 8;
/// The same for operands of integers, from 32 columns on: N of 8-bit integers goes up in steps of 16.
inline constexpr int64_t wgmmaColumnStepOfIntegers = 16;
/// The largest number of columns of one wgmma.
inline constexpr int64_t wgmmaMaxColumns = 256;
/// Bytes of a row of A, or of a column of B, that one MMA multiplies.
inline constexpr int64_t mmaDepthBytes = 32;
/// Rows and columns of one mma.sync.
inline constexpr int64_t mmaRows = 16;
inline constexpr int64_t mmaColumns = 8;

// ---- registers
/// Registers of a thread are allocated, and changed by setmaxnreg, in multiples of this.
inline constexpr int64_t registerStep = 8;
/// The bounds of setmaxnreg's count.
inline constexpr int64_t minMaxnreg = 24;
inline constexpr int64_t maxMaxnreg = 256;

// ---- memory
/// Bytes of global memory that the L2 cache transfers as one.
inline constexpr int64_t sectorBytes = 32;
/// Sectors of one line of the L2 cache.
inline constexpr int64_t lineSectors = 4;
/// The widest access of a thread, in bytes.
inline constexpr int64_t maxAccessBytes = 16;
/// The narrowest cp.async, in bytes.
inline constexpr int64_t minCopyAsyncBytes = 4;
/// The largest extent of a TMA box, in elements.
inline constexpr int64_t tmaMaxExtent = 256;
/// The largest number of dimensions of a tensor map.
inline constexpr int64_t tmaMaxRank = 5;
/// Bytes: the base, the strides and the inner extent of a TMA box are multiples of this.
inline constexpr int64_t tmaAlignment = 16;
/// Bytes: a swizzled buffer of TMA or wgmma starts at a multiple of this.
inline constexpr int64_t swizzleAlignment = 1024;
/// Bytes: a buffer of TMA without swizzle starts at a multiple of this.
inline constexpr int64_t plainAlignment = 128;
/// Bytes of a row of the widest swizzle.
inline constexpr int64_t swizzleSpanBytes = 128;
/// Bytes of a row of the narrowest swizzle.
inline constexpr int64_t minSwizzleSpanBytes = 32;
/// Rows after which a swizzle repeats.
inline constexpr int64_t swizzleRows = 8;
/// Bytes of an mbarrier, and its alignment.
inline constexpr int64_t mbarrierBytes = 8;
/// The offset of an access to memory is a signed number below this, in bytes.
inline constexpr int64_t immediateOffsetRange = 8388608;
/// Bits of a shared address that a matrix descriptor holds.
inline constexpr int64_t descriptorAddressBits = 18;
/// Warps that an SM holds at most.
inline constexpr int64_t residentWarps = 64;

} // namespace tilewright::gpu
