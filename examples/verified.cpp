// Is a kernel right for all sizes, and how near is it to what this machine can do? What `tilewright verify` and `tilewright bench` answer
// for kernel files of Python, asked by a C++ program about the kernel of 01_vector_add.py.
//
//   clang++-22 -std=c++20 -Iinclude examples/verified.cpp -Lbuild/lib -Wl,-rpath,$PWD/build/lib -ltilewright -o verified
//   ./verified examples/01_vector_add.py          # with a number after it: on that GPU, "0" on the first one
//
// The host code below gets tensors whose extents and strides differ from call to call: as they are given, with gaps between the elements,
// and empty, of one element, and odd in length. A missing mask, a wrong stride or a missing last block is reported.
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
  // Each variant of the inputs has fresh numbers, by its seed.
  auto inputs = [](uint64_t seed) {
    return std::vector{Input::normal<float>("x", {n}, 2 * seed), Input::normal<float>("y", {n}, 2 * seed + 1),
                       Input::output<float>("out", {n})};
  };
  // This kernel knows no strides: a tensor whose elements are apart is refused, which is no wrong number.
  auto kernel = [&](Tensors t) {
    if (t[0].size() > 0 && t[0].strides()[0] != 1) return tilewright::Result<void>::failure("its elements have to lie side by side");
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

  // The same against the interpreter, which runs the kernel's own operations one by one: no formula has to be written twice.
  auto small = [](uint64_t seed) {
    return std::vector{Input::normal<float>("x", {3000}, 2 * seed), Input::normal<float>("y", {3000}, 2 * seed + 1),
                       Input::output<float>("out", {3000})};
  };
  auto checked = tilewright::verify(kernel, tilewright::interpreter, small);
  if (!checked || !checked->correct()) return fail(checked ? checked->text() : checked.error());

  // One program too few: only lengths that are no multiple of the block show it, and the report names the elements that nobody wrote.
  auto tooFew = [&](Tensors t) { return add->launch(t[0].size() / block, {t[0], t[1], t[2], t[0].size(), {"BLOCK_SIZE", block}}); };
  auto wrong = tilewright::verify(tooFew, reference, inputs, {.variants = tilewright::asGiven});
  if (!wrong || wrong->correct()) return fail("a missing program was not seen");
  std::printf("%lld elements are never written\n", static_cast<long long>(wrong->output(0, 0).unwritten));

  // Times beside the reference's, with nothing of the tensors in the caches, and the share of what this machine was measured to allow.
  auto measured = tilewright::bench(kernel, reference, inputs, {.repeat = 20}, {.device = device});
  if (!measured) return fail(measured.error());
  std::printf("%s", measured->text());

  // One launch on tensors of the program's own: a median, and two percentiles.
  std::vector<float> x(n, 1), y(n, 2), out(n);
  auto launch = add->measure(tilewright::cdiv(n, block), {x, y, out, n, {"BLOCK_SIZE", block}}, {.warmCaches = true});
  if (!launch) return fail(launch.error());
  TwFigures figures = launch->figures();
  std::printf("a launch takes %.2f us (20%% %.2f us, 80%% %.2f us), %.1f GB/s\n", figures.seconds * 1e6, figures.low * 1e6,
              figures.high * 1e6, figures.bytesPerSecond / 1e9);
}
