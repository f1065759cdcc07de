// Builtins that make tiles and change their shapes.
#pragma once

#include "tilewright/language/tile.h"

namespace tilewright {

namespace detail {
/// Where a call is traced, for short bodies of builtins.
struct site {
  location where;
  explicit site(location w) : where(w) {}
  template <typename V> input operator()(const V &v) const { return input_of(v, where); }
  /// An operand next to another one, which may decide its type.
  template <typename Other, typename V> input with(const V &v) const { return operand_input<Other>(v, where); }
  template <typename R> R call(const char *path, std::initializer_list<argument> arguments) const {
    return detail::call<R>(path, arguments, where);
  }
  value tuple(const char *path, std::initializer_list<argument> arguments) const { return record(path, arguments, nullptr, where); }
  template <typename R> R item(value tuple, size_t i) const { return R(record_item(tuple, i, &type_info<R>::value, where)); }
  void run(const char *path, std::initializer_list<argument> arguments) const { record_void(path, arguments, where); }
  /// Calls a builtin whose result is known when the kernel is compiled.
  i1 question(const char *path, std::initializer_list<argument> arguments) const { return i1(tuple(path, arguments)); }
};

constexpr dims permuted(dims shape, dims order) {
  dims result{shape.rank, {}};
  for (int i = 0; i < shape.rank; ++i)
    result.size[i] = shape[axis_of(order[i], shape.rank)];
  return result;
}
constexpr bool is_permutation(dims order, int rank) {
  bool seen[8] = {};
  for (int i = 0; i < order.rank; ++i) {
    int axis = axis_of(order[i], rank);
    if (order.rank != rank || axis < 0 || axis >= rank || seen[axis]) return false;
    seen[axis] = true;
  }
  return order.rank == rank;
}
constexpr dims transposed(int rank) {
  dims order{rank, {}};
  for (int i = 0; i < rank; ++i)
    order.size[i] = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
  return order;
}
/// New dimensions of size 1 at these positions of the result.
constexpr dims with_axes(dims shape, dims axes) {
  dims result = shape;
  int rank = shape.rank + axes.rank;
  for (int position = 0; position < rank; ++position)
    for (int i = 0; i < axes.rank; ++i)
      if (axis_of(axes[i], rank) == position) result = result.inserted(position, 1);
  return result;
}
template <typename X> constexpr void check_tile() {
  static_assert(any_tile<X>, "The argument is a tile.");
}
template <int Axis, typename X> constexpr int checked_axis() {
  constexpr int rank = operand_info<X>::shape.rank;
  static_assert(Axis >= -rank && Axis < rank, "The tile has no such axis.");
  return axis_of(Axis, rank);
}
} // namespace detail

/// Which program this is along axis 0, 1 or 2 of the grid.
inline i32 program_id(int axis, location where = location::current()) {
  detail::site s(where);
  return s.call<i32>("program_id", {{"axis", s(axis)}});
}
/// How many programs there are along axis 0, 1 or 2 of the grid.
inline i32 num_programs(int axis, location where = location::current()) {
  detail::site s(where);
  return s.call<i32>("num_programs", {{"axis", s(axis)}});
}

/// 0, 1, ..., N - 1.
template <int N> tile<int32_t, N> arange(location where = location::current()) {
  detail::site s(where);
  return s.call<tile<int32_t, N>>("arange", {{"start", s(0)}, {"end", s(N)}});
}
/// Begin, ..., End - 1; the length is a power of two.
template <int Begin, int End> tile<int32_t, End - Begin> arange(location where = location::current()) {
  detail::site s(where);
  return s.call<tile<int32_t, End - Begin>>("arange", {{"start", s(Begin)}, {"end", s(End)}});
}

/// A tile with one value everywhere: full<float, 64>(0.5f).
template <typename T, int... Shape, detail::operand V> tile<T, Shape...> full(const V &value, location where = location::current()) {
  static_assert(detail::shape_of<V>().rank == 0, "The value of full is a number or a scalar.");
  detail::site s(where);
  return s.call<tile<T, Shape...>>(
      "full",
      {{"shape", s(detail::constants<detail::dims_of<Shape...>()>())}, {"value", s(value)}, {"dtype", s(detail::element<T>::name)}});
}
template <typename T, int... Shape> tile<T, Shape...> zeros(location where = location::current()) {
  detail::site s(where);
  return s.call<tile<T, Shape...>>(
      "zeros", {{"shape", s(detail::constants<detail::dims_of<Shape...>()>())}, {"dtype", s(detail::element<T>::name)}});
}
template <typename T, int... Shape> tile<T, Shape...> zeros_like(const tile<T, Shape...> &input, location where = location::current()) {
  detail::site s(where);
  return s.call<tile<T, Shape...>>("zeros_like", {{"input", s(input)}});
}

/// Options of cast.
struct cast_options {
  const char *fp_downcast_rounding = nullptr; // "rtne" or "rtz"
  bool bitcast = false;
};
/// The same values as elements of type T; with `bitcast`, the same bits.
template <typename T, detail::operand X> auto cast(const X &input, const cast_options &options = {}, location where = location::current()) {
  static_assert(detail::is_element<T>, "cast<T>(x) needs an element type, such as float or half.");
  detail::site s(where);
  return s.call<detail::tile_of<T, detail::shape_of<X>()>>("cast", {{"input", s(input)},
                                                                    {"dtype", s(detail::element<T>::name)},
                                                                    {"fp_downcast_rounding", s(options.fp_downcast_rounding)},
                                                                    {"bitcast", options.bitcast ? s(true) : detail::absent}});
}
/// A number of C++ as a scalar of the kernel: float, bool, int32, or the wider integer of its C++ type.
template <detail::number N> auto to_tensor(N x, location where = location::current()) {
  detail::site s(where);
  return s.call<tile<typename detail::type_of<detail::number_kind<N>()>::type>>("to_tensor", {{"x", s.with<N>(x)}});
}

/// Both operands in their common shape.
template <detail::operand X, detail::operand Y> auto broadcast(const X &input, const Y &other, location where = location::current()) {
  constexpr detail::dims shape = detail::broadcast_dims(detail::shape_of<X>(), detail::shape_of<Y>());
  static_assert(shape.rank >= 0,
                "The shapes of the two tiles do not fit: along each dimension, the extents are equal or one of them is 1.");
  detail::site s(where);
  detail::value both = s.tuple("broadcast", {{"input", s(input)}, {"other", s(other)}});
  using left = detail::tile_of<element_of<X>, shape>;
  using right = detail::tile_of<element_of<Y>, shape>;
  return std::tuple<left, right>(s.item<left>(both, 0), s.item<right>(both, 1));
}
/// Repeats dimensions of size 1 up to a shape.
template <int... Shape, typename X> auto broadcast_to(const X &input, location where = location::current()) {
  detail::check_tile<X>();
  constexpr detail::dims shape = detail::dims_of<Shape...>();
  static_assert(detail::can_broadcast_to(detail::operand_info<X>::shape, shape), "The tile cannot be broadcast to this shape.");
  detail::site s(where);
  return s.call<tile<element_of<X>, Shape...>>("broadcast_to", {{"input", s(input)}, {"shape", s(detail::constants<shape>())}});
}
/// New dimensions of size 1 at these positions of the result: expand_dims<1>(x).
template <int... Axes, typename X> auto expand_dims(const X &input, location where = location::current()) {
  detail::check_tile<X>();
  constexpr detail::dims axes = detail::dims_of<Axes...>();
  detail::site s(where);
  return s.call<detail::tile_of<element_of<X>, detail::with_axes(detail::operand_info<X>::shape, axes)>>(
      "expand_dims", {{"input", s(input)}, {"axis", s(detail::constants<axes>())}});
}
template <int Axis, typename X> auto unsqueeze(const X &x, location where = location::current()) {
  detail::check_tile<X>();
  detail::site s(where);
  return s.call<detail::tile_of<element_of<X>, detail::with_axes(detail::operand_info<X>::shape, detail::dims_of<Axis>())>>(
      "unsqueeze", {{"x", s(x)}, {"dim", s(Axis)}});
}
/// Takes a dimension of size 1 away.
template <int Axis, typename X> auto squeeze(const X &x, location where = location::current()) {
  constexpr int axis = detail::checked_axis<Axis, X>();
  static_assert(detail::operand_info<X>::shape[axis] == 1, "squeeze takes a dimension of size 1 away.");
  detail::site s(where);
  return s.call<detail::tile_of<element_of<X>, detail::operand_info<X>::shape.erased(axis)>>("squeeze", {{"x", s(x)}, {"dim", s(Axis)}});
}

namespace detail {
template <typename X, int... Shape> constexpr void check_reshape() {
  check_tile<X>();
  static_assert(operand_info<X>::shape.elements() == dims_of<Shape...>().elements(),
                "The new shape has another number of elements than the tile.");
}
} // namespace detail
/// The same elements, row by row, in another shape; with `can_reorder`, in any order.
template <int... Shape, typename X> auto reshape(const X &input, bool can_reorder = false, location where = location::current()) {
  detail::check_reshape<X, Shape...>();
  detail::site s(where);
  return s.call<tile<element_of<X>, Shape...>>("reshape", {{"input", s(input)},
                                                           {"shape", s(detail::constants<detail::dims_of<Shape...>()>())},
                                                           {"can_reorder", can_reorder ? s(true) : detail::absent}});
}
template <int... Shape, typename X> auto view(const X &input, location where = location::current()) {
  detail::check_reshape<X, Shape...>();
  detail::site s(where);
  return s.call<tile<element_of<X>, Shape...>>("view",
                                               {{"input", s(input)}, {"shape", s(detail::constants<detail::dims_of<Shape...>()>())}});
}
/// All elements in one dimension.
template <typename X> auto ravel(const X &x, bool can_reorder = false, location where = location::current()) {
  detail::check_tile<X>();
  detail::site s(where);
  return s.call<tile<element_of<X>, int(detail::operand_info<X>::shape.elements())>>(
      "ravel", {{"x", s(x)}, {"can_reorder", can_reorder ? s(true) : detail::absent}});
}

namespace detail {
template <dims Order, typename X> auto permute_to(const char *path, const X &input, location where) {
  check_tile<X>();
  static_assert(is_permutation(Order, operand_info<X>::shape.rank), "The order names each dimension of the tile once.");
  site s(where);
  return s.call<tile_of<element_of<X>, permuted(operand_info<X>::shape, Order)>>(path,
                                                                                 {{"input", s(input)}, {"dims", s(constants<Order>())}});
}
} // namespace detail
/// Dimensions in another order; without one, the last two swapped.
template <int... Order, typename X> auto trans(const X &input, location where = location::current()) {
  if constexpr (sizeof...(Order) > 0) {
    return detail::permute_to<detail::dims_of<Order...>()>("trans", input, where);
  } else {
    constexpr detail::dims shape = detail::operand_info<X>::shape;
    static_assert(shape.rank >= 2, "trans swaps the last two dimensions of a tile that has at least two.");
    detail::site s(where);
    return s.call<detail::tile_of<element_of<X>, detail::permuted(shape, detail::transposed(shape.rank))>>("trans", {{"input", s(input)}});
  }
}
template <int... Order, typename X> auto permute(const X &input, location where = location::current()) {
  return detail::permute_to<detail::dims_of<Order...>()>("permute", input, where);
}
/// The concatenation of two tiles of one type along a dimension.
template <int Dim = 0, typename X>
auto cat(const X &input, const X &other, bool can_reorder = false, location where = location::current()) {
  constexpr int axis = detail::checked_axis<Dim, X>();
  constexpr detail::dims shape = detail::operand_info<X>::shape;
  detail::site s(where);
  return s.call<detail::tile_of<element_of<X>, shape.with(axis, 2 * shape[axis])>>(
      "cat", {{"input", s(input)}, {"other", s(other)}, {"can_reorder", can_reorder ? s(true) : detail::absent}, {"dim", s(Dim)}});
}
/// Two tiles side by side in a new last dimension.
template <typename X, typename Y> auto join(const X &a, const Y &b, location where = location::current()) {
  detail::check_tile<X>();
  static_assert(std::is_same_v<element_of<X>, element_of<Y>>, "join takes two tiles of one element type.");
  constexpr detail::dims shape = detail::broadcast_dims(detail::operand_info<X>::shape, detail::operand_info<Y>::shape);
  static_assert(shape.rank >= 0,
                "The shapes of the two tiles do not fit: along each dimension, the extents are equal or one of them is 1.");
  detail::site s(where);
  return s.call<detail::tile_of<element_of<X>, shape.inserted(shape.rank, 2)>>("join", {{"a", s(a)}, {"b", s(b)}});
}
/// The two halves of a last dimension of size 2: auto [left, right] = split(x).
template <typename X> auto split(const X &a, location where = location::current()) {
  detail::check_tile<X>();
  constexpr detail::dims shape = detail::operand_info<X>::shape;
  static_assert(shape.rank > 0 && shape[shape.rank - 1] == 2, "split takes a tile whose last dimension has size 2.");
  using half = detail::tile_of<element_of<X>, shape.erased(shape.rank - 1)>;
  detail::site s(where);
  detail::value both = s.tuple("split", {{"a", s(a)}});
  return std::tuple<half, half>(s.item<half>(both, 0), s.item<half>(both, 1));
}
/// The one element of a tile as a scalar.
template <typename T, int... Shape> tile<T> item(const tile<T, Shape...> &input, location where = location::current()) {
  static_assert((int64_t{1} * ... * Shape) == 1, "item takes a tile of one element.");
  detail::site s(where);
  return s.call<tile<T>>("item", {{"input", s(input)}});
}

} // namespace tilewright
