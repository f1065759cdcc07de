// Number formats of tensor cores: those of OCP's Microscaling (MX) specification, NVIDIA's ue4m3, and the wider ones. Plain C++.
//
//   code of 8 bits    e4m3 (448 at most, NaN 0x7f), e5m2 (IEEE), ue8m0 (2^(code - 127), NaN 0xff), ue4m3 (e4m3 without its sign)
//   code of 6 bits    e2m3, e3m2 (finite)
//   code of 4 bits    e2m1 (finite)
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::gpu {

enum class TensorFormat { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8, ue8m0, ue4m3, f32, s32 };

/// Returns the width in bits: 32 for tf32.
int64_t bitsOf(TensorFormat format);
/// Returns the name as PTX has it: "e4m3".
std::string_view nameOf(TensorFormat format);
/// Returns the number of a code, exactly. Bits above the format's width are ignored; of tf32 the tensor core reads the upper 19 bits, and
/// of ue4m3 the lower 7.
double decode(TensorFormat format, uint32_t code);
/// Rounds to the nearest code of a float format of at most 16 bits or of f32, ties to even; s32 keeps the low bits of an integer. A value
/// beyond the largest number becomes the largest one in formats of at most 8 bits, and infinity in wider ones. NaN needs a format with NaN.
uint32_t encode(TensorFormat format, double value);

} // namespace tilewright::gpu
