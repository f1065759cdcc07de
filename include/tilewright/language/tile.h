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
  located(const V &v, location w = location::current()) : value(v), where(w) {}
};
template <typename V> struct located_variable {
  V &value;
  location where;
  located_variable(V &v, location w = location::current()) : value(v), where(w) {}
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

template <TwOperator Given, typename X, typename Y> TILEWRIGHT_INLINE auto binary(const X &x, const Y &y, location where) {
  constexpr TwOperator op = actual<Given, X, Y>();
  using result = result_of<op, X, Y>;
  const TwTileType *type = &type_info<result>::value;
  if constexpr (has_value<X> && has_value<Y>)
    return result(record_tiles(op, x, y, type, where));
  else if constexpr (is_typed_number<X, Y> || is_typed_number<Y, X>)
    return result(record_operator(op, operand_input<Y>(x, where), operand_input<X>(y, where), type, where));
  else
    return result(record_operator(op, x, y, type, where));
}

template <TwOperator Op, typename X> TILEWRIGHT_TRACE auto unary(const X &x, location where) {
  constexpr dtype kind = kind_of<X>();
  static_assert(kind != dtype::none, "Pointers have no such operator.");
  static_assert(Op != TW_INVERT || is_integer(kind), "The operator ~ takes integers.");
  using result = tile_of<typename type_of<kind == dtype::f8e4b15 ? dtype::f16 : kind>::type, shape_of<X>()>;
  return result(record_operator(Op, x, {}, &type_info<result>::value, where));
}

template <TwOperator Op, typename X, typename Y> auto logical(const X &x, const Y &y, location where) {
  constexpr dims shape = broadcast_dims(shape_of<X>(), shape_of<Y>());
  static_assert(shape.rank >= 0,
                "The shapes of the two conditions do not fit: along each dimension, the extents are equal or one of them is 1.");
  using result = tile_of<bool, shape>;
  return result(record_operator(Op, x, y, &type_info<result>::value, where));
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

  explicit tile(detail::value recorded) : detail::value(recorded) {}
  /// A variable without a value, to be assigned in all branches of an if_.
  tile(location where = location::current()) : detail::value(detail::record_variable({}, &detail::type_info<tile>::value, where)) {}
  tile(const tile &other, location where = location::current())
      : detail::value(detail::record_variable(other, &detail::type_info<tile>::value, where)) {}
  /// A scalar with the value of a C++ number.
  template <detail::number N>
    requires(sizeof...(Shape) == 0 && !std::is_pointer_v<T>)
  TILEWRIGHT_INLINE tile(N number, location where = location::current()) TILEWRIGHT_IF_FITS(detail::fits<T>(number)) {
    TILEWRIGHT_CHECK_FITS(T, number);
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
    TILEWRIGHT_CHECK_FITS(T, number);
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
  template <detail::index A> auto operator()(A, location where = location::current()) const { return expand<A>(where); }
  template <detail::index A, detail::index B> auto operator()(A, B, location where = location::current()) const {
    return expand<A, B>(where);
  }
  template <detail::index A, detail::index B, detail::index C> auto operator()(A, B, C, location where = location::current()) const {
    return expand<A, B, C>(where);
  }
  template <detail::index A, detail::index B, detail::index C, detail::index D>
  auto operator()(A, B, C, D, location where = location::current()) const {
    return expand<A, B, C, D>(where);
  }

  explicit operator bool() const {
    static_assert(detail::never<T>, "A kernel's value is not known while the kernel is built: write if_(condition, [&] { ... }), while_ or "
                                    "where(condition, x, y).");
    return false;
  }

#define TILEWRIGHT_BINARY(symbol, op)                                                                                                      \
  template <typename Y>                                                                                                                    \
  TILEWRIGHT_INLINE friend auto operator symbol(detail::located<tile> x, const Y &y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {   \
    TILEWRIGHT_CHECK_FITS(T, y);                                                                                                           \
    return detail::binary<op>(x.value, y, x.where);                                                                                        \
  }                                                                                                                                        \
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(const N &x, detail::located<tile> y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(x)) {   \
    TILEWRIGHT_CHECK_FITS(T, x);                                                                                                           \
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
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(detail::located<tile> x, N y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {          \
    TILEWRIGHT_CHECK_FITS(T, y);                                                                                                           \
    return detail::binary<op>(x.value, y, x.where);                                                                                        \
  }                                                                                                                                        \
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                                              \
  TILEWRIGHT_INLINE friend auto operator symbol(N x, detail::located<tile> y) TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(x)) {          \
    TILEWRIGHT_CHECK_FITS(T, x);                                                                                                           \
    return detail::binary<op>(x, y.value, y.where);                                                                                        \
  }
  TILEWRIGHT_EQUALITY(==, TW_EQUAL)
  TILEWRIGHT_EQUALITY(!=, TW_NOT_EQUAL)
#undef TILEWRIGHT_EQUALITY

#define TILEWRIGHT_ASSIGN(symbol, op)                                                                                                      \
  template <typename Y>                                                                                                                    \
  TILEWRIGHT_INLINE friend tile &operator symbol(detail::located_variable<tile> x, const Y &y)                                             \
      TILEWRIGHT_IF_FITS(detail::operand_fits<tile>(y)) {                                                                                  \
    TILEWRIGHT_CHECK_FITS(T, y);                                                                                                           \
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
    return result(detail::record_operator(TW_LOGICAL_NOT, x, {}, &detail::type_info<result>::value, {}));
  }
  /// Both sides are computed: the result says where both are true.
  template <typename Y> friend auto operator&&(detail::located<tile> x, const Y &y) {
    return detail::logical<TW_LOGICAL_AND>(x.value, y, x.where);
  }
  template <typename Y> friend auto operator||(detail::located<tile> x, const Y &y) {
    return detail::logical<TW_LOGICAL_OR>(x.value, y, x.where);
  }

private:
  template <detail::number N> void define_number(N number, location where) {
    static_assert(detail::rank_of(detail::element<T>::kind) >= detail::rank_of(detail::number_kind<N>()),
                  "A floating-point number cannot initialize an integer or bool, and an integer cannot initialize a bool.");
    detail::check_fits<T>(number, where);
    constexpr const char *element = detail::element<T>::name;
    const TwTileType *type = &detail::type_info<tile>::value;
    if constexpr (std::is_same_v<T, double>) // a cast would round the number to fp32 first, as tl.cast does
      static_cast<detail::value &>(*this) = detail::typed_number(element, number, type, where);
    else
      static_cast<detail::value &>(*this) = detail::record("cast", {{"input", number}, {"dtype", element}}, type, where);
  }
  void assign(const tile &other, location where) { detail::record_assignment(*this, other, &detail::type_info<tile>::value, where); }
  tile &update(const tile &other, location where) {
    assign(other, where);
    return *this;
  }
  template <typename U, int... Other> tile &update(const tile<U, Other...> &, location) {
    static_assert(detail::never<U>,
                  "A compound assignment changes the element type or the shape of its variable: convert the other operand "
                  "with cast<T>(x), or declare another variable.");
    return *this;
  }
  template <typename... Index> auto expand(location where) const {
    static_assert((int(std::is_same_v<Index, all_t>) + ...) == rank, "x(...) has one `all` for each dimension of x.");
    using result = detail::tile_of<T, detail::expanded<Index...>(shape)>;
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
      return result(detail::record_expansion(*this, detail::constants<axes>(), &detail::type_info<result>::value, where));
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
