// Tiles as values of C++: tile<float, 128, 64>, scalars (i32, f32, ...), pointers (ptr<const float>), and their operators.
#pragma once

#include "tilewright/language/trace.h"

#include <tuple>

namespace tilewright {

/// A scalar: a tile without dimensions.
using i1 = tile<bool>;
using i8 = tile<int8_t>;
using i16 = tile<int16_t>;
using i32 = tile<int32_t>;
using i64 = tile<int64_t>;
using u8 = tile<uint8_t>;
using u16 = tile<uint16_t>;
using u32 = tile<uint32_t>;
using u64 = tile<uint64_t>;
using f16 = tile<half>;
using bf16 = tile<bfloat16>;
using f32 = tile<float>;
using f64 = tile<double>;
/// A pointer to elements. A kernel cannot store to `ptr<const T>`.
template <typename T> using ptr = tile<T *>;
/// A tile of pointers.
template <typename T, int... Shape> using pointers = tile<T *, Shape...>;

/// Indices of expansion: x(all, new_axis) is a column, x(new_axis, all) a row.
struct all_t {};
struct new_axis_t {};
inline constexpr all_t all;
inline constexpr new_axis_t new_axis;

namespace detail {

template <typename> inline constexpr bool never = false;

/// An operand with the location of the operator that it belongs to. The compiler makes it where the operator is written.
template <typename V> struct located {
  const V &value;
  location where;
  located(const V &v, const location &w = location::current()) : value(v), where(w) {}
};
template <typename V> struct located_variable {
  V &value;
  location where;
  located_variable(V &v, const location &w = location::current()) : value(v), where(w) {}
};

constexpr bool is_comparison(TwOperator op) {
  return op >= TW_EQUAL && op <= TW_GREATER_EQUAL;
}
constexpr bool is_division(TwOperator op) {
  return op == TW_DIVIDE || op == TW_FLOOR_DIVIDE || op == TW_REMAINDER;
}
constexpr bool is_bitwise(TwOperator op) {
  return op >= TW_SHIFT_LEFT && op <= TW_BIT_XOR;
}

/// The type of a pointer plus or minus an offset; void for other operands.
template <TwOperator Op, typename X, typename Y> constexpr auto pointer_result() {
  constexpr bool left = is_pointer_tile<X>(), right = is_pointer_tile<Y>();
  constexpr dims shape = broadcast_dims(shape_of<X>(), shape_of<Y>());
  static_assert(!(left && right), "Two pointers cannot be added or subtracted: add an integer offset to a pointer.");
  static_assert(left || Op == TW_ADD, "A pointer cannot be subtracted from a number.");
  static_assert(is_integer(left ? kind_of<Y>() : kind_of<X>()), "The offset of a pointer is an integer, counted in elements.");
  if constexpr (left)
    return std::type_identity<tile_of<element_of<X>, shape>>();
  else
    return std::type_identity<tile_of<element_of<Y>, shape>>();
}

template <TwOperator Op, typename X, typename Y> constexpr auto operator_result() {
  constexpr dims shape = broadcast_dims(shape_of<X>(), shape_of<Y>());
  static_assert(shape.rank >= 0,
                "The shapes of the two operands do not fit: along each dimension, the extents are equal or one of them is 1.");
  constexpr bool pointers = is_pointer_tile<X>() || is_pointer_tile<Y>();
  if constexpr (pointers && is_comparison(Op)) {
    return std::type_identity<tile_of<bool, shape>>();
  } else if constexpr (pointers) {
    static_assert(Op == TW_ADD || Op == TW_SUBTRACT, "Pointers have no such operator: only + and - with integer offsets.");
    return pointer_result<Op, X, Y>();
  } else {
    constexpr dtype kind = promote(kind_of<X>(), number<X>, kind_of<Y>(), number<Y>, is_division(Op));
    static_assert(kind != dtype::none, "The element types of the two operands have no common type for this operator: convert one of "
                                       "them with cast<T>(x).");
    static_assert(!is_bitwise(Op) || is_integer(kind), "Bitwise operators and shifts take integers.");
    if constexpr (is_comparison(Op))
      return std::type_identity<tile_of<bool, shape>>();
    else if constexpr (Op == TW_DIVIDE && is_integer(kind))
      return std::type_identity<tile_of<float, shape>>();
    else
      return std::type_identity<tile_of<typename type_of<kind>::type, shape>>();
  }
}
template <TwOperator Op, typename X, typename Y> using result_of = typename decltype(operator_result<Op, X, Y>())::type;

/// In C++, `/` of two integers is the integer division.
template <TwOperator Op, typename X, typename Y> constexpr TwOperator actual() {
  return Op == TW_DIVIDE && is_integer(kind_of<X>()) && is_integer(kind_of<Y>()) ? TW_FLOOR_DIVIDE : Op;
}

template <TwOperator Given, typename X, typename Y> auto binary(const X &x, const Y &y, const location &where) {
  constexpr TwOperator op = actual<Given, X, Y>();
  using result = result_of<op, X, Y>;
  trace &t = tracing(where);
  place at(where);
  TwValue left = operand_id<Y>(t, x, where), right = operand_id<X>(t, y, where);
  return access::make<result>(twBuilderOperator(t.builder, op, left, right, &type_info<result>::value, &at), t);
}

template <TwOperator Op, typename X> auto unary(const X &x, const location &where) {
  constexpr dtype kind = kind_of<X>();
  static_assert(kind != dtype::none, "Pointers have no such operator.");
  static_assert(Op != TW_INVERT || is_integer(kind), "The operator ~ takes integers.");
  using result = tile_of<typename type_of<kind == dtype::f8e4b15 ? dtype::f16 : kind>::type, shape_of<X>()>;
  trace &t = tracing(where);
  place at(where);
  return access::make<result>(twBuilderOperator(t.builder, Op, id_of(t, x, where), 0, &type_info<result>::value, &at), t);
}

template <TwOperator Op, typename X, typename Y> auto logical(const X &x, const Y &y, const location &where) {
  constexpr dims shape = broadcast_dims(shape_of<X>(), shape_of<Y>());
  static_assert(shape.rank >= 0,
                "The shapes of the two conditions do not fit: along each dimension, the extents are equal or one of them is 1.");
  using result = tile_of<bool, shape>;
  trace &t = tracing(where);
  place at(where);
  TwValue left = id_of(t, x, where), right = id_of(t, y, where);
  return access::make<result>(twBuilderOperator(t.builder, Op, left, right, &type_info<result>::value, &at), t);
}

template <typename I>
concept index = std::is_same_v<I, all_t> || std::is_same_v<I, new_axis_t>;

/// The dimensions of x(all, new_axis, ...).
template <typename... Index> constexpr dims expanded(dims shape) {
  dims result{};
  int next = 0;
  for (bool isNew : {std::is_same_v<Index, new_axis_t>...})
    result.size[result.rank++] = isNew ? 1 : shape[next++];
  return result;
}

} // namespace detail

/// A variable of a kernel: a tile of elements of type T, a scalar (no extents), or pointers (T is a pointer). Copies are new variables. An
/// assignment in a loop or branch of for_range, while_ or if_ is part of the kernel's control flow.
template <typename T, int... Shape> class tile : public detail::value {
  static_assert(detail::is_element<T>,
                "Tiles have elements of bool, integers, float, double, half, bfloat16 or 8-bit floats, or pointers to "
                "these.");
  static_assert(((Shape > 0) && ...), "The extents of a tile are positive.");
#if !defined(TILEWRIGHT_ANY_SIZE)
  static_assert((((Shape & (Shape - 1)) == 0) && ...), "The extents of a tile are powers of two.");
#endif
  static_assert((int64_t{1} * ... * Shape) <= (int64_t{1} << 20), "A tile has at most 1048576 elements.");

public:
  using element_type = T;
  static constexpr int rank = sizeof...(Shape);
  static constexpr detail::dims shape = detail::dims_of<Shape...>();

  /// A variable without a value, to be assigned in all branches of an if_.
  tile(const location &where = location::current()) { define(0, where); }
  tile(const tile &other, const location &where = location::current()) {
    detail::trace &t = detail::tracing(where);
    define(other.in(t, where), where);
  }
  /// A scalar with the value of a C++ number.
  template <detail::number N>
    requires(sizeof...(Shape) == 0 && !std::is_pointer_v<T>)
  TILEWRIGHT_INLINE tile(N number, const location &where = location::current()) TILEWRIGHT_IF_FITS(detail::fits<T>(number)) {
    TILEWRIGHT_CHECK_FITS(detail::fits<T>(number));
    define_number(number, where);
  }
  template <typename U, int... Other>
    requires(!std::is_same_v<tile<U, Other...>, tile>)
  tile(const tile<U, Other...> &) {
    static_assert(detail::never<U>, "A tile of this type and shape cannot be made from a tile of another one: convert its elements with "
                                    "cast<T>(x), its shape with broadcast_to or reshape.");
  }

  /// An operator of this form cannot know its own location: it gets that of the value.
  tile &operator=(const tile &other) {
    assign(other, {});
    return *this;
  }
  template <detail::number N>
    requires(sizeof...(Shape) == 0 && !std::is_pointer_v<T>)
  TILEWRIGHT_INLINE tile &operator=(N number) TILEWRIGHT_IF_FITS(detail::fits<T>(number)) {
    TILEWRIGHT_CHECK_FITS(detail::fits<T>(number));
    tile value{detail::value{}};
    value.define_number(number, {});
    assign(value, {});
    return *this;
  }
  template <typename U, int... Other>
    requires(!std::is_same_v<tile<U, Other...>, tile>)
  tile &operator=(const tile<U, Other...> &) {
    static_assert(detail::never<U>, "A variable keeps its element type and shape: convert the value with cast<T>(x) or broadcast_to, or "
                                    "declare another variable.");
    return *this;
  }

  /// x(all, new_axis): the same elements with new dimensions of size 1.
  template <detail::index A> auto operator()(A, const location &where = location::current()) const { return expand<A>(where); }
  template <detail::index A, detail::index B> auto operator()(A, B, const location &where = location::current()) const {
    return expand<A, B>(where);
  }
  template <detail::index A, detail::index B, detail::index C> auto operator()(A, B, C, const location &where = location::current()) const {
    return expand<A, B, C>(where);
  }
  template <detail::index A, detail::index B, detail::index C, detail::index D>
  auto operator()(A, B, C, D, const location &where = location::current()) const {
    return expand<A, B, C, D>(where);
  }

  template <typename B>
    requires std::is_same_v<B, bool>
  explicit operator B() const {
    static_assert(detail::never<B>, "A kernel's value is not known while the kernel is built: write if_(condition, [&] { ... }), while_ or "
                                    "where(condition, x, y).");
    return false;
  }

#define TILEWRIGHT_BINARY(symbol, op)                                                                                                      \
  template <detail::operand Y>                                                                                                             \
  TILEWRIGHT_INLINE friend auto operator symbol(detail::located<tile> x, const Y &y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {   \
    TILEWRIGHT_CHECK_FITS(detail::operand_fits<tile>(y));                                                                                  \
    return detail::binary<op>(x.value, y, x.where);                                                                                        \
  }                                                                                                                                        \
  template <detail::number N>                                                                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(const N &x, detail::located<tile> y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(x)) {   \
    TILEWRIGHT_CHECK_FITS(detail::operand_fits<tile>(x));                                                                                  \
    return detail::binary<op>(x, y.value, y.where);                                                                                        \
  }
  TILEWRIGHT_BINARY(+, TW_ADD)
  TILEWRIGHT_BINARY(-, TW_SUBTRACT)
  TILEWRIGHT_BINARY(*, TW_MULTIPLY)
  TILEWRIGHT_BINARY(/, TW_DIVIDE)
  TILEWRIGHT_BINARY(%, TW_REMAINDER)
  TILEWRIGHT_BINARY(<<, TW_SHIFT_LEFT)
  TILEWRIGHT_BINARY(>>, TW_SHIFT_RIGHT)
  TILEWRIGHT_BINARY(&, TW_BIT_AND)
  TILEWRIGHT_BINARY(|, TW_BIT_OR)
  TILEWRIGHT_BINARY(^, TW_BIT_XOR)
  TILEWRIGHT_BINARY(<, TW_LESS)
  TILEWRIGHT_BINARY(<=, TW_LESS_EQUAL)
  TILEWRIGHT_BINARY(>, TW_GREATER)
  TILEWRIGHT_BINARY(>=, TW_GREATER_EQUAL)
#undef TILEWRIGHT_BINARY

#define TILEWRIGHT_EQUALITY(symbol, op)                                                                                                    \
  template <detail::number N>                                                                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(detail::located<tile> x, N y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {          \
    TILEWRIGHT_CHECK_FITS(detail::operand_fits<tile>(y));                                                                                  \
    return detail::binary<op>(x.value, y, x.where);                                                                                        \
  }                                                                                                                                        \
  template <detail::number N>                                                                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(N x, detail::located<tile> y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(x)) {          \
    TILEWRIGHT_CHECK_FITS(detail::operand_fits<tile>(x));                                                                                  \
    return detail::binary<op>(x, y.value, y.where);                                                                                        \
  }
  TILEWRIGHT_EQUALITY(==, TW_EQUAL)
  TILEWRIGHT_EQUALITY(!=, TW_NOT_EQUAL)
#undef TILEWRIGHT_EQUALITY

#define TILEWRIGHT_ASSIGN(symbol, op)                                                                                                      \
  template <detail::operand Y>                                                                                                             \
  TILEWRIGHT_INLINE friend tile &operator symbol(detail::located_variable<tile> x, const Y &y)                                             \
      TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {                                                                                  \
    TILEWRIGHT_CHECK_FITS(detail::operand_fits<tile>(y));                                                                                  \
    return x.value.update(detail::binary<op>(x.value, y, x.where), x.where);                                                               \
  }
  TILEWRIGHT_ASSIGN(+=, TW_ADD)
  TILEWRIGHT_ASSIGN(-=, TW_SUBTRACT)
  TILEWRIGHT_ASSIGN(*=, TW_MULTIPLY)
  TILEWRIGHT_ASSIGN(/=, TW_DIVIDE)
  TILEWRIGHT_ASSIGN(%=, TW_REMAINDER)
  TILEWRIGHT_ASSIGN(<<=, TW_SHIFT_LEFT)
  TILEWRIGHT_ASSIGN(>>=, TW_SHIFT_RIGHT)
  TILEWRIGHT_ASSIGN(&=, TW_BIT_AND)
  TILEWRIGHT_ASSIGN(|=, TW_BIT_OR)
  TILEWRIGHT_ASSIGN(^=, TW_BIT_XOR)
#undef TILEWRIGHT_ASSIGN

  friend auto operator-(detail::located<tile> x) { return detail::unary<TW_NEGATE>(x.value, x.where); }
  friend auto operator~(detail::located<tile> x) { return detail::unary<TW_INVERT>(x.value, x.where); }
  /// It takes a plain reference, because the conversion to bool above would be as good as one to an operand with its location.
  friend auto operator!(const tile &x) {
    using result = tile<bool, Shape...>;
    const location where{};
    detail::trace &t = detail::tracing(where);
    detail::place at(where);
    TwValue id = detail::id_of(t, x, where);
    return detail::access::make<result>(twBuilderOperator(t.builder, TW_LOGICAL_NOT, id, 0, &detail::type_info<result>::value, &at), t);
  }
  /// Both sides are computed: the result says where both are true.
  template <detail::operand Y> friend auto operator&&(detail::located<tile> x, const Y &y) {
    return detail::logical<TW_LOGICAL_AND>(x.value, y, x.where);
  }
  template <detail::operand Y> friend auto operator||(detail::located<tile> x, const Y &y) {
    return detail::logical<TW_LOGICAL_OR>(x.value, y, x.where);
  }

private:
  friend struct detail::access;
  explicit tile(detail::value v) : detail::value(v) {}

  void define(TwValue initial, const location &where) {
    detail::trace &t = detail::tracing(where);
    detail::place at(where);
    id = twBuilderVariable(t.builder, initial, &detail::type_info<tile>::value, &at);
    owner = t.serial;
  }
  template <detail::number N> void define_number(N number, const location &where) {
    static_assert(detail::rank_of(detail::element<T>::kind) >= detail::rank_of(detail::number_kind<N>()),
                  "A floating-point number cannot initialize an integer or bool, and an integer cannot initialize a bool.");
    detail::trace &t = detail::tracing(where);
    detail::check_fits<T>(t, number, where);
    TwValue typed = 0;
    if constexpr (std::is_same_v<T, double>) { // a cast would round the number to fp32 first, as tl.cast does
      typed = detail::typed_number<T>(t, number, where);
    } else {
      TwValue value = detail::id_of(t, number, where), type = detail::id_of(t, detail::element<T>::name, where);
      typed = detail::record(t, "cast", {{"input", value}, {"dtype", type}}, &detail::type_info<tile>::value, where);
    }
    static_cast<detail::value &>(*this) = {typed, t.serial};
  }
  void assign(const tile &other, const location &where) {
    detail::trace &t = detail::tracing(where);
    detail::place at(where);
    twBuilderAssign(t.builder, in(t, where), other.in(t, where), &detail::type_info<tile>::value, &at);
  }
  tile &update(const tile &other, const location &where) {
    assign(other, where);
    return *this;
  }
  template <typename U, int... Other> tile &update(const tile<U, Other...> &, const location &) {
    static_assert(detail::never<U>,
                  "A compound assignment changes the element type or the shape of its variable: convert the other operand "
                  "with cast<T>(x), or declare another variable.");
    return *this;
  }
  template <typename... Index> auto expand(const location &where) const {
    static_assert((int(std::is_same_v<Index, all_t>) + ...) == rank, "x(...) has one `all` for each dimension of x.");
    using result = detail::tile_of<T, detail::expanded<Index...>(shape)>;
    detail::trace &t = detail::tracing(where);
    constexpr auto axes = [] {
      detail::dims found{};
      int i = 0;
      for (bool isNew : {std::is_same_v<Index, new_axis_t>...}) {
        if (isNew) found.size[found.rank++] = i;
        ++i;
      }
      return found;
    }();
    if constexpr (axes.rank == 0)
      return *this;
    else
      return detail::call<result>(t, "expand_dims", {{"input", in(t, where)}, {"axis", detail::id_of(t, detail::constants<axes>(), where)}},
                                  where);
  }
};

/// Of two tiles. C++20 also tries == with its operands exchanged, so both operands must have the same form here, and the operator cannot
/// know its location: it gets that of the operation before it.
template <detail::any_tile X, detail::any_tile Y> auto operator==(const X &x, const Y &y) {
  return detail::binary<TW_EQUAL>(x, y, {});
}
template <detail::any_tile X, detail::any_tile Y> auto operator!=(const X &x, const Y &y) {
  return detail::binary<TW_NOT_EQUAL>(x, y, {});
}

} // namespace tilewright
