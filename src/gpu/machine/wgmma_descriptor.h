// The matrix descriptor of wgmma: an operand in shared memory (PTX ISA, wgmma, matrix descriptor format).
#pragma once

#include <cstdint>

namespace tilewright::gpu {

/// All numbers are bytes. Addresses and offsets are multiples of 16 below 2^18.
struct WgmmaDescriptor {
  uint64_t start = 0;
  uint64_t leading = 0;    ///< K-major: unused with a swizzle; otherwise from one block of columns to the next
  uint64_t stride = 0;     ///< from 8 rows of the swizzle to the next 8
  int64_t span = 0;        ///< a row of the swizzle: 128, 64 or 32; 0 without one
  uint64_t baseOffset = 0; ///< of the swizzle's pattern, in rows
};

inline uint64_t encode(const WgmmaDescriptor &d) {
  uint64_t mode = d.span == 128 ? 1 : d.span == 64 ? 2 : d.span == 32 ? 3 : 0;
  return d.start / 16 | d.leading / 16 << 16 | d.stride / 16 << 32 | d.baseOffset << 49 | mode << 62;
}

inline WgmmaDescriptor decodeWgmma(uint64_t bits) {
  constexpr int64_t spans[] = {0, 128, 64, 32};
  auto offsetAt = [&](int shift) { return (bits >> shift & 0x3fff) * 16; };
  return {offsetAt(0), offsetAt(16), offsetAt(32), spans[bits >> 62], bits >> 49 & 7};
}

} // namespace tilewright::gpu
