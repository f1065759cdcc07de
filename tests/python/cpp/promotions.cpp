// Operators of a tile and a number: each element type, each kind of number, each operator. Compiling the kernel compares the types that C++
// has computed with the compiler's. The kernel's function prints them, so that the test compares them with the same expressions in Python.
#include "tilewright/language.h"

#include <cstdio>
#include <string>

using namespace tilewright;
using detail::dtype;

template <typename N> std::string text(N n) {
  if constexpr (std::is_same_v<N, bool>)
    return n ? "True" : "False";
  else
    return std::to_string(n);
}
template <typename T, int... Shape> const char *name(const tile<T, Shape...> &) {
  return detail::element<T>::name;
}

/// The type that Python gives an integer without a tile: the first of int32, uint32, int64 and uint64 that holds it.
template <auto N> constexpr dtype kind_by_value() {
  using number = decltype(N);
  if constexpr (!std::is_integral_v<number> || std::is_same_v<number, bool>)
    return detail::number_kind<number>();
  else if constexpr (std::in_range<int32_t>(+N))
    return dtype::i32;
  else if constexpr (std::in_range<uint32_t>(+N))
    return dtype::u32;
  else
    return std::in_range<int64_t>(+N) ? dtype::i64 : dtype::u64;
}

/// True if the type of the operation holds the number; the compiler refuses others.
template <dtype Kind, auto N> constexpr bool fits() {
  if constexpr (std::is_integral_v<decltype(N)> && !std::is_same_v<decltype(N), bool> && detail::is_integer(Kind) && Kind != dtype::i1)
    return std::in_range<typename detail::type_of<Kind>::type>(+N);
  else
    return true;
}

#define SHOW(python, ...)                                                                                                                  \
  {                                                                                                                                        \
    auto result = __VA_ARGS__;                                                                                                             \
    if (detail::number_kind<decltype(N)>() == kind_by_value<N>())                                                                          \
      std::printf("%s | %s | %s | %s\n", detail::element<A>::name, text(N).c_str(), python, name(result));                                 \
  }

template <typename A, auto N> void operators(const tile<A, 4> &x) {
  constexpr auto n = N;
  constexpr dtype kind = detail::element<A>::kind, number = detail::number_kind<decltype(N)>();
  constexpr dtype common = detail::promote(kind, false, number, true, false), quotient = detail::promote(kind, false, number, true, true);
  if constexpr (common != dtype::none && fits<common, N>()) {
    SHOW("x + N", x + n)
    SHOW("N - x", n - x)
    SHOW("x * N", x * n)
    SHOW("x < N", x < n)
    SHOW("N == x", n == x)
    SHOW("tl.where(x == x, x, N)", where(x == x, x, n))
    SHOW("tl.where(x == x, N, x)", where(x == x, n, x))
    SHOW("tl.minimum(x, N)", minimum(x, n))
    SHOW("tl.maximum(N, x)", maximum(n, x))
    SHOW("tl.add(x, N)", add(x, n))
    SHOW("tl.mul(N, x)", mul(n, x))
    SHOW("tl.clamp(x, N, N)", clamp(x, n, n))
    if constexpr (detail::is_integer(common)) {
      SHOW("x & N", x & n)
      SHOW("N | x", n | x)
      SHOW("x ^ N", x ^ n)
    }
    if constexpr (detail::is_integer(common) && detail::bits_of(common) >= 32) SHOW("tl.umulhi(x, N)", umulhi(x, n))
  }
  if constexpr (quotient != dtype::none && fits<quotient, N>()) {
    if constexpr (detail::is_integer(quotient)) SHOW("x // N", x / n) else SHOW("x / N", x / n) if constexpr (N != 0) SHOW("x % N", x % n)
  }
  constexpr dtype two = detail::promote(dtype::i32, true, number, true, false);
  if constexpr (two != dtype::none) {
    SHOW("tl.where(x == x, 1, N)", where(x == x, 1, n))
    SHOW("tl.where(x == x, N, 1)", where(x == x, n, 1))
  }
  SHOW("tl.to_tensor(N)", to_tensor(n))
}

template <typename A> void kernel(ptr<int32_t>) {
  auto x = full<A, 4>(1);
  operators<A, true>(x), operators<A, 1>(x), operators<A, 100>(x), operators<A, -1>(x), operators<A, 2147483647>(x);
  operators<A, 1u>(x), operators<A, 3000000000u>(x), operators<A, 5000000000>(x), operators<A, -5000000000>(x), operators<A, 5L>(x);
  operators<A, 9223372036854775807>(x), operators<A, 9223372036854775808u>(x), operators<A, 18446744073709551615u>(x);
  operators<A, int8_t(5)>(x), operators<A, uint16_t(5)>(x), operators<A, 5ul>(x), operators<A, 1.5>(x), operators<A, 2.0f>(x);
}

template <typename Index, auto Begin, auto End, auto Step> void loop(ptr<int32_t> out) {
  for_range(Begin, End, Step, [&](Index k) { store(out, cast<int32_t>(k)); });
}
static void loops(ptr<int32_t> out) {
  loop<i64, 0, 5000000000, 1000000000>(out), loop<i64, 5000000000, 0, -1>(out), loop<i64, 0, 5L, 1>(out), loop<i64, 0L, 5L, 2L>(out);
  loop<u32, 0u, 3000000000u, 1000000000u>(out), loop<u64, 0, 5ul, 1>(out), loop<i32, int8_t(0), uint16_t(9), 1>(out);
  loop<u64, 0, 18446744073709551615u, 4611686018427387904u>(out);
}

static int failures = 0;
template <auto F> void check(const char *what) {
  auto compiled = jit<F>("kernel(p)");
  auto ir = compiled.emit("tt", static_cast<int32_t *>(nullptr));
  if (ir) return;
  ++failures;
  std::printf("%s: %s\n", what, ir.error().c_str());
}

int main() {
  check<kernel<PART>>("operators");
  check<loops>("loops");
  return failures;
}
