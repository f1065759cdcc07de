// Whether a result is right: |result - expected| <= atol + rtol * |expected|, element by element; NaN agrees with NaN. And which of its
// elements nobody wrote.
#pragma once

#include "author/numbers.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tilewright::author {

struct Tolerances {
  double relative = 0, absolute = 0;
};
/// What rounding in a type ("float16") calls for; integers and booleans have to be equal. `hasDot`: its kernel multiplies matrices,
/// which in float32 a GPU may do in TF32, and everybody in another order than the reference.
Tolerances tolerancesOf(std::string_view type, bool hasDot, bool isOnGpu);

struct Comparison {
  int64_t wrong = 0;
  double maxAbsolute = 0;                // infinity where one of the two is no number
  double maxRelative = 0;                // of elements whose expected value is not zero
  std::optional<size_t> worst;           // the element that is furthest beyond its tolerance; nothing: all are right
  std::optional<Number> value, expected; // there
};
/// Two tensors with as many elements. One may hold floats where the other holds integers.
Comparison compare(const Numbers &result, const Numbers &expected, const Tolerances &tolerances);

/// Two patterns of bytes that memory is filled with before a run each; the first makes floats of all widths NaN. What still has both
/// behind the two runs is written by nobody, in integers too, to which one pattern is a number like any other. A boolean
/// has the pattern's highest bit: true, and then false.
inline constexpr unsigned char patterns[2] = {0xFF, 0x7F};

/// Whether each element, back to back and `width` bytes long, still has its pattern in both runs. `isBoolean`: a byte holds the highest bit
/// of it.
std::vector<bool> unwrittenElements(const char *first, const char *second, size_t count, size_t width, bool isBoolean);

} // namespace tilewright::author
