// A C++ program that multiplies matrices with a kernel from a Python file: relu(A @ B + bias), compiled when it is first launched.
//
//   clang++-22 -std=c++20 -Iinclude examples/matmul.cpp -Lbuild/lib -Wl,-rpath,$PWD/build/lib -ltilewright -o matmul
//   ./matmul examples/ahead_of_time/matmul_bias.py 1000 700 300
//
// examples/ahead_of_time runs the same kernel without a compiler.
#include "tilewright/tilewright.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The largest error of some elements of c[m, n] = relu(a[m, k] @ b[k, n] + bias[n]), relative to the sum of the terms' magnitudes.
static double error(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &bias, const std::vector<float> &c,
                    int64_t m, int64_t n, int64_t k) {
  double largest = 0;
  for (int64_t element = 0; element < m * n; element += 1 + element % 97) {
    const int64_t row = element / n, column = element % n;
    double sum = bias[column], magnitude = std::fabs(sum) + 1e-30;
    for (int64_t i = 0; i < k; ++i) {
      const double term = double(a[row * k + i]) * b[i * n + column];
      sum += term;
      magnitude += std::fabs(term);
    }
    largest = std::fmax(largest, std::fabs(c[element] - std::fmax(sum, 0.0)) / magnitude);
  }
  return largest;
}

int main(int argc, char **argv) {
  const int64_t m = argc > 2 ? std::atoll(argv[2]) : 500, n = argc > 3 ? std::atoll(argv[3]) : 300,
                k = argc > 4 ? std::atoll(argv[4]) : 200;
  if (m < 0 || n < 0 || k < 0) return fail("matmul FILE.py M N K: sizes are not negative");
  auto module = tilewright::Module::fromFile(argc > 1 ? argv[1] : "examples/ahead_of_time/matmul_bias.py");
  if (!module) return fail(module.error());
  auto matmul = module->kernel("matmul_bias");
  if (!matmul) return fail(matmul.error());

  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  auto random = [&](int64_t elements) {
    std::vector<float> values(elements);
    for (float &value : values)
      value = normal(generator);
    return values;
  };
  const std::vector<float> a = random(m * k), b = random(k * n), bias = random(n); // const: the kernel may only load them
  std::vector<float> c(m * n);

  auto grid = [](tilewright::Meta meta) {
    return tilewright::Grid(tilewright::cdiv(meta["M"], meta["BLOCK_M"]), tilewright::cdiv(meta["N"], meta["BLOCK_N"]));
  };
  auto launch = [&] { return matmul->launch(grid, {a, b, bias, c, m, n, k, {"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 32}}); };
  auto compiled = launch(); // compiles, unless the cache has the code
  if (!compiled) return fail(compiled.error());
  const auto start = std::chrono::steady_clock::now();
  auto done = launch();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!done) return fail(done.error());

  const double largest = error(a, b, bias, c, m, n, k);
  if (largest > 1e-5) return fail("relative error " + std::to_string(largest));
  std::printf("%lld x %lld x %lld is right, %.1f GFLOP/s\n", (long long)m, (long long)k, (long long)n, 2e-9 * m * n * k / seconds.count());
}
