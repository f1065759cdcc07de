// Random numbers without state: a function of a seed and of each element's counter.
#pragma once

#include "tilewright/language/math.h"

namespace tilewright {

namespace detail {
template <typename T> using philox_word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <operand S> constexpr void check_seed() {
  static_assert(shape_of<S>().rank == 0 && is_integer(kind_of<S>()), "The seed is an integer or an integer scalar.");
}
template <typename T> constexpr void check_counter() {
  static_assert(std::is_integral_v<T>, "The counters of random numbers are integers.");
}
template <typename R> std::tuple<R, R, R, R> four(const site &s, value all) {
  return {s.item<R>(all, 0), s.item<R>(all, 1), s.item<R>(all, 2), s.item<R>(all, 3)};
}
inline input rounds(const site &s, int n) {
  return n == 10 ? absent : s(n);
}
template <typename R, operand S, typename X> R random_tile(const char *path, const S &seed, const X &offset, int n_rounds, location where) {
  check_seed<S>();
  check_counter<element_of<X>>();
  site s(where);
  return s.call<R>(path, {{"seed", s(seed)}, {"offset", s(offset)}, {"n_rounds", rounds(s, n_rounds)}});
}
} // namespace detail

/// Four tiles of random bits for a seed and four counters of one type, of 32 or 64 bits: auto [a, b, c, d] = philox(...).
template <detail::operand S, typename T, int... Shape>
auto philox(const S &seed, const tile<T, Shape...> &c0, const tile<T, Shape...> &c1, const tile<T, Shape...> &c2,
            const tile<T, Shape...> &c3, int n_rounds = 10, location where = location::current()) {
  detail::check_seed<S>();
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "philox counts in integers of 32 or 64 bits.");
  detail::site s(where);
  return detail::four<tile<detail::philox_word<T>, Shape...>>(
      s,
      s.tuple("philox",
              {{"seed", s(seed)}, {"c0", s(c0)}, {"c1", s(c1)}, {"c2", s(c2)}, {"c3", s(c3)}, {"n_rounds", detail::rounds(s, n_rounds)}}));
}
/// Random 32-bit integers for a scalar seed and a tile of offsets. Equal ones give equal numbers.
template <detail::operand S, typename T, int... Shape>
auto randint(const S &seed, const tile<T, Shape...> &offset, int n_rounds = 10, location where = location::current()) {
  return detail::random_tile<tile<uint32_t, Shape...>>("randint", seed, offset, n_rounds, where);
}
/// Four tiles of them at the cost of one.
template <detail::operand S, typename T, int... Shape>
auto randint4x(const S &seed, const tile<T, Shape...> &offset, int n_rounds = 10, location where = location::current()) {
  detail::check_seed<S>();
  detail::check_counter<T>();
  detail::site s(where);
  return detail::four<tile<uint32_t, Shape...>>(
      s, s.tuple("randint4x", {{"seed", s(seed)}, {"offset", s(offset)}, {"n_rounds", detail::rounds(s, n_rounds)}}));
}
/// Random float in [0, 1).
template <detail::operand S, typename T, int... Shape>
auto rand(const S &seed, const tile<T, Shape...> &offset, int n_rounds = 10, location where = location::current()) {
  return detail::random_tile<tile<float, Shape...>>("rand", seed, offset, n_rounds, where);
}
template <detail::operand S, typename T, int... Shape>
auto rand4x(const S &seed, const tile<T, Shape...> &offsets, int n_rounds = 10, location where = location::current()) {
  detail::check_seed<S>();
  detail::check_counter<T>();
  detail::site s(where);
  return detail::four<tile<float, Shape...>>(
      s, s.tuple("rand4x", {{"seed", s(seed)}, {"offsets", s(offsets)}, {"n_rounds", detail::rounds(s, n_rounds)}}));
}
/// Random float of mean 0 and variance 1.
template <detail::operand S, typename T, int... Shape>
auto randn(const S &seed, const tile<T, Shape...> &offset, int n_rounds = 10, location where = location::current()) {
  return detail::random_tile<tile<float, Shape...>>("randn", seed, offset, n_rounds, where);
}
template <detail::operand S, typename T, int... Shape>
auto randn4x(const S &seed, const tile<T, Shape...> &offset, int n_rounds = 10, location where = location::current()) {
  detail::check_seed<S>();
  detail::check_counter<T>();
  detail::site s(where);
  return detail::four<tile<float, Shape...>>(
      s, s.tuple("randn4x", {{"seed", s(seed)}, {"offset", s(offset)}, {"n_rounds", detail::rounds(s, n_rounds)}}));
}
/// Random bits, of 32 or 64, as float in [0, 1).
template <typename T, int... Shape> auto uint_to_uniform_float(const tile<T, Shape...> &x, location where = location::current()) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "uint_to_uniform_float takes integers of 32 or 64 bits.");
  detail::site s(where);
  return s.call<tile<float, Shape...>>("uint_to_uniform_float", {{"x", s(x)}});
}
/// Two tiles of uniform float as two of normal ones.
template <int... Shape>
auto pair_uniform_to_normal(const tile<float, Shape...> &u1, const tile<float, Shape...> &u2, location where = location::current()) {
  using result = tile<float, Shape...>;
  detail::site s(where);
  detail::value both = s.tuple("pair_uniform_to_normal", {{"u1", s(u1)}, {"u2", s(u2)}});
  return std::tuple<result, result>(s.item<result>(both, 0), s.item<result>(both, 1));
}

} // namespace tilewright
