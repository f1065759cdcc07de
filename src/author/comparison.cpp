#include "author/comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

namespace tilewright::author {

static constexpr struct {
  std::string_view type;
  double tolerance; // relative and absolute
} rows[] = {
    {"float16", 1e-3},     {"bfloat16", 1e-2},        {"float32", 1e-5},        {"float64", 1e-9},
    {"complex64", 1e-5},   {"complex128", 1e-9},      {"float8_e4m3fn", 0.125}, {"float8_e4m3fnuz", 0.125},
    {"float8_e5m2", 0.25}, {"float8_e5m2fnuz", 0.25}, {"fp8e4b15", 0.125},
};

Tolerances tolerancesOf(std::string_view type, bool hasDot, bool isOnGpu) {
  // A GPU may compute a float32 dot in TF32. A CPU does not round its operands, and a few thousand terms added in another order differ by
  // less.
  if (type == "float32" && hasDot) return isOnGpu ? Tolerances{1e-2, 1e-1} : Tolerances{1e-3, 1e-3};
  for (const auto &row : rows)
    if (row.type == type) return {row.tolerance, row.tolerance};
  return {};
}

/// Returns 0 for equal infinities and for two NaNs, infinity if only one is a number.
static double difference(double result, double expected) {
  if (result == expected || (std::isnan(result) && std::isnan(expected))) return 0;
  double distance = std::abs(result - expected);
  return std::isnan(distance) ? HUGE_VAL : distance;
}
static double difference(std::complex<double> result, std::complex<double> expected) {
  auto isNan = [](std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  if (result == expected || (isNan(result) && isNan(expected))) return 0;
  double distance = std::abs(result - expected);
  return std::isnan(distance) ? HUGE_VAL : distance;
}
template <typename T>
  requires std::is_integral_v<T>
static double difference(T result, T expected) {
  uint64_t distance = result > expected ? static_cast<uint64_t>(result) - static_cast<uint64_t>(expected)
                                        : static_cast<uint64_t>(expected) - static_cast<uint64_t>(result);
  return static_cast<double>(distance);
}

template <typename T> static double magnitude(T value) {
  if constexpr (std::is_same_v<T, std::complex<double>>)
    return std::abs(value);
  else
    return std::abs(static_cast<double>(value));
}

template <typename T> static T element(const Numbers &numbers, size_t index) {
  T value;
  std::memcpy(&value, numbers.data + index * sizeof(T), sizeof(T));
  return value;
}

static double elementAsDouble(const Numbers &numbers, size_t index) {
  return numberAt(numbers, index).asDouble();
}

/// Compares all elements. `of(numbers, i)` returns an element as a T.
template <typename T, typename F>
static Comparison compareAs(const Numbers &result, const Numbers &expected, const Tolerances &tolerances, F of) {
  Comparison found;
  double furthest = 0;
  for (size_t i = 0; i < result.count; ++i) {
    T value = of(result, i), wanted = of(expected, i);
    double distance = difference(value, wanted);
    if (distance == 0) continue;
    double size = magnitude(wanted), beyond = distance - (std::isfinite(size) ? tolerances.absolute + tolerances.relative * size : 0);
    found.maxAbsolute = std::max(found.maxAbsolute, distance);
    if (size > 0 && std::isfinite(size)) found.maxRelative = std::max(found.maxRelative, distance / size);
    if (!(beyond > 0)) continue;
    ++found.wrong;
    if (beyond > furthest) furthest = beyond, found.worst = i;
  }
  if (found.worst) found.value = numberAt(result, *found.worst), found.expected = numberAt(expected, *found.worst);
  return found;
}

Comparison compare(const Numbers &result, const Numbers &expected, const Tolerances &tolerances) {
  auto as = [&]<typename T>(T) { return compareAs<T>(result, expected, tolerances, element<T>); };
  if (result.kind != expected.kind || result.width != expected.width)
    return compareAs<double>(result, expected, tolerances, elementAsDouble);
  bool isSigned = result.kind == NumberKind::signedInt;
  if (result.kind == NumberKind::floating) return as(double());
  if (result.kind == NumberKind::complex) return as(std::complex<double>());
  switch (result.width) {
  case 1: return isSigned ? as(int8_t()) : as(uint8_t());
  case 2: return isSigned ? as(int16_t()) : as(uint16_t());
  case 4: return isSigned ? as(int32_t()) : as(uint32_t());
  default: return isSigned ? as(int64_t()) : as(uint64_t());
  }
}

std::vector<bool> unwrittenElements(const char *first, const char *second, size_t count, size_t width, bool isBoolean) {
  auto bytesOf = [&](unsigned char pattern) { return std::string(width, static_cast<char>(isBoolean ? pattern >> 7 : pattern)); };
  std::string one = bytesOf(patterns[0]), other = bytesOf(patterns[1]);
  std::vector<bool> found(count);
  for (size_t i = 0; i < count; ++i)
    found[i] = std::memcmp(first + i * width, one.data(), width) == 0 && std::memcmp(second + i * width, other.data(), width) == 0;
  return found;
}

} // namespace tilewright::author
