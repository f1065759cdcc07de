// Mistakes that C++ cannot see while it compiles: each becomes the error of a launch, with its line.
#include "tilewright/language.h"

#include <cstdio>
#include <optional>
#include <thread>

using namespace tilewright;

static std::optional<i32> kept;
static void keep(ptr<int32_t> out, i32 n) {
  kept.emplace(n + 1);
  store(out, n);
}
static void use_kept(ptr<int32_t> out, i32 n) {
  store(out, n + *kept); // another kernel
}
static void use_after_block(ptr<int32_t> out, i32 n) {
  std::optional<i32> inner;
  if_(n > 2, [&] { inner.emplace(n * 2); });
  store(out, *inner); // after the branch
}
static void break_outside(ptr<int32_t> out, i32 n) {
  if_(n > 2, [&] { break_(); }); // no loop
  store(out, n);
}
static void nest(ptr<int32_t> out, i32 n, int depth) {
  if (depth == 0) return store(out, n);
  if_(n > depth, [&] { nest(out, n, depth - 1); }); // a branch in a branch, too often
}
static void nested(ptr<int32_t> out, i32 n) {
  nest(out, n, 1000);
}
static void continue_outside(ptr<int32_t> out, i32 n) {
  continue_(); // no loop
  store(out, n);
}
static void capture(ptr<int32_t> out, i32 n) {
  auto total = reduce<0>(arange<8>(), [&](i32 a, i32 b) { return a + b + n; }); // the kernel's variable
  store(out, total);
}
static void condition_with_branch(ptr<int32_t> out, i32 n) {
  i32 i = 0;
  while_( // a branch in the condition
      [&] {
        if_(n > 2, [&] { i += 1; });
        return i < n;
      },
      [&] { i += 1; });
  store(out, i);
}
static void undefined(ptr<int32_t> out, i32 n) {
  i32 x;
  if_(n > 2, [&] { x = 1; });
  store(out, x); // assigned in one branch only
}
/// A number that the C++ compiler does not know.
template <typename N> N unknown(N number) {
  volatile N copy = number;
  return copy;
}
static void too_large(ptr<int32_t> out, i32 n) {
  store(out, n + unknown(5000000000)); // does not fit
}
static void narrow(ptr<int32_t> out, i32) {
  i32 wide = unknown(5000000000); // does not fit
  store(out, wide);
}
static void narrow_small(ptr<int32_t> out, i32) {
  i8 small = unknown(300); // does not fit
  store(out, cast<int32_t>(small));
}
static void narrow_unsigned(ptr<int32_t> out, i32) {
  u16 small = unknown(-1); // does not fit
  store(out, cast<int32_t>(small));
}
static void narrow_assigned(ptr<int32_t> out, i32) {
  u8 small = 255;
  small = unknown(256); // an assignment has the location of the value
  store(out, cast<int32_t>(small));
}

template <auto F> void report(const char *what) {
  auto kernel = jit<F>("kernel(out, n)");
  int32_t out = 0;
  auto done = kernel.launch(grid(1), cpu, &out, 3);
  std::printf("== %s\n%s\n", what, done ? "accepted" : done.error().c_str());
}

static void multiply(ptr<int32_t> out, i32 n) {
  for_range(0, 100, [&](i32 i) { store(out + i, i * n); });
}
inline auto shared = jit<multiply>("write(out, n)");

struct Config {
  int BLOCK;
};
static constexpr Config configs[] = {{16}, {32}};
template <Config C> static void fill(ptr<int32_t> out, i32 n) {
  store(out + arange<C.BLOCK>(), C.BLOCK, arange<C.BLOCK>() < n);
}
static auto make_fill = []<Config C> { return fill<C>; };
static Grid one(const Config &) {
  return grid(1);
}

int main() {
  report<keep>("keep");
  report<use_kept>("another kernel");
  report<use_after_block>("after the branch");
  report<break_outside>("break");
  report<nested>("nested");
  report<continue_outside>("continue");
  report<capture>("capture");
  report<condition_with_branch>("condition");
  report<undefined>("undefined");
  report<too_large>("too large");
  report<narrow>("narrow");
  report<narrow_small>("narrow small");
  report<narrow_unsigned>("narrow unsigned");
  report<narrow_assigned>("narrow assigned");
  try {
    i32 outside = 3; // no kernel
    std::puts("== outside\naccepted");
  } catch (const std::logic_error &error) {
    std::printf("== outside\n%s\n", error.what());
  }
  auto named = jit<multiply>("write(out)");
  int32_t out[100];
  std::printf("== names\n%s\n", named.launch(grid(1), cpu, out, 3).error().c_str());
  std::printf("== range\n%s\n", shared.launch(grid(1), cpu, out, int64_t{1} << 40).error().c_str());
  std::vector<int32_t> memory(1);
  auto wrong_key = tuned<configs>("fill(out, count)", make_fill, key("cuont"));
  std::printf("== key\n%s\n", wrong_key.launch(one, cpu, memory, 1).error().c_str());
  auto wrong_tensor = tuned<configs>("fill(out, count)", make_fill, tuning{.key = key("count"), .reset_to_zero = {"output"}});
  std::printf("== reset\n%s\n", wrong_tensor.launch(one, cpu, memory, 1).error().c_str());

  // Two threads build kernels at once, and several launch one.
  int wrong[4] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto own = jit<multiply>("own(out, n)");
      for (int round = 0; round < 20; ++round) {
        int32_t a[100], b[100];
        wrong[t] += !own.launch(grid(1), cpu, a, t + 2) + !shared.launch(grid(1), cpu, b, t + 5);
        for (int i = 0; i < 100; ++i)
          wrong[t] += (a[i] != i * (t + 2)) + (b[i] != i * (t + 5));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("== threads\n%d wrong\n", wrong[0] + wrong[1] + wrong[2] + wrong[3]);
}
