// Prints the median microseconds of launching an empty kernel on a grid of two from C++, once everything is warm.
//
//   launch FILE     FILE holds `empty_kernel(x_ptr, n)`
#include "../src/support/statistics.h"
#include "tilewright/tilewright.h"

#include <chrono>
#include <cstdio>
#include <vector>

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) return fail("usage: launch FILE");
  auto module = tilewright::Module::fromFile(argv[1]);
  if (!module) return fail(module.error());
  auto kernel = module->kernel("empty_kernel");
  if (!kernel) return fail(kernel.error());

  std::vector<float> x(16);
  tilewright::Options options;
  options.threads = 2;
  std::vector<double> samples;
  for (int sample = 0; sample < 200; ++sample) {
    constexpr int times = 500;
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i)
      if (auto done = kernel->launch(tilewright::Grid(2), {x, 16}, options); !done) return fail(done.error());
    std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    samples.push_back(taken.count() / times);
  }
  std::printf("%.3f\n", tilewright::medianOf(samples));
}
