// Numbers that their integer type cannot hold. With -DKNOWN, no CASE compiles. Without it, each is the error of a launch.
#include "tilewright/language.h"

#include <cstdio>
#include <functional>
#include <vector>

using namespace tilewright;

template <typename N> N unknown(N number) {
  volatile N copy = number;
  return copy;
}
#ifdef KNOWN
#define NUMBER(x) x
#else
#define NUMBER(x) unknown(x)
#endif

static std::vector<std::function<void()>> reports;
template <auto Function> bool add(int line) {
  reports.push_back([line] {
    auto kernel = jit<Function>("kernel(out, n, b)");
    int32_t out = 0;
    auto done = kernel.launch(grid(1), cpu, &out, 3, uint8_t{2});
    std::printf("%d %s\n", line, done ? "accepted\n" : done.error().c_str());
  });
  return true;
}
#define CASE(statement) CASE_OF(__LINE__, statement)
#define CASE_OF(line, statement) NAMED_CASE(line, statement)
#define NAMED_CASE(line, statement)                                                                                                        \
  template <int BLOCK> static void case_##line(ptr<int32_t> out, i32 n, u8 b) {                                                            \
    statement;                                                                                                                             \
    store(out, n + cast<int32_t>(b));                                                                                                      \
  }                                                                                                                                        \
  static const bool added_##line = add<case_##line<300>>(line)

CASE(i32 x = NUMBER(5000000000); n += x);
CASE(i32 x(NUMBER(-2147483649)); n += x);
CASE(u32 x = NUMBER(int64_t(-1)); n += cast<int32_t>(x));
CASE(u32 x{NUMBER(sizeof(char) << 32)}; n += cast<int32_t>(x));
CASE(i8 x = NUMBER(BLOCK); n += cast<int32_t>(x));
CASE(i64 x = NUMBER(18446744073709551615u); n += cast<int32_t>(x));
CASE(n = NUMBER(5000000000));
CASE(b = NUMBER(256));
CASE(n += NUMBER(5000000000));
CASE(b *= NUMBER(256));
CASE(n = n + NUMBER(5000000000));
CASE(n = NUMBER(5000000000) - n);
CASE(b = b & NUMBER(256));
CASE(b = b << NUMBER(-1));
CASE(n = where(b == NUMBER(256), n, 0));
CASE(n = where(NUMBER(-1) != b, n, 0));
CASE(n = where(NUMBER(5000000000) < n, n, 0));

/// Numbers at the ends of the ranges, and of other kinds.
static void held(ptr<int32_t> out, i32 n, u8 b) {
  i8 low = -128;
  u8 high = 'a';
  i32 size = sizeof(float), wide = -2147483647 - 1;
  u64 all = 18446744073709551615u;
  f32 x = 5000000000;
  i1 yes = true;
  b += 254;
  i64 sum = cast<int64_t>(low) + cast<int64_t>(high) + cast<int64_t>(wide) + cast<int64_t>(all) + cast<int64_t>(b) + 5000000000;
  store(out, where(yes & (x > 4e9) & (sum == 5000000000 - 128 + 97 - 2147483648 - 1), n + size, 0));
}

int main() {
  for (const auto &each : reports)
    each();
  auto kernel = jit<held>("held(out, n, b)");
  int32_t out = 0;
  auto done = kernel.launch(grid(1), cpu, &out, 3, uint8_t{2});
  std::printf("held %s\n", !done ? done.error().c_str() : out == 7 ? "right" : "wrong");
}
