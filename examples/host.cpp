// A C++ program that runs the kernel of 01_vector_add.py. It needs neither Python nor a compiler, and links one library.
//
//   clang++-22 -std=c++20 -Iinclude examples/host.cpp -Lbuild/lib -Wl,-rpath,$PWD/build/lib -ltilewright -o host
//   ./host examples/01_vector_add.py
//
// The kernel is read from its file, compiled for the argument types at the first launch, and cached. Errors are values. They
// have the message, line and caret that the command prints.
#include "tilewright/tilewright.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  auto module = tilewright::Module::fromFile(argc > 1 ? argv[1] : "examples/01_vector_add.py");
  if (!module) return fail(module.error());
  auto add = module->kernel("add_kernel");
  if (!add) return fail(add.error());

  constexpr int64_t n = 98432;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(n), y(n), out(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = normal(generator);
    y[i] = normal(generator);
  }

  // The grid may be given as numbers or, as here, follow from the arguments.
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n_elements"], meta["BLOCK_SIZE"])); };
  auto done = add->launch(grid, {x, y, out, n, {"BLOCK_SIZE", 1024}});
  if (!done) return fail(done.error());

  for (int64_t i = 0; i < n; ++i)
    if (out[i] != x[i] + y[i]) return fail("element " + std::to_string(i) + " is wrong");
  std::printf("added %lld elements\n", static_cast<long long>(n));

  // The same launch on the interpreter, which checks every access. It is slow: use it in tests.
  auto checked = add->launch(grid, {x, y, out, n, {"BLOCK_SIZE", 1024}}, {.sanitize = true});
  if (!checked) return fail(checked.error());

  // The error is a message: 1000 is not a valid block size for this kernel.
  auto refused = add->launch(tilewright::Grid(1), {x, y, out, n, {"BLOCK_SIZE", 1000}});
  if (refused) return fail("a block size of 1000 was accepted");
  std::printf("%s\n", refused.error().c_str());
}
