// Loads, stores and atomics; block pointers and tensor descriptors.
#pragma once

#include "tilewright/language/tile.h"

namespace tilewright {

/// Options of load and store as in the tile language; null and false are the defaults.
struct load_options {
  const char *cache_modifier = nullptr, *eviction_policy = nullptr;
  bool is_volatile = false;
};
struct store_options {
  const char *cache_modifier = nullptr, *eviction_policy = nullptr;
};
/// Memory order ("relaxed", "acquire", "release", "acq_rel") and scope ("gpu", "cta", "sys") of an atomic operation.
struct atomic_options {
  const char *sem = nullptr, *scope = nullptr;
};
namespace detail {
template <int... Dims> struct boundary_dims {};
} // namespace detail
/// Dimensions of a block that may reach beyond the tensor: boundary_check<0, 1>.
template <int... Dims> inline constexpr detail::boundary_dims<Dims...> boundary_check;

namespace detail {

template <typename P> constexpr void check_pointers() {
  static_assert(is_pointer_tile<P>(), "The address is a pointer or a tile of pointers, such as x + offsets.");
}
template <typename V> constexpr bool is_none = std::is_same_v<V, none_t>;

template <typename P, typename M> constexpr void check_mask() {
  if constexpr (!is_none<M>) {
    static_assert(operand<M>, "The mask is a tile of bools, such as offsets < n.");
    static_assert(kind_of<M>() == dtype::i1, "The mask is a tile of bools: compare, as in offsets < n.");
    static_assert(can_broadcast_to(shape_of<M>(), shape_of<P>()), "The shape of the mask does not fit the pointers' shape.");
  }
}
/// The type of loaded values.
template <typename P> using loaded = tile_of<pointee_of<P>, operand_info<P>::shape>;

template <int... Dims> input input_of(boundary_dims<Dims...>, location) {
  if constexpr (sizeof...(Dims) > 0) return constants<dims{sizeof...(Dims), {Dims...}}>();
  return absent;
}

TILEWRIGHT_TRACE inline value record_load(value pointer, input mask, input other, const load_options &options, const TwTileType *type,
                                          location where) {
  return record("load",
                {{"pointer", pointer},
                 {"mask", mask},
                 {"other", other},
                 {"cache_modifier", options.cache_modifier},
                 {"eviction_policy", options.eviction_policy},
                 {"volatile", options.is_volatile ? input(true) : absent}},
                type, where);
}
TILEWRIGHT_TRACE inline void record_store(value pointer, input stored, input mask, const store_options &options, location where) {
  record_void("store",
              {{"pointer", pointer},
               {"value", stored},
               {"mask", mask},
               {"cache_modifier", options.cache_modifier},
               {"eviction_policy", options.eviction_policy}},
              where);
}

} // namespace detail

/// The elements at the pointers. Where the mask is false, the result is `other`, or any value.
template <typename P, typename M = none_t, typename O = none_t>
  requires detail::any_tile<P>
auto load(const P &pointer, const M &mask = {}, const O &other = {}, const load_options &options = {},
          location where = location::current()) {
  detail::check_pointers<P>();
  detail::check_mask<P, M>();
  if constexpr (!detail::is_none<O>) {
    static_assert(detail::operand<O>, "The value of masked-off elements is a number, a scalar or a tile.");
    static_assert(!detail::is_none<M>, "A value for masked-off elements needs a mask: load(pointer, mask, other).");
    static_assert(detail::can_broadcast_to(detail::shape_of<O>(), detail::shape_of<P>()),
                  "The shape of `other` does not fit the pointers' shape.");
  }
  using result = detail::loaded<P>;
  return result(detail::record_load(pointer, mask, other, options, &detail::type_info<result>::value, where));
}

/// Writes `value` to the pointers, where the mask is true. The value is converted to the pointers' element type.
template <typename P, typename V, typename M = none_t>
  requires detail::any_tile<P>
void store(const P &pointer, const V &value, const M &mask = {}, const store_options &options = {}, location where = location::current()) {
  detail::check_pointers<P>();
  detail::check_mask<P, M>();
  static_assert(!std::is_const_v<std::remove_pointer_t<element_of<P>>>, "A kernel cannot store to ptr<const T>: take ptr<T>.");
  static_assert(detail::operand<V>, "The value to store is a number, a scalar or a tile.");
  static_assert(detail::can_broadcast_to(detail::shape_of<V>(), detail::shape_of<P>()),
                "The shape of the stored value does not fit the pointers' "
                "shape.");
  detail::record_store(pointer, value, mask, options, where);
}

} // namespace tilewright
