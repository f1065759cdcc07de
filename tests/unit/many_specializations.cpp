// Compiles many specializations of a small kernel with a limit for compiled kernels, and shows that the memory of the process stays flat.
//
//   many_specializations [COUNT]     10000 by default; without the cache folder: TILEWRIGHT_CACHE=0
//
// Prints the resident megabytes after each tenth. Fails if the last tenth has more than a tenth above the first one.
#include "tilewright/embed.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace tw = tilewright;

static double residentMegabytes() {
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;
  if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2) std::exit(1);
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? std::atoll(argv[1]) : 10000;
  auto module = tw::Module::fromSource(
      "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.store(x, N)\n", "k.py");
  if (!module) return fail(module.error());
  auto kernel = module->kernel("k");
  if (!kernel) return fail(kernel.error());
  if (auto done = tw::setCodeLimits(32, 0); !done) return fail(done.error());
  int32_t x = -1;
  double first = 0, last = 0;
  for (int64_t i = 0; i < count; ++i) {
    auto done = kernel->launch(1, {&x, {"N", i}});
    if (!done || x != i) return fail("specialization " + std::to_string(i) + " fails: " + done.error());
    if ((i + 1) % (count / 10) != 0) continue;
    last = residentMegabytes();
    if (first == 0) first = last;
    std::printf("%6lld specializations: %.1f MB resident, %lld kernels in memory, %lld evicted\n", static_cast<long long>(i + 1), last,
                static_cast<long long>(tw::codeUse().kernels), static_cast<long long>(tw::codeUse().evicted));
  }
  if (tw::codeUse().kernels > 32) return fail("more kernels than the limit");
  return last <= first * 1.1 ? 0 : fail("the memory grows");
}
