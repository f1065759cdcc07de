// The kernel that a thread is building, and the calls that record into it (tilewright/builder.h).
//
// A kernel function runs once, when it is first launched. Each operation that it calls on tiles is recorded with the line of C++ that
// called it. Recording never fails: mistakes become the error of the launch.
#pragma once

#include "tilewright/builder.h"
#include "tilewright/language/elements.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>

namespace tilewright {

/// Where a call stands in the user's source.
using location = std::source_location;

/// An argument that is not given.
struct none_t {};
inline constexpr none_t none;

namespace detail {

struct place : TwPlace {
  place(const location &where) : TwPlace{sizeof(TwPlace), where.file_name(), where.line(), where.column()} {}
};

/// The type of a value for the builder.
template <typename V> struct type_info;
template <typename T, int... Shape> struct type_info<tile<T, Shape...>> {
  static constexpr int64_t shape[sizeof...(Shape) + 1] = {Shape..., 0};
  static constexpr TwTileType value{sizeof(TwTileType), element<T>::name, shape, sizeof...(Shape)};
};

/// One kernel that is being built, by one thread.
class trace {
public:
  explicit trace(TwBuilder *builder) : builder(builder), serial(next()), outer(current) { current = this; }
  ~trace() { current = outer; }
  trace(const trace &) = delete;
  trace &operator=(const trace &) = delete;

  TwBuilder *const builder;
  const uint64_t serial;
  static inline thread_local trace *current = nullptr;

private:
  static uint64_t next() {
    static std::atomic<uint64_t> count{0};
    return ++count;
  }
  trace *const outer; // a kernel may launch another one while it is built
};

[[noreturn]] inline void outside_of_kernel(const location &where) {
  std::string text = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                     ": a tile is used outside of a kernel: tiles exist only while a kernel function is being built";
#if defined(__cpp_exceptions)
  throw std::logic_error(text);
#else
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
#endif
}

inline trace &tracing(const location &where) {
  if (!trace::current) outside_of_kernel(where);
  return *trace::current;
}

/// The part of a tile that does not depend on its type: which variable of which kernel it is.
struct value {
  TwValue id = 0;
  uint64_t owner = 0; // the serial number of its trace

  TwValue in(const trace &t, const location &where) const {
    if (owner == t.serial) return id;
    place at(where);
    twBuilderError(t.builder, "this tile belongs to another kernel", "use only the parameters of the kernel and tiles that it makes", &at);
    return 0;
  }
};

/// Base of tiles.
struct access {
  template <typename V> static const value &of(const V &v) { return v; }
  template <typename V> static V make(TwValue id, const trace &t) { return V(value{id, t.serial}); }
};

template <typename V>
concept has_value = std::is_base_of_v<value, V>;

// ---- arguments as values of the builder

inline TwValue id_of(const trace &, none_t, const location &) {
  return 0;
}
template <has_value V> TwValue id_of(const trace &t, const V &v, const location &where) {
  return access::of(v).in(t, where);
}
template <number N> TwValue id_of(const trace &t, N n, const location &) {
  if constexpr (std::is_same_v<N, bool>)
    return twBuilderBool(t.builder, n);
  else if constexpr (std::is_floating_point_v<N>)
    return twBuilderFloat(t.builder, static_cast<double>(n));
  else if constexpr (std::is_signed_v<N>)
    return twBuilderInteger(t.builder, n);
  else
    return twBuilderUnsigned(t.builder, n);
}
inline TwValue id_of(const trace &t, const char *text, const location &) {
  return text ? twBuilderString(t.builder, text) : 0;
}
inline TwValue id_of(const trace &t, std::nullptr_t, const location &) {
  return twBuilderString(t.builder, nullptr);
}
/// Numbers known at compile time, such as a shape.
template <dims D> struct constants {};
template <dims D> TwValue id_of(const trace &t, constants<D>, const location &) {
  TwValue ids[9];
  for (int i = 0; i < D.rank; ++i)
    ids[i] = twBuilderInteger(t.builder, D[i]);
  return twBuilderTuple(t.builder, ids, D.rank);
}
template <typename... V> struct values {
  std::tuple<const V &...> items;
};
template <typename... V> TwValue id_of(const trace &t, const values<V...> &list, const location &where) {
  return std::apply(
      [&](const V &...each) {
        TwValue ids[] = {id_of(t, each, where)..., 0};
        return twBuilderTuple(t.builder, ids, sizeof...(V));
      },
      list.items);
}

/// A named argument of a builtin; with the value 0, it is left out.
struct argument {
  const char *name;
  TwValue id;
};

inline size_t given(std::initializer_list<argument> arguments, TwCallArgument *out) {
  size_t count = 0;
  for (const argument &each : arguments)
    if (each.id != 0) out[count++] = {sizeof(TwCallArgument), each.name, each.id};
  return count;
}
constexpr size_t max_arguments = 16;

inline TwValue record(const trace &t, const char *path, std::initializer_list<argument> arguments, const TwTileType *type,
                      const location &where) {
  TwCallArgument out[max_arguments];
  place at(where);
  return twBuilderCall(t.builder, path, out, given(arguments, out), type, &at);
}
inline void record_void(const trace &t, const char *path, std::initializer_list<argument> arguments, const location &where) {
  TwCallArgument out[max_arguments];
  place at(where);
  twBuilderRun(t.builder, path, out, given(arguments, out), &at);
}

/// Calls a builtin of one result.
template <typename Result> Result call(const trace &t, const char *path, std::initializer_list<argument> arguments, const location &where) {
  return access::make<Result>(record(t, path, arguments, &type_info<Result>::value, where), t);
}
/// A number as a scalar of a type. The value fits.
template <typename T, number N> TwValue typed_number(const trace &t, N n, const location &where) {
  return record(
      t, "full",
      {{"shape", twBuilderTuple(t.builder, nullptr, 0)}, {"value", id_of(t, n, where)}, {"dtype", id_of(t, element<T>::name, where)}},
      &type_info<tile<T>>::value, where);
}
/// An operand of an operation whose other operand is an `Other`.
template <typename Other, operand V> TwValue operand_id(const trace &t, const V &v, const location &where) {
  if constexpr (is_typed_number<V, Other>())
    return typed_number<typename type_of<number_kind<V>()>::type>(t, v, where);
  else
    return id_of(t, v, where);
}
/// Records an error if an integer does not fit the integer type T.
template <typename T, number N> void check_fits(const trace &t, N n, const location &where) {
  if (fits<T>(n)) return;
  place at(where);
  twBuilderError(t.builder, (std::to_string(n) + " is out of range for " + element<T>::name).c_str(),
                 "use a wider type, or a number that it can hold", &at);
}

/// Returns result `index` of a builtin of several.
template <typename Result> Result item_of(const trace &t, TwValue tuple, size_t index, const location &where) {
  place at(where);
  return access::make<Result>(twBuilderItem(t.builder, tuple, index, &type_info<Result>::value, &at), t);
}

} // namespace detail
} // namespace tilewright
