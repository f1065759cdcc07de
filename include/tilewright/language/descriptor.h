// Block pointers and tensor descriptors: loads and stores of whole blocks of a strided tensor, whose bounds the kernel need not check.
#pragma once

#include "tilewright/language/memory.h"
#include "tilewright/language/shape.h"

namespace tilewright {

/// Integers known when the kernel runs, one for each dimension: shapes, strides, offsets. `at(m, 0)`.
template <typename... V> using offsets = detail::values<V...>;
template <detail::operand... V> offsets<V...> at(const V &...v) {
  static_assert(((detail::shape_of<V>().rank == 0 && detail::is_integer(detail::kind_of<V>())) && ...),
                "Shapes, strides and offsets are integers or "
                "integer scalars.");
  return {{v...}};
}
/// Sizes of a block, or an order of dimensions, known when C++ is compiled.
template <int... Values> struct constant_list {};

namespace detail {
template <size_t Rank, size_t Given> constexpr void check_rank() {
  static_assert(Rank == Given, "There must be one number for each dimension of the block.");
}
template <typename P> constexpr void check_base() {
  static_assert(is_pointer_tile<P>() && shape_of<P>().rank == 0, "The base of a block is a scalar pointer, ptr<T>.");
}

/// A value that can be copied and assigned like a tile, and whose type C++ does not check further.
template <typename Self> class handle : public value {
public:
  handle(const handle &other, location where = location::current()) : value(record_variable(other, nullptr, where)) {}
  handle &operator=(const handle &other) {
    record_assignment(*this, other, nullptr, {});
    return *this;
  }

protected:
  explicit handle(value recorded) : value(recorded) {}
};
} // namespace detail

/// A pointer to a block of a strided tensor.
template <typename T, int... Shape> class block_ptr : public detail::handle<block_ptr<T, Shape...>> {
public:
  explicit block_ptr(detail::value recorded) : detail::handle<block_ptr>(recorded) {}
  block_ptr(const block_ptr &other, location where = location::current()) : detail::handle<block_ptr>(other, where) {}
  block_ptr &operator=(const block_ptr &) = default;
};

/// A strided tensor with the shape of the blocks that are taken from it.
template <typename T, int... Shape> class tensor_descriptor : public detail::handle<tensor_descriptor<T, Shape...>> {
public:
  explicit tensor_descriptor(detail::value recorded) : detail::handle<tensor_descriptor>(recorded) {}
  tensor_descriptor(const tensor_descriptor &other, location where = location::current())
      : detail::handle<tensor_descriptor>(other, where) {}
  tensor_descriptor &operator=(const tensor_descriptor &) = default;
};

namespace detail {
template <typename H> H untyped(const site &s, const char *path, std::initializer_list<argument> arguments) {
  return H(s.tuple(path, arguments));
}
} // namespace detail

/// make_block_ptr<BLOCK_M, BLOCK_K>(base, at(M, K), at(stride_m, stride_k), at(m, 0)): elements outside of the shape can be checked by
/// boundary_check of load and store. `Order` lists the dimensions, the one with contiguous elements first; by default it is the last.
template <int... Block, typename P, typename... N, typename... S, typename... O>
auto make_block_ptr(const P &base, const offsets<N...> &shape, const offsets<S...> &strides, const offsets<O...> &offset,
                    location where = location::current()) {
  detail::check_base<P>();
  detail::check_rank<sizeof...(Block), sizeof...(N)>();
  detail::check_rank<sizeof...(Block), sizeof...(S)>();
  detail::check_rank<sizeof...(Block), sizeof...(O)>();
  detail::site s(where);
  constexpr detail::dims order = [] {
    detail::dims result{sizeof...(Block), {}};
    for (int i = 0; i < result.rank; ++i)
      result.size[i] = result.rank - 1 - i;
    return result;
  }();
  return detail::untyped<block_ptr<std::remove_pointer_t<element_of<P>>, Block...>>(
      s, "make_block_ptr",
      {{"base", s(base)},
       {"shape", s(shape)},
       {"strides", s(strides)},
       {"offsets", s(offset)},
       {"block_shape", s(detail::constants<detail::dims_of<Block...>()>())},
       {"order", s(detail::constants<order>())}});
}
/// The block pointer, moved by offsets in elements.
template <typename T, int... Shape, typename... O>
block_ptr<T, Shape...> advance(const block_ptr<T, Shape...> &base, const offsets<O...> &offset, location where = location::current()) {
  detail::check_rank<sizeof...(Shape), sizeof...(O)>();
  detail::site s(where);
  return detail::untyped<block_ptr<T, Shape...>>(s, "advance", {{"base", s(base)}, {"offsets", s(offset)}});
}
/// Options of load for block pointers.
struct block_options {
  const char *padding_option = nullptr; // "zero" or "nan"
  const char *cache_modifier = nullptr, *eviction_policy = nullptr;
};
/// The block. Elements beyond the shape along the dimensions of `check` are padding; along other dimensions there must be none.
template <typename T, int... Shape, int... Dims>
auto load(const block_ptr<T, Shape...> &pointer, detail::boundary_dims<Dims...> check = {}, const block_options &options = {},
          location where = location::current()) {
  using stored = std::remove_const_t<T>;
  detail::site s(where);
  return s.call<tile<std::conditional_t<std::is_same_v<stored, bool>, int8_t, stored>, Shape...>>(
      "load", {{"pointer", s(pointer)},
               {"boundary_check", s(check)},
               {"padding_option", s(options.padding_option)},
               {"cache_modifier", s(options.cache_modifier)},
               {"eviction_policy", s(options.eviction_policy)}});
}
template <typename T, int... Shape, detail::operand V, int... Dims>
void store(const block_ptr<T, Shape...> &pointer, const V &value, detail::boundary_dims<Dims...> check = {},
           const store_options &options = {}, location where = location::current()) {
  static_assert(!std::is_const_v<T>, "A kernel cannot store to ptr<const T>: take ptr<T>.");
  static_assert(detail::shape_of<V>() == detail::dims_of<Shape...>(), "The stored tile has another shape than the block.");
  detail::site s(where);
  s.run("store", {{"pointer", s(pointer)},
                  {"value", s(value)},
                  {"boundary_check", s(check)},
                  {"cache_modifier", s(options.cache_modifier)},
                  {"eviction_policy", s(options.eviction_policy)}});
}

/// make_tensor_descriptor<BLOCK_M, BLOCK_K>(base, at(M, K), at(stride, 1)). The last stride is the constant 1.
template <int... Block, typename P, typename... N, typename... S>
auto make_tensor_descriptor(const P &base, const offsets<N...> &shape, const offsets<S...> &strides, const char *padding_option = nullptr,
                            location where = location::current()) {
  detail::check_base<P>();
  detail::check_rank<sizeof...(Block), sizeof...(N)>();
  detail::check_rank<sizeof...(Block), sizeof...(S)>();
  detail::site s(where);
  return detail::untyped<tensor_descriptor<pointee_of<P>, Block...>>(s, "make_tensor_descriptor",
                                                                     {{"base", s(base)},
                                                                      {"shape", s(shape)},
                                                                      {"strides", s(strides)},
                                                                      {"block_shape", s(detail::constants<detail::dims_of<Block...>()>())},
                                                                      {"padding_option", s(padding_option)}});
}
/// The block at element offsets; elements outside of the tensor are padding.
template <typename T, int... Shape, typename... O>
tile<T, Shape...> load_tensor_descriptor(const tensor_descriptor<T, Shape...> &desc, const offsets<O...> &offset,
                                         location where = location::current()) {
  detail::check_rank<sizeof...(Shape), sizeof...(O)>();
  detail::site s(where);
  return s.call<tile<T, Shape...>>("load_tensor_descriptor", {{"desc", s(desc)}, {"offsets", s(offset)}});
}
template <typename T, int... Shape, typename U, typename... O>
void store_tensor_descriptor(const tensor_descriptor<T, Shape...> &desc, const offsets<O...> &offset, const tile<U, Shape...> &value,
                             location where = location::current()) {
  detail::check_rank<sizeof...(Shape), sizeof...(O)>();
  detail::site s(where);
  s.run("store_tensor_descriptor", {{"desc", s(desc)}, {"offsets", s(offset)}, {"value", s(value)}});
}
/// Rows of a tensor by index: the descriptor's blocks are single rows, tensor_descriptor<T, 1, N>.
template <typename T, int Width, typename I, int Rows, detail::operand C>
tile<T, Rows, Width> gather(const tensor_descriptor<T, 1, Width> &desc, const tile<I, Rows> &x_offsets, const C &y_offset,
                            location where = location::current()) {
  detail::site s(where);
  return s.call<tile<T, Rows, Width>>("tensor_descriptor.gather",
                                      {{nullptr, s(desc)}, {"x_offsets", s(x_offsets)}, {"y_offset", s(y_offset)}});
}
template <typename T, int Width, typename I, int Rows, detail::operand C>
void scatter(const tensor_descriptor<T, 1, Width> &desc, const tile<T, Rows, Width> &value, const tile<I, Rows> &x_offsets,
             const C &y_offset, location where = location::current()) {
  detail::site s(where);
  s.run("tensor_descriptor.scatter", {{nullptr, s(desc)}, {"value", s(value)}, {"x_offsets", s(x_offsets)}, {"y_offset", s(y_offset)}});
}

namespace detail {
template <typename P, typename V, typename M> constexpr void check_atomic() {
  check_pointers<P>();
  check_mask<P, M>();
  static_assert(!std::is_const_v<std::remove_pointer_t<element_of<P>>>, "An atomic operation writes: it takes ptr<T>, not ptr<const T>.");
  static_assert(can_broadcast_to(shape_of<V>(), shape_of<P>()), "The shape of the value does not fit the pointers' shape.");
}
} // namespace detail

/// Writes `val` where memory equals `cmp`, at once; the result is the old value.
template <typename P, detail::operand C, detail::operand V>
  requires detail::any_tile<P>
auto atomic_cas(const P &pointer, const C &cmp, const V &val, const atomic_options &options = {}, location where = location::current()) {
  detail::check_atomic<P, V, none_t>();
  detail::check_atomic<P, C, none_t>();
  detail::site s(where);
  return s.call<detail::tile_of<pointee_of<P>, detail::operand_info<P>::shape>>(
      "atomic_cas", {{"pointer", s(pointer)}, {"cmp", s(cmp)}, {"val", s(val)}, {"sem", s(options.sem)}, {"scope", s(options.scope)}});
}
/// Reads elements of 32 or 64 bits, each at once. The order is "acquire" or "relaxed".
template <typename P, typename M = none_t>
  requires detail::any_tile<P>
auto atomic_load(const P &pointer, const M &mask = {}, const atomic_options &options = {}, location where = location::current()) {
  detail::check_pointers<P>();
  detail::check_mask<P, M>();
  detail::site s(where);
  return s.call<detail::tile_of<pointee_of<P>, detail::operand_info<P>::shape>>(
      "atomic_load", {{"pointer", s(pointer)}, {"mask", s(mask)}, {"sem", s(options.sem)}, {"scope", s(options.scope)}});
}
template <typename P, detail::operand V, typename M = none_t>
  requires detail::any_tile<P>
void atomic_store(const P &pointer, const V &val, const M &mask = {}, const atomic_options &options = {},
                  location where = location::current()) {
  detail::check_atomic<P, V, M>();
  detail::site s(where);
  s.run("atomic_store",
        {{"pointer", s(pointer)}, {"val", s(val)}, {"mask", s(mask)}, {"sem", s(options.sem)}, {"scope", s(options.scope)}});
}
/// Waits until memory equals the expected value at each address; the result is true there. With a timeout, on GPUs, it may be false.
template <typename P, detail::operand V, typename N = none_t>
  requires detail::any_tile<P>
auto atomic_poll(const P &pointer, const V &expected_value, const atomic_options &options = {}, const N &timeout_ns = {},
                 location where = location::current()) {
  detail::check_pointers<P>();
  constexpr detail::dims shape = detail::broadcast_dims(detail::shape_of<P>(), detail::shape_of<V>());
  detail::site s(where);
  return s.call<detail::tile_of<bool, shape>>("atomic_poll", {{"pointer", s(pointer)},
                                                              {"expected_value", s(expected_value)},
                                                              {"sem", s(options.sem)},
                                                              {"scope", s(options.scope)},
                                                              {"timeout_ns", s(timeout_ns)}});
}

} // namespace tilewright
