// Choices and arithmetic with more than an operator's rules.
#pragma once

#include "tilewright/language/shape.h"

namespace tilewright {

/// What NaN does to minimum, maximum and clamp: the other operand is the result, or NaN is.
enum class propagate_nan { none, all };

namespace detail {
template <operand X, operand Y> constexpr dtype common_kind(bool division = false) {
  return promote(kind_of<X>(), number<X>, kind_of<Y>(), number<Y>, division);
}
template <operand X, operand Y> constexpr dims common_shape() {
  constexpr dims shape = broadcast_dims(shape_of<X>(), shape_of<Y>());
  static_assert(shape.rank >= 0, "The shapes of the operands do not fit: along each dimension, the extents are equal or one of them is 1.");
  return shape;
}
template <dtype Kind> constexpr void check_common() {
  static_assert(Kind != dtype::none, "The element types of the operands have no common type: convert one of them with cast<T>(x).");
}
template <dtype Kind, dims Shape> struct numbers_having {
  using type = typename tile_having<typename type_of<Kind>::type, Shape>::type;
};
template <dtype Kind, dims Shape> using numbers = typename numbers_having<Kind, Shape>::type;
inline const char *name_of(propagate_nan rule) {
  return rule == propagate_nan::all ? "all" : nullptr;
}

template <operand X, operand Y> auto extremum(const char *path, const X &x, const Y &y, propagate_nan rule, location where) {
  constexpr dtype kind = common_kind<X, Y>();
  check_common<kind>();
  site s(where);
  return s.call<numbers<kind, common_shape<X, Y>()>>(path, {{"x", s.with<Y>(x)}, {"y", s.with<X>(y)}, {"propagate_nan", s(name_of(rule))}});
}
template <typename A, typename B, typename C> struct three {
  static constexpr dims shape = broadcast_dims(broadcast_dims(shape_of<A>(), shape_of<B>()), shape_of<C>());
  static_assert(shape.rank >= 0, "The shapes of the operands do not fit: along each dimension, the extents are equal or one of them is 1.");
  /// The tiles have one type, the numbers have one, and these two are promoted.
  static constexpr dtype kind() {
    dtype tiles = dtype::none, numbers = dtype::none;
    bool fits = true;
    auto add = [&](dtype given, bool is_number) {
      dtype &common = is_number ? numbers : tiles;
      common = common == dtype::none ? given : promote_elements(common, is_number, given, is_number, false);
      fits &= common != dtype::none;
    };
    add(kind_of<A>(), number<A>), add(kind_of<B>(), number<B>), add(kind_of<C>(), number<C>);
    if (!fits) return dtype::none;
    return numbers == dtype::none ? promote(tiles, false, tiles, false, false) : promote(tiles, false, numbers, true, false);
  }
};
} // namespace detail

/// x where the condition is true, y elsewhere. Both are computed.
template <detail::operand C, detail::operand X, detail::operand Y>
  requires(detail::any_tile<C> || detail::any_tile<X> || detail::any_tile<Y>)
auto where(const C &condition, const X &x, const Y &y, location place = location::current()) {
  constexpr detail::dims shape =
      detail::broadcast_dims(detail::shape_of<C>(), detail::broadcast_dims(detail::shape_of<X>(), detail::shape_of<Y>()));
  static_assert(shape.rank >= 0,
                "The shapes of the condition and of the two values do not fit: along each dimension, the extents are equal or "
                "one of them is 1.");
  detail::site s(place);
  std::initializer_list<detail::argument> arguments = {{"condition", s(condition)}, {"x", s.with<Y>(x)}, {"y", s.with<X>(y)}};
  if constexpr (detail::is_pointer_tile<X>() || detail::is_pointer_tile<Y>()) {
    static_assert(std::is_same_v<element_of<X>, element_of<Y>>, "where chooses between pointers of one type.");
    return s.call<detail::tile_of<element_of<X>, shape>>("where", arguments);
  } else {
    constexpr detail::dtype kind =
        detail::promote_elements(detail::kind_of<X>(), detail::number<X>, detail::kind_of<Y>(), detail::number<Y>, false);
    detail::check_common<kind>();
    return s.call<detail::numbers<kind, shape>>("where", arguments);
  }
}

/// The smaller of two, element by element.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto minimum(const X &x, const Y &y, propagate_nan rule = propagate_nan::none, location where = location::current()) {
  return detail::extremum("minimum", x, y, rule, where);
}
/// The larger of two, element by element.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto maximum(const X &x, const Y &y, propagate_nan rule = propagate_nan::none, location where = location::current()) {
  return detail::extremum("maximum", x, y, rule, where);
}
/// x, but not below `low` nor above `high`.
template <detail::operand X, detail::operand L, detail::operand H>
  requires detail::any_tile<X>
auto clamp(const X &x, const L &low, const H &high, propagate_nan rule = propagate_nan::none, location where = location::current()) {
  using types = detail::three<X, L, H>;
  constexpr detail::dtype kind = types::kind();
  detail::check_common<kind>();
  detail::site s(where);
  return s.call<detail::numbers<kind, types::shape>>(
      "clamp", {{"x", s(x)}, {"min", s.with<X>(low)}, {"max", s.with<X>(high)}, {"propagate_nan", s(detail::name_of(rule))}});
}
/// x * y + z. Of floats.
template <detail::operand X, detail::operand Y, detail::operand Z>
  requires(detail::any_tile<X> || detail::any_tile<Y> || detail::any_tile<Z>)
auto fma(const X &x, const Y &y, const Z &z, location where = location::current()) {
  using types = detail::three<X, Y, Z>;
  constexpr detail::dtype kind = types::kind();
  detail::check_common<kind>();
  static_assert(detail::is_float(kind), "fma takes floating-point numbers; of integers, write x * y + z.");
  detail::site s(where);
  return s.call<detail::numbers<kind, types::shape>>("fma", {{"x", s.with<Y>(x)}, {"y", s.with<X>(y)}, {"z", s(z)}});
}

/// The absolute value, element by element.
template <typename X>
  requires detail::any_tile<X>
X abs(const X &x, location where = location::current()) {
  static_assert(detail::kind_of<X>() != detail::dtype::none, "abs takes numbers.");
  detail::site s(where);
  return s.call<X>("abs", {{"x", s(x)}});
}
/// Options of fdiv.
struct fdiv_options {
  bool ieee_rounding = false, approx = false;
};
/// Division of floats.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto fdiv(const X &x, const Y &y, const fdiv_options &options = {}, location where = location::current()) {
  constexpr detail::dtype kind = detail::common_kind<X, Y>(true);
  detail::check_common<kind>();
  static_assert(detail::is_float(kind), "fdiv takes floating-point numbers: convert with cast<float>(x).");
  detail::site s(where);
  return s.call<detail::numbers<kind, detail::common_shape<X, Y>()>>("fdiv",
                                                                     {{"x", s.with<Y>(x)},
                                                                      {"y", s.with<X>(y)},
                                                                      {"ieee_rounding", options.ieee_rounding ? s(true) : detail::absent},
                                                                      {"approx", options.approx ? s(true) : detail::absent}});
}
/// Division of float, rounded to nearest.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto div_rn(const X &x, const Y &y, location where = location::current()) {
  constexpr detail::dtype kind = detail::common_kind<X, Y>();
  static_assert(kind == detail::dtype::f32, "div_rn takes float: convert with cast<float>(x).");
  detail::site s(where);
  return s.call<detail::numbers<kind, detail::common_shape<X, Y>()>>("div_rn", {{"x", s.with<Y>(x)}, {"y", s.with<X>(y)}});
}
/// Square root of float, rounded to nearest.
template <int... Shape> tile<float, Shape...> sqrt_rn(const tile<float, Shape...> &x, location where = location::current()) {
  detail::site s(where);
  return s.call<tile<float, Shape...>>("sqrt_rn", {{"x", s(x)}});
}
/// The upper half of the unsigned product of two integers of 32 or 64 bits.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto umulhi(const X &x, const Y &y, location where = location::current()) {
  constexpr detail::dtype kind = detail::common_kind<X, Y>();
  static_assert(detail::is_integer(kind) && detail::bits_of(kind) >= 32, "umulhi takes integers of 32 or 64 bits.");
  detail::site s(where);
  return s.call<detail::numbers<kind, detail::common_shape<X, Y>()>>("umulhi", {{"x", s.with<Y>(x)}, {"y", s.with<X>(y)}});
}

// ---- of the library

/// x / div, rounded up. Of integers.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto cdiv(const X &x, const Y &div, location where = location::current()) {
  using sum = detail::result_of<TW_ADD, X, std::conditional_t<detail::any_tile<Y>, Y, int>>;
  static_assert(detail::is_integer(detail::kind_of<sum>()), "cdiv takes integers.");
  detail::site s(where);
  return s.call<detail::result_of<TW_FLOOR_DIVIDE, sum, Y>>("cdiv", {{"x", s(x)}, {"div", s(div)}});
}
/// 1 / (1 + exp(-x)).
template <int... Shape> tile<float, Shape...> sigmoid(const tile<float, Shape...> &x, location where = location::current()) {
  detail::site s(where);
  return s.call<tile<float, Shape...>>("sigmoid", {{"x", s(x)}});
}
/// Index (i, j) in row-major order becomes an index in groups of size_g rows: auto [i, j] = swizzle2d(...). All are int32.
template <detail::operand A, detail::operand B, detail::operand C, detail::operand D, detail::operand E>
auto swizzle2d(const A &i, const B &j, const C &size_i, const D &size_j, const E &size_g, location where = location::current()) {
  static_assert(((detail::kind_of<A>() == detail::dtype::i32 && detail::kind_of<B>() == detail::dtype::i32) &&
                 detail::kind_of<C>() == detail::dtype::i32),
                "swizzle2d takes int32.");
  using result = detail::tile_of<int32_t, detail::common_shape<A, B>()>;
  detail::site s(where);
  detail::value both =
      s.tuple("swizzle2d", {{"i", s(i)}, {"j", s(j)}, {"size_i", s(size_i)}, {"size_j", s(size_j)}, {"size_g", s(size_g)}});
  return std::tuple<result, result>(s.item<result>(both, 0), s.item<result>(both, 1));
}

} // namespace tilewright
