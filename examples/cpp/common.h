// What the examples share: random tensors, and the comparison with a reference that plain C++ computes.
#pragma once

#include "tilewright/language.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace common {

/// Random numbers of 32 bits (SplitMix64). <random> takes a tenth of the time in which an example compiles.
struct Generator {
  uint64_t state;
  uint32_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<uint32_t>((z ^ z >> 31) >> 32);
  }
};

/// Normally distributed numbers (Box and Muller).
inline std::vector<float> randn(size_t count, unsigned seed) {
  Generator generator{seed};
  std::vector<float> values(count);
  for (float &value : values) {
    double radius = std::sqrt(-2 * std::log((generator() + 1.0) / 4294967296.0)), angle = generator() / 4294967296.0 * 6.283185307179586;
    value = static_cast<float>(radius * std::cos(angle));
  }
  return values;
}

inline std::vector<uint8_t> bytes(size_t count, unsigned seed, unsigned below) {
  Generator generator{seed};
  std::vector<uint8_t> values(count);
  for (uint8_t &value : values)
    value = static_cast<uint8_t>(generator() % below);
  return values;
}

inline bool failed(const tilewright::Result<void> &done) {
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return !done;
}

/// Returns 0 if the results agree with expected(i), else prints the first difference and returns 1.
template <typename T, typename Expected> int check(const char *name, const std::vector<T> &results, Expected expected, double tolerance) {
  for (size_t i = 0; i < results.size(); ++i) {
    double wanted = expected(i), got = static_cast<double>(results[i]);
    if (!(std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted)))) {
      std::fprintf(stderr, "%s: element %zu is %g, not %g\n", name, i, got, wanted);
      return 1;
    }
  }
  std::printf("%s: %zu elements are right\n", name, results.size());
  return 0;
}

/// Checks a row-major product of an M x K by a K x N matrix. `a(i, k)` and `b(k, j)` return elements.
template <typename T, typename A, typename B>
int check_matmul(const char *name, const std::vector<T> &results, int N, int K, A a, B b, double tolerance) {
  return check(
      name, results,
      [&](size_t index) {
        int i = static_cast<int>(index) / N, j = static_cast<int>(index) % N;
        double sum = 0;
        for (int k = 0; k < K; ++k)
          sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
        return sum;
      },
      tolerance);
}

/// True if the program was started with --tt: it prints the IR of its kernels and ends.
inline bool wants_ir(int argc, char **argv) {
  return argc > 1 && std::strcmp(argv[1], "--tt") == 0;
}
inline int print(const tilewright::Result<std::string> &text) {
  std::fputs(text ? text->c_str() : text.error().c_str(), text ? stdout : stderr);
  return text ? 0 : 1;
}
/// Prints several texts with lines of dashes between them, as mlir-opt separates modules. Returns 1 if one of them is an error.
template <typename... Texts> int print(const tilewright::Result<std::string> &first, const Texts &...others) {
  int result = print(first);
  ((std::puts("// -----"), result |= print(others)), ...);
  return result;
}

} // namespace common
