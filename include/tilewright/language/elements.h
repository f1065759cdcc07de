// The element types of kernels in C++, and the rules that give an operator's result its type.
//
// Each type is that of src/evaluate/element_types.def with the same name in signatures. The rules are those of the tile language: of two
// tiles, the wider type; of a tile and a C++ number, the tile's type, unless the number is of a higher kind (bool < integer < float).
#pragma once

#include "tilewright/tilewright.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tilewright {

/// Further 8-bit floats. Tiles may have them; host code passes their bits.
struct float8e4b15 {
  uint8_t bits;
};
struct float8e4b8 {
  uint8_t bits;
};
struct float8e5b16 {
  uint8_t bits;
};

template <typename T, int... Shape> class tile;

namespace detail {

/// In the order of promotion's rules, not of sizes.
enum class dtype : uint8_t { i1, i8, i16, i32, i64, u8, u16, u32, u64, f8e5, f8e5b16, f8e4, f8e4b8, f8e4b15, f16, bf16, f32, f64, none };

template <typename T> struct element;
#define TILEWRIGHT_ELEMENT(type, enumerator, word)                                                                                         \
  template <> struct element<type> {                                                                                                       \
    static constexpr dtype kind = dtype::enumerator;                                                                                       \
    static constexpr const char *name = word;                                                                                              \
  };                                                                                                                                       \
  template <> struct element<type *> {                                                                                                     \
    static constexpr dtype kind = dtype::none;                                                                                             \
    static constexpr const char *name = "*" word;                                                                                          \
  };                                                                                                                                       \
  template <> struct element<const type *> {                                                                                               \
    static constexpr dtype kind = dtype::none;                                                                                             \
    static constexpr const char *name = "*k" word;                                                                                         \
  };
TILEWRIGHT_ELEMENT(bool, i1, "i1")
TILEWRIGHT_ELEMENT(int8_t, i8, "i8")
TILEWRIGHT_ELEMENT(int16_t, i16, "i16")
TILEWRIGHT_ELEMENT(int32_t, i32, "i32")
TILEWRIGHT_ELEMENT(int64_t, i64, "i64")
TILEWRIGHT_ELEMENT(uint8_t, u8, "u8")
TILEWRIGHT_ELEMENT(uint16_t, u16, "u16")
TILEWRIGHT_ELEMENT(uint32_t, u32, "u32")
TILEWRIGHT_ELEMENT(uint64_t, u64, "u64")
TILEWRIGHT_ELEMENT(float8e5, f8e5, "fp8e5")
TILEWRIGHT_ELEMENT(float8e5b16, f8e5b16, "fp8e5b16")
TILEWRIGHT_ELEMENT(float8e4, f8e4, "fp8e4nv")
TILEWRIGHT_ELEMENT(float8e4b8, f8e4b8, "fp8e4b8")
TILEWRIGHT_ELEMENT(float8e4b15, f8e4b15, "fp8e4b15")
TILEWRIGHT_ELEMENT(half, f16, "fp16")
TILEWRIGHT_ELEMENT(bfloat16, bf16, "bf16")
TILEWRIGHT_ELEMENT(float, f32, "fp32")
TILEWRIGHT_ELEMENT(double, f64, "fp64")
#undef TILEWRIGHT_ELEMENT

template <typename T>
concept is_element = requires { element<T>::kind; };

template <dtype D> struct type_of;
#define TILEWRIGHT_TYPE(enumerator, name)                                                                                                  \
  template <> struct type_of<dtype::enumerator> {                                                                                          \
    using type = name;                                                                                                                     \
  };
TILEWRIGHT_TYPE(i1, bool)
TILEWRIGHT_TYPE(i8, int8_t)
TILEWRIGHT_TYPE(i16, int16_t)
TILEWRIGHT_TYPE(i32, int32_t)
TILEWRIGHT_TYPE(i64, int64_t)
TILEWRIGHT_TYPE(u8, uint8_t)
TILEWRIGHT_TYPE(u16, uint16_t)
TILEWRIGHT_TYPE(u32, uint32_t)
TILEWRIGHT_TYPE(u64, uint64_t)
TILEWRIGHT_TYPE(f8e5, float8e5)
TILEWRIGHT_TYPE(f8e5b16, float8e5b16)
TILEWRIGHT_TYPE(f8e4, float8e4)
TILEWRIGHT_TYPE(f8e4b8, float8e4b8)
TILEWRIGHT_TYPE(f8e4b15, float8e4b15)
TILEWRIGHT_TYPE(f16, half)
TILEWRIGHT_TYPE(bf16, bfloat16)
TILEWRIGHT_TYPE(f32, float)
TILEWRIGHT_TYPE(f64, double)
TILEWRIGHT_TYPE(none, void)
#undef TILEWRIGHT_TYPE

constexpr bool is_float(dtype d) {
  return d >= dtype::f8e5 && d <= dtype::f64;
}
constexpr bool is_integer(dtype d) {
  return d <= dtype::u64;
}
constexpr bool is_signed(dtype d) {
  return d >= dtype::i8 && d <= dtype::i64;
}
constexpr bool is_fp8(dtype d) {
  return d >= dtype::f8e5 && d <= dtype::f8e4b15;
}
constexpr int bits_of(dtype d) {
  constexpr int bits[] = {1, 8, 16, 32, 64, 8, 16, 32, 64, 8, 8, 8, 8, 8, 16, 16, 32, 64, 0};
  return bits[static_cast<int>(d)];
}
/// bool, integer, float
constexpr int rank_of(dtype d) {
  return d == dtype::i1 ? 0 : is_float(d) ? 2 : 1;
}

constexpr dtype promote_integers(dtype x, dtype y) {
  if (is_signed(x) == is_signed(y)) return bits_of(x) > bits_of(y) ? x : y;
  if (!is_signed(x)) return bits_of(x) >= bits_of(y) ? x : y;
  return bits_of(y) >= bits_of(x) ? y : x;
}

/// Returns the type in which an operator computes, or none. `x_number`: x is a C++ number. `division`: the operator is /, // or %.
constexpr dtype promote_elements(dtype x, bool x_number, dtype y, bool y_number, bool division) {
  if (x == dtype::none || y == dtype::none) return dtype::none;
  if (x_number != y_number) {
    dtype number = x_number ? x : y, of_tile = x_number ? y : x;
    if (rank_of(number) <= rank_of(of_tile)) x = y = of_tile;
  }
  if (x == dtype::f64 || y == dtype::f64) return dtype::f64;
  if (x == dtype::f32 || y == dtype::f32 || (division && (is_float(x) || is_float(y)))) return dtype::f32;
  if (x == dtype::f16 || y == dtype::f16) return dtype::f16;
  if (x == dtype::bf16 && y == dtype::bf16) return dtype::bf16;
  if (x == dtype::bf16 || y == dtype::bf16) return dtype::f32;
  if (is_fp8(x) && is_fp8(y)) return x == y ? x : dtype::f16;
  if (!is_integer(x) || !is_integer(y)) return dtype::none;
  if (division && is_signed(x) != is_signed(y)) return dtype::none;
  return promote_integers(x, y);
}
/// The same for arithmetic, which float8e4b15 does not have: float16 represents all its values.
constexpr dtype promote(dtype x, bool x_number, dtype y, bool y_number, bool division) {
  dtype result = promote_elements(x, x_number, y, y_number, division);
  return result == dtype::f8e4b15 ? dtype::f16 : result;
}

/// The type that a C++ number has without a tile: bool, float, int32, or the wider integer of its C++ type.
template <typename T> constexpr dtype number_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return dtype::i1;
  else if constexpr (std::is_floating_point_v<T>)
    return dtype::f32;
  else if constexpr (sizeof(T) < 4) // as C++ promotes it
    return dtype::i32;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) > 4 ? dtype::i64 : dtype::i32;
  else
    return sizeof(T) > 4 ? dtype::u64 : dtype::u32;
}

// ---- shapes

/// The extents of a tile. A class, so that it can be a template argument.
struct dims {
  int rank = 0;
  int size[8] = {};
  constexpr bool operator==(const dims &) const = default;
  constexpr int operator[](int i) const { return size[i]; }
  constexpr int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i)
      count *= size[i];
    return count;
  }
  constexpr dims inserted(int axis, int extent) const {
    dims result{rank + 1, {}};
    for (int i = 0; i < result.rank; ++i)
      result.size[i] = i < axis ? size[i] : i == axis ? extent : size[i - 1];
    return result;
  }
  constexpr dims erased(int axis) const {
    dims result{rank - 1, {}};
    for (int i = 0; i < result.rank; ++i)
      result.size[i] = size[i < axis ? i : i + 1];
    return result;
  }
  constexpr dims with(int axis, int extent) const {
    dims result = *this;
    result.size[axis] = extent;
    return result;
  }
};

template <int... Shape> constexpr dims dims_of() {
  static_assert(sizeof...(Shape) <= 8, "A tile has at most 8 dimensions.");
  return dims{sizeof...(Shape), {Shape...}};
}

/// The common shape, or one of rank -1 if there is none. Missing leading dimensions are 1.
constexpr dims broadcast_dims(dims x, dims y) {
  while (x.rank < y.rank)
    x = x.inserted(0, 1);
  while (y.rank < x.rank)
    y = y.inserted(0, 1);
  for (int i = 0; i < x.rank; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1) return dims{-1, {}};
    if (x[i] == 1) x.size[i] = y[i];
  }
  return x;
}
constexpr bool can_broadcast_to(dims from, dims to) {
  return broadcast_dims(from, to) == to;
}
/// Counts a negative axis from the end.
constexpr int axis_of(int axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

template <typename T, dims D, typename Indices> struct tile_with;
template <typename T, dims D, size_t... I> struct tile_with<T, D, std::index_sequence<I...>> {
  using type = tile<T, D.size[I]...>;
};
template <typename T, dims D> struct tile_having {
  using type = typename tile_with<T, D, std::make_index_sequence<size_t(D.rank < 0 ? 0 : D.rank)>>::type;
};
template <typename T, dims D> using tile_of = typename tile_having<T, D>::type;

// ---- what operands are

template <typename V> struct operand_info {
  static constexpr bool is_tile = false;
};
template <typename T, int... Shape> struct operand_info<tile<T, Shape...>> {
  using type = T;
  static constexpr bool is_tile = true;
  static constexpr dtype kind = element<T>::kind;
  static constexpr dims shape = dims_of<Shape...>();
};

template <typename V>
concept number = std::is_arithmetic_v<V>;
template <typename V>
concept any_tile = operand_info<V>::is_tile;
template <typename V>
concept operand = number<V> || any_tile<V>;

template <operand V> constexpr dims shape_of() {
  if constexpr (any_tile<V>)
    return operand_info<V>::shape;
  else
    return dims{};
}
template <operand V> constexpr dtype kind_of() {
  if constexpr (any_tile<V>)
    return operand_info<V>::kind;
  else
    return number_kind<V>();
}
/// True if the number `V` has its own type in an operation with `Other`, and the compiler may see another one: it types integers by value.
template <typename V, typename Other>
inline constexpr bool is_typed_number = [] {
  if constexpr (!number<V>)
    return false;
  else if constexpr (number_kind<V>() == dtype::i32 || number_kind<V>() == dtype::i1 || !is_integer(number_kind<V>()))
    return false;
  else if constexpr (number<Other>)
    return true;
  else
    return operand_info<Other>::kind == dtype::i1;
}();
template <typename T> constexpr uint64_t highest_of() {
  return UINT64_MAX >> (64 - 8 * sizeof(T) + (std::is_signed_v<T> ? 1 : 0));
}
template <typename T> constexpr int64_t lowest_of() {
  return std::is_signed_v<T> ? -static_cast<int64_t>(highest_of<T>()) - 1 : 0;
}
/// True for C++ integers of type N that T might not hold. Other numbers are converted.
template <typename T, typename N>
inline constexpr bool may_misfit =
    std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, bool> && !std::is_same_v<N, bool> && !std::is_same_v<T, N>;
/// True if `n` has a value of T. clang++ 16 asks this of types that are not numbers, too.
template <typename T, typename N> constexpr bool fits(const N &n) {
  if constexpr (may_misfit<T, N>)
    if constexpr (std::is_signed_v<N>)
      return n < 0 ? std::is_signed_v<T> && static_cast<int64_t>(n) >= lowest_of<T>() : static_cast<uint64_t>(n) <= highest_of<T>();
    else
      return static_cast<uint64_t>(n) <= highest_of<T>();
  else
    return true;
}
/// The same for an operand of an operator whose other operand is a `Tile`: a number takes the tile's type.
template <typename Tile, typename Y> constexpr bool operand_fits(const Y &y) {
  if constexpr (number<Y>)
    return fits<typename operand_info<Tile>::type>(y);
  else
    return true;
}

// A number that is known when C++ is compiled, and does not fit, does not compile. clang++ sees all of these; g++ sees them if it
// optimizes. All others are errors of the launch.
#if defined(__clang__)
// -Wpedantic would warn of the attribute, which only clang++ has.
#define TILEWRIGHT_IF_FITS(condition)                                                                                                      \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                                                    \
      __attribute__((diagnose_if(!(condition), TILEWRIGHT_RANGE_TEXT, "error"))) _Pragma("clang diagnostic pop")
#define TILEWRIGHT_CHECK_FITS(T, n)
#define TILEWRIGHT_INLINE
#elif defined(__GNUC__) && defined(__OPTIMIZE__)
#define TILEWRIGHT_IF_FITS(condition)
#define TILEWRIGHT_CHECK_FITS(T, n)                                                                                                        \
  if constexpr (::tilewright::detail::may_misfit<T, std::remove_cvref_t<decltype(n)>>)                                                     \
    if (const bool fit = ::tilewright::detail::fits<T>(n); __builtin_constant_p(fit) && !fit) ::tilewright::detail::number_out_of_range()
#define TILEWRIGHT_INLINE [[gnu::always_inline]] inline
#else
#define TILEWRIGHT_IF_FITS(condition)
#define TILEWRIGHT_CHECK_FITS(T, n)
#define TILEWRIGHT_INLINE
#endif
#define TILEWRIGHT_RANGE_TEXT                                                                                                              \
  "The number is out of range for the integer type of the tile: use a wider type, or cast<T>(number), which wraps around."
#if defined(__GNUC__) && !defined(__clang__)
[[gnu::error(TILEWRIGHT_RANGE_TEXT)]] void number_out_of_range();
#endif

template <typename V> constexpr bool is_pointer_tile() {
  if constexpr (any_tile<V>)
    return std::is_pointer_v<typename operand_info<V>::type>;
  else
    return false;
}

} // namespace detail

/// The element type of a tile or scalar, and the type that a pointer points to.
template <typename V> using element_of = typename detail::operand_info<V>::type;
template <typename V> using pointee_of = std::remove_const_t<std::remove_pointer_t<element_of<V>>>;

} // namespace tilewright
