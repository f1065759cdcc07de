// Verifies and measures the kernel of 01_vector_add.py from C++, as `tilewright verify` and `tilewright bench` do for Python kernel files.
//
//   clang++-22 -std=c++20 -Iinclude examples/verified.cpp -Lbuild/lib -Wl,-rpath,$PWD/build/lib -ltilewright -o verified
//   ./verified examples/01_vector_add.py          # with a number: on that GPU; 0 is the first one
//
// The host code below gets tensors with several extents and strides: the given ones, non-contiguous ones, no element, one element, and odd
// lengths. verify reports a missing mask, a wrong stride or a missing last block.
#include "tilewright/author.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using tilewright::Input;
using tilewright::Tensors;

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  auto module = tilewright::Module::fromFile(argc > 1 ? argv[1] : "examples/01_vector_add.py");
  if (!module) return fail(module.error());
  auto add = module->kernel("add_kernel");
  if (!add) return fail(add.error());

  int32_t device = argc > 2 ? std::atoi(argv[2]) : -1; // -1: the CPU

  constexpr int64_t n = 98432, block = 1024;
  // Each variant of the inputs has its own seed.
  auto inputs = [](uint64_t seed) {
    return std::vector{Input::normal<float>("x", {n}, 2 * seed), Input::normal<float>("y", {n}, 2 * seed + 1),
                       Input::output<float>("out", {n})};
  };
  // This kernel has no stride argument, so it rejects non-contiguous tensors. A rejected variant is not an error.
  auto kernel = [&](Tensors t) {
    if (t[0].size() > 0 && t[0].strides()[0] != 1) return tilewright::Result<void>::failure("the elements must be contiguous");
    return add->launch(tilewright::cdiv(t[0].size(), block), {t[0], t[1], t[2], t[0].size(), {"BLOCK_SIZE", block}});
  };
  auto reference = [](Tensors t) {
    for (int64_t i = 0; i < t[0].size(); ++i)
      t[2].set({i}, t[0].get({i}) + t[1].get({i}));
  };

  auto report = tilewright::verify(kernel, reference, inputs, {.device = device});
  if (!report) return fail(report.error());
  std::printf("%s", report->text());
  if (!report->correct()) return 1;

  // The same compared with the interpreter, which runs the kernel's operations one by one, without a second formula.
  auto small = [](uint64_t seed) {
    return std::vector{Input::normal<float>("x", {3000}, 2 * seed), Input::normal<float>("y", {3000}, 2 * seed + 1),
                       Input::output<float>("out", {3000})};
  };
  auto checked = tilewright::verify(kernel, tilewright::interpreter, small);
  if (!checked || !checked->correct()) return fail(checked ? checked->text() : checked.error());

  // One program is missing if the length is not a multiple of the block. The report names the elements that no program wrote.
  auto tooFew = [&](Tensors t) { return add->launch(t[0].size() / block, {t[0], t[1], t[2], t[0].size(), {"BLOCK_SIZE", block}}); };
  auto wrong = tilewright::verify(tooFew, reference, inputs, {.variants = tilewright::asGiven});
  if (!wrong || wrong->correct()) return fail("a missing program was not detected");
  std::printf("%lld elements are never written\n", static_cast<long long>(wrong->output(0, 0).unwritten));

  // The times of kernel and reference without tensors in the caches, and the fraction of this machine's measured peak.
  auto measured = tilewright::bench(kernel, reference, inputs, {.repeat = 20}, {.device = device});
  if (!measured) return fail(measured.error());
  std::printf("%s", measured->text());

  // Times of one launch on the program's own tensors: the median and two percentiles.
  std::vector<float> x(n, 1), y(n, 2), out(n);
  auto launch = add->measure(tilewright::cdiv(n, block), {x, y, out, n, {"BLOCK_SIZE", block}}, {.warmCaches = true});
  if (!launch) return fail(launch.error());
  TwFigures figures = launch->figures();
  std::printf("a launch takes %.2f us (20%% %.2f us, 80%% %.2f us), %.1f GB/s\n", figures.seconds * 1e6, figures.low * 1e6,
              figures.high * 1e6, figures.bytesPerSecond / 1e9);
}
