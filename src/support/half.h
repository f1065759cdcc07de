// 16-bit floats as bits, without instructions of the CPU or types of the host compiler: both may lack them.
#pragma once

#include <cstdint>
#include <cstring>

namespace tilewright {

/// Converts to IEEE half, rounding to nearest, ties to even.
inline uint16_t halfBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  int64_t exponent = static_cast<int64_t>(bits >> 52 & 0x7ff) - 1023;
  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  if (exponent == 1024) return static_cast<uint16_t>(sign | 0x7c00 | (fraction ? 0x200 | fraction >> 42 : 0));
  if (exponent > 15) return sign | 0x7c00;
  if (exponent < -25) return sign;
  // The dropped bits decide the rounding. A carry into the exponent is right, up to infinity.
  int64_t shift = 42;
  uint64_t result;
  if (exponent < -14) {
    fraction |= uint64_t(1) << 52;
    shift += -14 - exponent;
    result = fraction >> shift;
  } else {
    result = static_cast<uint64_t>(exponent + 15) << 10 | fraction >> shift;
  }
  uint64_t rest = fraction & ((uint64_t(1) << shift) - 1), tie = uint64_t(1) << (shift - 1);
  if (rest > tie || (rest == tie && (result & 1))) ++result;
  return static_cast<uint16_t>(sign | result);
}

inline float halfValue(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023, word;
  if (exponent == 31) {
    word = sign | 0x7f800000 | fraction << 13;
  } else if (exponent != 0) {
    word = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    float small = static_cast<float>(fraction) * 0x1p-24f;
    std::memcpy(&word, &small, 4);
    word |= sign;
  }
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

/// Converts to bfloat16, rounding to nearest, ties to even.
inline uint16_t bfloatBits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  if (value != value) return static_cast<uint16_t>(word >> 16 | 0x40);
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/// The same from double. Rounding to float first would round twice. Rounding to odd (setting the last bit if bits are dropped) makes the
/// second rounding right.
inline uint16_t bfloatBits(double value) {
  float narrow = static_cast<float>(value);
  double wide = narrow;
  uint32_t word;
  std::memcpy(&word, &narrow, 4);
  if (wide != value && value == value && (word & 0x7f800000) != 0x7f800000) {
    if ((wide > value) == (value > 0)) --word; // towards zero
    word |= 1;
    std::memcpy(&narrow, &word, 4);
  }
  return bfloatBits(narrow);
}

inline float bfloatValue(uint16_t bits) {
  uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

} // namespace tilewright
