// Compares results: |result - expected| <= atol + rtol * |expected|, element by element; NaN equals NaN. Also finds the elements that were
// never written.
#pragma once

#include "author/numbers.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tilewright::author {

struct Tolerances {
  double relative = 0, absolute = 0;
};
/// Returns the tolerances for a type ("float16"); integers and booleans have to be equal. `hasDot`: the kernel has a dot. A GPU may compute
/// a float32 dot in TF32, and the order of its sum differs from the reference's.
Tolerances tolerancesOf(std::string_view type, bool hasDot, bool isOnGpu);

struct Comparison {
  int64_t wrong = 0;
  double maxAbsolute = 0;                // infinity if only one of the two is a number
  double maxRelative = 0;                // of elements whose expected value is not zero
  std::optional<size_t> worst;           // the element that is furthest beyond its tolerance; nothing: all are right
  std::optional<Number> value, expected; // at the worst element
};
/// Compares two tensors with as many elements. Those of different kinds or widths are compared as doubles.
Comparison compare(const Numbers &result, const Numbers &expected, const Tolerances &tolerances);

/// Byte patterns that fill the memory before each of two runs. The first one makes floats of all widths NaN. An element that holds its
/// pattern after both runs was never written. One pattern is not enough for integers, where it is an ordinary value. A boolean has the
/// pattern's highest bit: true, and then false.
inline constexpr unsigned char patterns[2] = {0xFF, 0x7F};

/// Returns for each element whether it still has its pattern in both runs. Elements are contiguous and `width` bytes long. `isBoolean`: a
/// byte holds the pattern's highest bit.
std::vector<bool> unwrittenElements(const char *first, const char *second, size_t count, size_t width, bool isBoolean);

} // namespace tilewright::author
