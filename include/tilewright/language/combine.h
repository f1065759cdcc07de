// Builtins that combine elements: dot, reductions and scans, sorting, histogram, gather.
#pragma once

#include "tilewright/language/math.h"
#include "tilewright/language/memory.h"

namespace tilewright {

/// No axis: all elements.
inline constexpr int all_axes = -1000;

/// Options of dot.
struct dot_options {
  const char *input_precision = nullptr; // "tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"
  int max_num_imprecise_acc = 0;         // 0: the default
};

namespace detail {
constexpr dims dot_dims(dims x, dims y) {
  dims result = x;
  if (x.rank >= 2 && x.rank == y.rank) result.size[x.rank - 1] = y[y.rank - 1];
  return result;
}
template <typename X, typename Y> constexpr void check_dot() {
  constexpr dims x = operand_info<X>::shape, y = operand_info<Y>::shape;
  constexpr dtype left = operand_info<X>::kind, right = operand_info<Y>::kind;
  static_assert(x.rank >= 2 && x.rank == y.rank, "dot multiplies two tiles of the same rank, at least 2.");
  static_assert(x.rank < 2 || x.rank != y.rank || x[x.rank - 1] == y[y.rank - 2],
                "The inner sizes of dot differ: the columns of the first tile "
                "are not the rows of the second.");
  static_assert(is_float(left) || left == dtype::i8, "dot multiplies floating-point numbers or int8.");
  static_assert(left == right || (is_fp8(left) && is_fp8(right)), "dot multiplies two tiles of one element type: convert one of them with "
                                                                  "cast<T>(x).");
}
template <typename Out, dtype Left> constexpr dtype dot_kind() {
  if (is_integer(Left)) return dtype::i32;
  if (Left == dtype::f32 || Left == dtype::bf16) return dtype::f32;
  return Left == dtype::f64 ? dtype::f64 : element<Out>::kind;
}
} // namespace detail

/// Matrix multiplication, added to `acc`: dot(a, b), dot(a, b, acc). The result has elements of float; of int32 for int8, double for
/// double. Of half and 8-bit floats, dot<half>(a, b) sums in half.
template <typename Out = void, typename X, typename Y, typename A = none_t>
  requires(detail::any_tile<X> && detail::any_tile<Y>)
auto dot(const X &input, const Y &other, const A &acc = {}, const dot_options &options = {}, location where = location::current()) {
  detail::check_dot<X, Y>();
  constexpr bool half_sum = [] {
    if constexpr (detail::any_tile<A>) return std::is_same_v<element_of<A>, half>;
    return false;
  }();
  using wanted = std::conditional_t<std::is_void_v<Out>, std::conditional_t<half_sum, half, float>, Out>;
  static_assert(std::is_same_v<wanted, float> || std::is_same_v<wanted, half> || std::is_same_v<wanted, int32_t> ||
                    std::is_same_v<wanted, double>,
                "dot sums in float, half, double or int32.");
  using result = detail::numbers<detail::dot_kind<wanted, detail::operand_info<X>::kind>(),
                                 detail::dot_dims(detail::operand_info<X>::shape, detail::operand_info<Y>::shape)>;
  static_assert(detail::is_none<A> || std::is_same_v<A, result>, "The accumulator of dot has the type and shape of its result.");
  detail::site s(where);
  return s.call<result>("dot",
                        {{"input", s(input)},
                         {"other", s(other)},
                         {"acc", s(acc)},
                         {"input_precision", s(options.input_precision)},
                         {"max_num_imprecise_acc", options.max_num_imprecise_acc ? s(options.max_num_imprecise_acc) : detail::absent},
                         {"out_dtype", std::is_void_v<Out> ? detail::absent : s(detail::element<wanted>::name)}});
}

/// Options of dot_scaled.
struct dot_scaled_options {
  bool fast_math = false, lhs_k_pack = true, rhs_k_pack = true;
};
/// Matrix multiplication of operands in microscaling formats ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "bf16", "fp16"), added to an
/// accumulator of float. A scale may be `none`.
template <typename L, typename LS, typename R, typename RS, int M, int N>
tile<float, M, N> dot_scaled(const L &lhs, const LS &lhs_scale, const char *lhs_format, const R &rhs, const RS &rhs_scale,
                             const char *rhs_format, const tile<float, M, N> &acc, const dot_scaled_options &options = {},
                             location where = location::current()) {
  detail::site s(where);
  return s.call<tile<float, M, N>>("dot_scaled", {{"lhs", s(lhs)},
                                                  {"lhs_scale", detail::is_none<LS> ? s(nullptr) : s(lhs_scale)},
                                                  {"lhs_format", s(lhs_format)},
                                                  {"rhs", s(rhs)},
                                                  {"rhs_scale", detail::is_none<RS> ? s(nullptr) : s(rhs_scale)},
                                                  {"rhs_format", s(rhs_format)},
                                                  {"acc", s(acc)},
                                                  {"fast_math", options.fast_math ? s(true) : detail::absent},
                                                  {"lhs_k_pack", options.lhs_k_pack ? detail::absent : s(false)},
                                                  {"rhs_k_pack", options.rhs_k_pack ? detail::absent : s(false)}});
}

// ---- functions that combine elements

namespace detail {
TILEWRIGHT_TRACE inline void begin_function(value *parameters, size_t count, location where) {
  const trace &t = tracing(where);
  TwValue ids[16] = {};
  place at(where);
  twBuilderFunction(t.builder, ids, count, &at);
  for (size_t i = 0; i < count; ++i)
    parameters[i] = {t, ids[i]};
}
TILEWRIGHT_TRACE inline input end_function(std::initializer_list<input> results, location where) {
  const trace &t = tracing(where);
  std::vector<TwValue> ids = ids_of(t, results, where);
  place at(where);
  return input::recorded(twBuilderEndFunction(t.builder, ids.data(), ids.size(), &at));
}
/// Records a C++ function of scalars. It returns a scalar or a tuple of scalars.
template <typename... P, typename F> input function_of(const site &s, F &&f) {
  static_assert(sizeof...(P) <= 16, "A function that combines elements has at most 16 parameters.");
  value parameters[sizeof...(P)];
  begin_function(parameters, sizeof...(P), s.where);
  return [&]<size_t... I>(std::index_sequence<I...>) {
    auto result = f(P(parameters[I])...);
    if constexpr (any_tile<decltype(result)>)
      return end_function({s(result)}, s.where);
    else
      return std::apply([&](const auto &...each) { return end_function({s(each)...}, s.where); }, result);
  }(std::index_sequence_for<P...>());
}
template <typename T, typename F> constexpr void check_combine() {
  static_assert(std::is_invocable_v<F &, tile<T>, tile<T>>,
                "The function that combines elements takes two scalars of the tile's element type.");
  if constexpr (std::is_invocable_v<F &, tile<T>, tile<T>>)
    static_assert(std::is_same_v<std::invoke_result_t<F &, tile<T>, tile<T>>, tile<T>>,
                  "The function that combines elements returns a scalar of "
                  "the tile's element type.");
}
constexpr dims reduced_dims(dims shape, int axis, bool keep) {
  if (axis != all_axes) {
    axis = axis_of(axis, shape.rank);
    return keep ? shape.with(axis, 1) : shape.erased(axis);
  }
  dims ones{keep ? shape.rank : 0, {}};
  for (int i = 0; i < ones.rank; ++i)
    ones.size[i] = 1;
  return ones;
}
template <int Axis, typename X> constexpr void check_axis() {
  check_tile<X>();
  constexpr int rank = operand_info<X>::shape.rank;
  static_assert(Axis == all_axes || (Axis >= -rank && Axis < rank), "The tile has no such axis.");
}
template <int Axis, bool Keep, typename T, typename X> struct reduced_tile {
  static constexpr dims shape = reduced_dims(operand_info<X>::shape, Axis, Keep);
  using type = typename tile_having<T, shape>::type;
};
template <int Axis, bool Keep, typename T, typename X> using reduced = typename reduced_tile<Axis, Keep, T, X>::type;
inline input axis_input(const site &s, int axis) {
  return axis == all_axes ? absent : s(axis);
}
/// The element type of sums: integers below 32 bits are summed in 32.
template <typename T> constexpr dtype sum_kind() {
  constexpr dtype kind = element<T>::kind;
  return is_integer(kind) && bits_of(kind) < 32 ? (is_signed(kind) ? dtype::i32 : dtype::u32) : kind;
}
/// The element type of maxima and minima.
template <typename T> constexpr dtype order_kind() {
  constexpr dtype kind = element<T>::kind;
  return bits_of(kind) >= 32 ? kind : is_float(kind) ? dtype::f32 : dtype::i32;
}
template <int Axis, bool Keep, dtype Kind, typename X> auto reduce_named(const char *path, const X &x, location where) {
  check_axis<Axis, X>();
  site s(where);
  return s.call<reduced<Axis, Keep, typename type_of<Kind>::type, X>>(
      path, {{"input", s(x)}, {"axis", axis_input(s, Axis)}, {"keep_dims", Keep ? s(true) : detail::absent}});
}
template <int Axis, bool Keep, typename X> auto with_indices(const char *path, const X &x, bool tie_break_left, location where) {
  check_axis<Axis, X>();
  site s(where);
  using values = reduced<Axis, Keep, element_of<X>, X>;
  using indices = reduced<Axis, Keep, int32_t, X>;
  value both = s.tuple(path, {{"input", s(x)},
                              {"axis", axis_input(s, Axis)},
                              {"return_indices", s(true)},
                              {"return_indices_tie_break_left", tie_break_left ? detail::absent : s(false)},
                              {"keep_dims", Keep ? s(true) : detail::absent}});
  return std::tuple<values, indices>(s.item<values>(both, 0), s.item<indices>(both, 1));
}
template <int Axis, bool Keep, typename X> auto index_of(const char *path, const X &x, bool tie_break_left, location where) {
  check_axis<Axis, X>();
  site s(where);
  return s.call<reduced<Axis, Keep, int32_t, X>>(path, {{"input", s(x)},
                                                        {"axis", s(Axis)},
                                                        {"tie_break_left", tie_break_left ? detail::absent : s(false)},
                                                        {"keep_dims", Keep ? s(true) : detail::absent}});
}
} // namespace detail

/// reduce<0>(x, [](f32 a, f32 b) { return maximum(a, b); }): the elements along an axis combined; reduce(x, f): all of them.
template <int Axis = all_axes, bool KeepDims = false, typename T, int... Shape, typename F>
auto reduce(const tile<T, Shape...> &input, F &&combine_fn, location where = location::current()) {
  using X = tile<T, Shape...>;
  detail::check_axis<Axis, X>();
  detail::check_combine<T, F>();
  detail::site s(where);
  detail::input x = s(input), f = detail::function_of<tile<T>, tile<T>>(s, combine_fn);
  return s.call<detail::reduced<Axis, KeepDims, T, X>>("reduce", {{"input", x},
                                                                  {"axis", Axis == all_axes ? s(nullptr) : s(Axis)},
                                                                  {"combine_fn", f},
                                                                  {"keep_dims", KeepDims ? s(true) : detail::absent}});
}
/// Reduces two tiles of one shape together: reduce<0>(std::tie(values, indices), [](f32 v1, i32 i1, f32 v2, i32 i2) { ... return
/// std::tuple(v, i); }).
template <int Axis, bool KeepDims = false, typename A, typename B, int... Shape, typename F>
auto reduce(const std::tuple<tile<A, Shape...> &, tile<B, Shape...> &> &inputs, F &&combine_fn, location where = location::current()) {
  using X = tile<A, Shape...>;
  detail::check_axis<Axis, X>();
  detail::site s(where);
  detail::input pair = detail::tuple_of({s(std::get<0>(inputs)), s(std::get<1>(inputs))}, where);
  detail::input f = detail::function_of<tile<A>, tile<B>, tile<A>, tile<B>>(s, combine_fn);
  detail::value both =
      s.tuple("reduce", {{"input", pair}, {"axis", s(Axis)}, {"combine_fn", f}, {"keep_dims", KeepDims ? s(true) : detail::absent}});
  using first = detail::reduced<Axis, KeepDims, A, X>;
  using second = detail::reduced<Axis, KeepDims, B, X>;
  return std::tuple<first, second>(s.item<first>(both, 0), s.item<second>(both, 1));
}
/// The running combination along an axis.
template <int Axis, typename T, int... Shape, typename F>
tile<T, Shape...> associative_scan(const tile<T, Shape...> &input, F &&combine_fn, bool reverse = false,
                                   location where = location::current()) {
  detail::check_axis<Axis, tile<T, Shape...>>();
  detail::check_combine<T, F>();
  detail::site s(where);
  detail::input x = s(input), f = detail::function_of<tile<T>, tile<T>>(s, combine_fn);
  return s.call<tile<T, Shape...>>("associative_scan",
                                   {{"input", x}, {"axis", s(Axis)}, {"combine_fn", f}, {"reverse", reverse ? s(true) : detail::absent}});
}
/// A function of scalars on each element of tiles of one shape; it may have control flow of its own. It returns a scalar.
template <typename F, typename T, typename... U, int... Shape>
auto map_elementwise(F &&scalar_fn, const tile<T, Shape...> &first, const tile<U, Shape...> &...rest) {
  detail::site s(location::current());
  detail::input args = detail::tuple_of({s(first), s(rest)...}, s.where);
  detail::input f = detail::function_of<tile<T>, tile<U>...>(s, scalar_fn);
  using scalar = std::invoke_result_t<F &, tile<T>, tile<U>...>;
  static_assert(detail::any_tile<scalar>, "The function of map_elementwise returns a scalar.");
  return s.call<tile<element_of<scalar>, Shape...>>("map_elementwise", {{"scalar_fn", f}, {"args", args}});
}

/// The sum along an axis, sum<1>(x), or of all elements, sum(x). Integers below 32 bits are summed in 32.
template <int Axis = all_axes, bool KeepDims = false, typename X>
  requires detail::any_tile<X>
auto sum(const X &input, location where = location::current()) {
  return detail::reduce_named<Axis, KeepDims, detail::sum_kind<element_of<X>>()>("sum", input, where);
}
/// The largest element along an axis, or of all. Types below 32 bits are compared, and returned, in 32.
template <int Axis = all_axes, bool KeepDims = false, typename X>
  requires detail::any_tile<X>
auto max(const X &input, location where = location::current()) {
  return detail::reduce_named<Axis, KeepDims, detail::order_kind<element_of<X>>()>("max", input, where);
}
template <int Axis = all_axes, bool KeepDims = false, typename X>
  requires detail::any_tile<X>
auto min(const X &input, location where = location::current()) {
  return detail::reduce_named<Axis, KeepDims, detail::order_kind<element_of<X>>()>("min", input, where);
}
/// max and min with return_indices: auto [value, index] = max_with_indices<0>(x). Of equals, the index of the first, unless
/// `tie_break_left` is false.
template <int Axis = all_axes, bool KeepDims = false, typename X>
auto max_with_indices(const X &input, bool tie_break_left = true, location where = location::current()) {
  return detail::with_indices<Axis, KeepDims>("max", input, tie_break_left, where);
}
template <int Axis = all_axes, bool KeepDims = false, typename X>
auto min_with_indices(const X &input, bool tie_break_left = true, location where = location::current()) {
  return detail::with_indices<Axis, KeepDims>("min", input, tie_break_left, where);
}
template <int Axis, bool KeepDims = false, typename X>
auto argmax(const X &input, bool tie_break_left = true, location where = location::current()) {
  return detail::index_of<Axis, KeepDims>("argmax", input, tie_break_left, where);
}
template <int Axis, bool KeepDims = false, typename X>
auto argmin(const X &input, bool tie_break_left = true, location where = location::current()) {
  return detail::index_of<Axis, KeepDims>("argmin", input, tie_break_left, where);
}
/// All elements along an axis combined by ^ or |. Of integers.
template <int Axis = all_axes, bool KeepDims = false, typename X> auto xor_sum(const X &input, location where = location::current()) {
  static_assert(detail::is_integer(detail::kind_of<X>()), "xor_sum takes integers.");
  return detail::reduce_named<Axis, KeepDims, detail::kind_of<X>()>("xor_sum", input, where);
}
template <int Axis = all_axes, bool KeepDims = false, typename X> auto reduce_or(const X &input, location where = location::current()) {
  static_assert(detail::is_integer(detail::kind_of<X>()), "reduce_or takes integers.");
  return detail::reduce_named<Axis, KeepDims, detail::kind_of<X>()>("reduce_or", input, where);
}
/// Sums and products of all elements up to each along an axis; with `reverse`, from each to the end.
template <int Axis = 0, typename X> auto cumsum(const X &input, bool reverse = false, location where = location::current()) {
  detail::check_axis<Axis, X>();
  detail::site s(where);
  constexpr detail::dtype kind = detail::sum_kind<element_of<X>>();
  return s.call<detail::numbers<kind, detail::operand_info<X>::shape>>(
      "cumsum", {{"input", s(input)}, {"axis", s(Axis)}, {"reverse", reverse ? s(true) : detail::absent}});
}
template <int Axis = 0, typename X> auto cumprod(const X &input, bool reverse = false, location where = location::current()) {
  detail::check_axis<Axis, X>();
  detail::site s(where);
  return s.call<detail::numbers<detail::sum_kind<element_of<X>>(), detail::operand_info<X>::shape>>(
      "cumprod", {{"input", s(input)}, {"axis", s(Axis)}, {"reverse", reverse ? s(true) : detail::absent}});
}
/// exp(x - max) / sum of these along a dimension.
template <int Dim = 0, int... Shape>
tile<float, Shape...> softmax(const tile<float, Shape...> &x, bool ieee_rounding = false, location where = location::current()) {
  detail::check_axis<Dim, tile<float, Shape...>>();
  detail::site s(where);
  return s.call<tile<float, Shape...>>("softmax",
                                       {{"x", s(x)}, {"dim", s(Dim)}, {"ieee_rounding", ieee_rounding ? s(true) : detail::absent}});
}

// ---- order

/// The elements in order along the last dimension.
template <typename X> X sort(const X &x, bool descending = false, location where = location::current()) {
  detail::check_axis<-1, X>();
  detail::site s(where);
  return s.call<X>("sort", {{"x", s(x)}, {"descending", descending ? s(true) : detail::absent}});
}
/// The K largest elements along the last dimension, in order; with descending = false, the smallest. Types below 32 bits become 32.
template <int K, typename X> auto topk(const X &x, bool descending = true, location where = location::current()) {
  detail::check_axis<-1, X>();
  constexpr detail::dims shape = detail::operand_info<X>::shape;
  static_assert(K > 0 && (K & (K - 1)) == 0 && K <= shape[shape.rank - 1],
                "topk<K> takes a power of two, at most the size of the last dimension.");
  constexpr detail::dtype kind = detail::operand_info<X>::kind;
  constexpr detail::dtype result = K == shape[shape.rank - 1] || detail::bits_of(kind) >= 32 ? kind
                                   : detail::is_float(kind)                                  ? detail::dtype::f32
                                                                                             : detail::dtype::i32;
  detail::site s(where);
  return s.call<detail::numbers<result, shape.with(shape.rank - 1, K)>>(
      "topk", {{"x", s(x)}, {"k", s(K)}, {"descending", descending ? detail::absent : s(false)}});
}
/// Sorts along the last dimension what first rises and then falls.
template <typename X> X bitonic_merge(const X &x, bool descending = false, location where = location::current()) {
  detail::check_axis<-1, X>();
  detail::site s(where);
  return s.call<X>("bitonic_merge", {{"x", s(x)}, {"descending", descending ? s(true) : detail::absent}});
}
/// The elements in reverse along a dimension.
template <int Dim = -1, typename X> X flip(const X &x, location where = location::current()) {
  detail::check_axis<Dim, X>();
  detail::site s(where);
  return s.call<X>("flip", {{"x", s(x)}, {"dim", s(Dim)}});
}
/// a[0], b[0], a[1], b[1], ... along the last dimension.
template <typename T, int... Shape>
auto interleave(const tile<T, Shape...> &a, const tile<T, Shape...> &b, location where = location::current()) {
  constexpr detail::dims shape = detail::dims_of<Shape...>();
  detail::site s(where);
  if constexpr (shape.rank == 0)
    return s.call<tile<T, 2>>("interleave", {{"a", s(a)}, {"b", s(b)}});
  else
    return s.call<detail::tile_of<T, shape.with(shape.rank - 1, 2 * shape[shape.rank - 1])>>("interleave", {{"a", s(a)}, {"b", s(b)}});
}
/// How often each of 0 ... Bins - 1 occurs.
template <int Bins, typename T, int N, typename M = none_t>
tile<int32_t, Bins> histogram(const tile<T, N> &input, const M &mask = {}, location where = location::current()) {
  static_assert(std::is_integral_v<T>, "histogram counts integers.");
  detail::site s(where);
  return s.call<tile<int32_t, Bins>>("histogram", {{"input", s(input)}, {"num_bins", s(Bins)}, {"mask", s(mask)}});
}
/// Elements picked along an axis by index.
template <int Axis, typename T, int... Shape, typename I, int... Index>
tile<T, Index...> gather(const tile<T, Shape...> &src, const tile<I, Index...> &index, location where = location::current()) {
  constexpr int axis = detail::checked_axis<Axis, tile<T, Shape...>>();
  static_assert(std::is_integral_v<I>, "The index of gather is a tile of integers.");
  static_assert(sizeof...(Shape) == sizeof...(Index) &&
                    detail::dims_of<Shape...>().with(axis, 1) == detail::dims_of<Index...>().with(axis, 1),
                "The index of gather has the shape of the source except along the axis.");
  detail::site s(where);
  return s.call<tile<T, Index...>>("gather", {{"src", s(src)}, {"index", s(index)}, {"axis", s(Axis)}});
}

} // namespace tilewright
