// Decoding and rounding by the formats' fields: a sign, an exponent with a bias, and a fraction.
#include "gpu/machine/small_floats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::gpu {

namespace {
/// The fields of a float format, and which codes are not finite.
struct Fields {
  int exponentBits, fractionBits, bias;
  enum Special { finite, oneNan, ieee } special; // oneNan: the code of all ones, with either sign
  int bits() const { return 1 + exponentBits + fractionBits; }
};
} // namespace

static Fields fieldsOf(TensorFormat format) {
  switch (format) {
  case TensorFormat::f16: return {5, 10, 15, Fields::ieee};
  case TensorFormat::bf16: return {8, 7, 127, Fields::ieee};
  case TensorFormat::e4m3:
  case TensorFormat::ue4m3: return {4, 3, 7, Fields::oneNan};
  case TensorFormat::e5m2: return {5, 2, 15, Fields::ieee};
  case TensorFormat::e2m3: return {2, 3, 1, Fields::finite};
  case TensorFormat::e3m2: return {3, 2, 3, Fields::finite};
  case TensorFormat::e2m1: return {2, 1, 1, Fields::finite};
  default: return {8, 23, 127, Fields::ieee};
  }
}

int64_t bitsOf(TensorFormat format) {
  switch (format) {
  case TensorFormat::s8:
  case TensorFormat::u8:
  case TensorFormat::ue8m0: return 8;
  case TensorFormat::s32: return 32;
  default: return fieldsOf(format).bits();
  }
}

std::string_view nameOf(TensorFormat format) {
  constexpr std::array<std::string_view, 14> names = {"f16",  "bf16", "tf32", "e4m3",  "e5m2",  "e2m3", "e3m2",
                                                      "e2m1", "s8",   "u8",   "ue8m0", "ue4m3", "f32",  "s32"};
  return names[static_cast<size_t>(format)];
}

static double powerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

static double decodeFields(const Fields &fields, uint32_t code) {
  uint32_t fraction = code & ((1u << fields.fractionBits) - 1), largest = (1u << fields.exponentBits) - 1;
  uint32_t exponent = code >> fields.fractionBits & largest;
  double sign = code >> (fields.bits() - 1) & 1 ? -1 : 1;
  bool allOnes = exponent == largest && fraction == (1u << fields.fractionBits) - 1;
  if (fields.special == Fields::oneNan && allOnes) return std::numeric_limits<double>::quiet_NaN();
  if (fields.special == Fields::ieee && exponent == largest)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  uint32_t significand = exponent ? fraction | 1u << fields.fractionBits : fraction;
  return sign * significand * powerOfTwo((exponent ? static_cast<int>(exponent) : 1) - fields.bias - fields.fractionBits);
}

double decode(TensorFormat format, uint32_t code) {
  constexpr uint32_t ignoredBitsOfTf32 = 0x1fff;
  switch (format) {
  case TensorFormat::s8: return static_cast<int8_t>(code);
  case TensorFormat::u8: return static_cast<uint8_t>(code);
  case TensorFormat::s32: return static_cast<int32_t>(code);
  case TensorFormat::ue8m0: return (code & 0xff) == 0xff ? std::numeric_limits<double>::quiet_NaN() : powerOfTwo(int(code & 0xff) - 127);
  case TensorFormat::ue4m3: return decodeFields(fieldsOf(format), code & 0x7f);
  case TensorFormat::tf32: return std::bit_cast<float>(code & ~ignoredBitsOfTf32);
  case TensorFormat::f32: return std::bit_cast<float>(code);
  default: return decodeFields(fieldsOf(format), code);
  }
}

/// Returns the largest finite code without its sign.
static uint32_t largestCode(const Fields &fields) {
  uint32_t ones = (1u << (fields.bits() - 1)) - 1;
  if (fields.special == Fields::finite) return ones;
  return fields.special == Fields::oneNan ? ones - 1 : (((1u << fields.exponentBits) - 1) << fields.fractionBits) - 1;
}

uint32_t encode(TensorFormat format, double value) {
  if (format == TensorFormat::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (format == TensorFormat::s32) return static_cast<uint32_t>(static_cast<int64_t>(value));
  Fields fields = fieldsOf(format);
  uint32_t sign = std::signbit(value) ? 1u << (fields.bits() - 1) : 0, largest = largestCode(fields);
  double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | (format == TensorFormat::e5m2 ? 0x7e : (1u << (fields.bits() - 1)) - 1); // the NaN of the hardware
  if (magnitude == 0) return sign;
  bool saturates = fields.bits() <= 8;
  int exponent = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023; // of infinity, larger than every other one
  int unit = std::max(exponent, 1 - fields.bias) - fields.fractionBits;
  double steps = std::nearbyint(magnitude * powerOfTwo(-unit)); // of 2^unit; a carry gives the next binade's first code
  if (std::isinf(magnitude) || steps * powerOfTwo(unit) > decodeFields(fields, largest)) return sign | (saturates ? largest : largest + 1);
  auto code = static_cast<uint32_t>(steps) + (static_cast<uint32_t>(unit + fields.fractionBits + fields.bias - 1) << fields.fractionBits);
  return sign | code;
}

} // namespace tilewright::gpu
