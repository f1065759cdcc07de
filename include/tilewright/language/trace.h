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
#include <vector>

namespace tilewright {

/// Where a call stands in the user's source.
using location = std::source_location;

/// An argument that is not given.
struct none_t {};
inline constexpr none_t none;

namespace detail {

// Inlining these functions would cost compile time and gain nothing. TILEWRIGHT_TRACE is for those that run only while a kernel is built:
// they are also compiled for size. Functions of each launch are TILEWRIGHT_OUTLINE.
#if defined(__GNUC__)
#define TILEWRIGHT_OUTLINE [[gnu::noinline]]
#else
#define TILEWRIGHT_OUTLINE
#endif
#define TILEWRIGHT_TRACE TILEWRIGHT_COLD

struct place : TwPlace {
  place(location where) : TwPlace{sizeof(TwPlace), where.file_name(), where.line(), where.column()} {}
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
  const uint32_t serial;
  static inline thread_local trace *current = nullptr;

private:
  static uint32_t next() {
    static std::atomic<uint32_t> count{0};
    return ++count;
  }
  trace *const outer; // a kernel may launch another one while it is built
};

[[noreturn]] TILEWRIGHT_TRACE inline void outside_of_kernel(location where) {
  std::string text = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                     ": a tile is used outside of a kernel: tiles exist only while a kernel function is being built";
#if defined(__cpp_exceptions)
  throw std::logic_error(text);
#else
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
#endif
}

TILEWRIGHT_TRACE inline trace &tracing(location where) {
  if (!trace::current) outside_of_kernel(where);
  return *trace::current;
}

/// The part of a tile that does not depend on its type: which variable of which kernel it is. It fits into one register, and is passed by
/// value, so that the C++ compiler keeps no tiles in memory.
struct value {
  uint32_t id = 0;
  uint32_t owner = 0; // the serial number of its trace

  constexpr value() = default;
  value(const trace &t, TwValue recorded) : id(static_cast<uint32_t>(recorded)), owner(t.serial) {}

  TILEWRIGHT_TRACE TwValue in(const trace &t, location where) const {
    if (owner == t.serial) return id;
    place at(where);
    twBuilderError(t.builder, "this tile belongs to another kernel", "use only the parameters of the kernel and tiles that it makes", &at);
    return 0;
  }
};

template <typename V>
concept has_value = std::is_base_of_v<value, V>;

// ---- arguments

/// Numbers known at compile time, such as a shape.
template <dims D> struct constants {
  static constexpr dims list = D;
};

/// An argument of a call, of any type. The functions below record it. They are no templates, so a kernel compiles to little more than calls
/// of them: each operation of a kernel runs once, and compiling it should take no time.
class input {
public:
  constexpr input() : form(absent), integer(0) {}
  constexpr input(none_t) : input() {}
  input(value tile) : form(variable), tile(tile) {}
  template <number N> constexpr input(N n) : input() {
    if constexpr (std::is_same_v<N, bool>)
      form = boolean, integer = n;
    else if constexpr (std::is_floating_point_v<N>)
      form = floating, real = static_cast<double>(n);
    else
      form = std::is_signed_v<N> ? signed_integer : unsigned_integer, integer = static_cast<int64_t>(n);
  }
  /// A null text is absent.
  constexpr input(const char *text) : form(text ? string : absent), text(text) {}
  /// None.
  constexpr input(std::nullptr_t) : form(string), text(nullptr) {}
  template <dims D> constexpr input(constants<D>) : form(extents), list(&constants<D>::list) {}
  /// A value that is recorded already; 0 is absent.
  static constexpr input recorded(TwValue id) {
    input result;
    result.form = done;
    result.id = id;
    return result;
  }

  TILEWRIGHT_TRACE TwValue in(const trace &t, location where) const {
    switch (form) {
    case absent: break;
    case variable: return tile.in(t, where);
    case signed_integer: return twBuilderInteger(t.builder, integer);
    case unsigned_integer: return twBuilderUnsigned(t.builder, static_cast<uint64_t>(integer));
    case floating: return twBuilderFloat(t.builder, real);
    case boolean: return twBuilderBool(t.builder, integer != 0);
    case string: return twBuilderString(t.builder, text);
    case done: return id;
    case extents:
      TwValue ids[8];
      for (int i = 0; i < list->rank; ++i)
        ids[i] = twBuilderInteger(t.builder, list->size[i]);
      return twBuilderTuple(t.builder, ids, static_cast<size_t>(list->rank));
    }
    return 0;
  }

private:
  enum : uint8_t { absent, variable, signed_integer, unsigned_integer, floating, boolean, string, extents, done } form;
  union {
    value tile;
    int64_t integer;
    double real;
    const char *text;
    const dims *list;
    TwValue id;
  };
};
/// An option of a builtin that is left out.
inline constexpr input absent;

/// A named argument of a builtin.
struct argument {
  const char *name;
  input passed;
};
constexpr size_t max_arguments = 16;

/// Returns the number of arguments that are not absent.
TILEWRIGHT_TRACE inline size_t given(const trace &t, std::initializer_list<argument> arguments, TwCallArgument *out, location where) {
  size_t count = 0;
  for (const argument &each : arguments)
    if (TwValue id = each.passed.in(t, where)) out[count++] = {sizeof(TwCallArgument), each.name, id};
  return count;
}

/// Calls a builtin. The result has this type, or is not checked.
TILEWRIGHT_TRACE inline value record(const char *path, std::initializer_list<argument> arguments, const TwTileType *type, location where) {
  const trace &t = tracing(where);
  TwCallArgument out[max_arguments];
  size_t count = given(t, arguments, out, where);
  place at(where);
  return {t, twBuilderCall(t.builder, path, out, count, type, &at)};
}
TILEWRIGHT_TRACE inline void record_void(const char *path, std::initializer_list<argument> arguments, location where) {
  const trace &t = tracing(where);
  TwCallArgument out[max_arguments];
  size_t count = given(t, arguments, out, where);
  place at(where);
  twBuilderRun(t.builder, path, out, count, &at);
}
TILEWRIGHT_TRACE inline value record_operator(TwOperator op, input left, input right, const TwTileType *type, location where) {
  const trace &t = tracing(where);
  TwValue ids[] = {left.in(t, where), right.in(t, where)};
  place at(where);
  return {t, twBuilderOperator(t.builder, op, ids[0], ids[1], type, &at)};
}
/// The same for two tiles, as most operators have them. A kernel compiles to less code than if it made an input of each.
TILEWRIGHT_TRACE inline value record_tiles(TwOperator op, value left, value right, const TwTileType *type, location where) {
  return record_operator(op, left, right, type, where);
}
TILEWRIGHT_TRACE inline value record_expansion(value tile, input axes, const TwTileType *type, location where) {
  return record("expand_dims", {{"input", tile}, {"axis", axes}}, type, where);
}
/// A new variable with a value; without one if it is absent.
TILEWRIGHT_TRACE inline value record_variable(input initial, const TwTileType *type, location where) {
  const trace &t = tracing(where);
  TwValue id = initial.in(t, where);
  place at(where);
  return {t, twBuilderVariable(t.builder, id, type, &at)};
}
TILEWRIGHT_TRACE inline void record_assignment(value variable, value assigned, const TwTileType *type, location where) {
  const trace &t = tracing(where);
  place at(where);
  TwValue id = variable.in(t, where), other = assigned.in(t, where);
  twBuilderAssign(t.builder, id, other, type, &at);
}
/// Result `index` of a builtin of several.
TILEWRIGHT_TRACE inline value record_item(value tuple, size_t index, const TwTileType *type, location where) {
  const trace &t = tracing(where);
  place at(where);
  return {t, twBuilderItem(t.builder, tuple.id, index, type, &at)};
}
/// Records each item. A list may have any length.
TILEWRIGHT_TRACE inline std::vector<TwValue> ids_of(const trace &t, std::initializer_list<input> items, location where) {
  std::vector<TwValue> ids;
  for (const input &each : items)
    ids.push_back(each.in(t, where));
  return ids;
}
TILEWRIGHT_TRACE inline input tuple_of(std::initializer_list<input> items, location where) {
  const trace &t = tracing(where);
  std::vector<TwValue> ids = ids_of(t, items, where);
  return input::recorded(twBuilderTuple(t.builder, ids.data(), ids.size()));
}

/// Calls a builtin of one result.
template <typename Result> Result call(const char *path, std::initializer_list<argument> arguments, location where) {
  return Result(record(path, arguments, &type_info<Result>::value, where));
}

template <typename... V> struct values {
  std::tuple<const V &...> items;
};
/// Returns a value of the kernel, a number, a text or a list as an argument.
template <typename V> input input_of(const V &v, location) {
  return input(v);
}
template <typename... V> input input_of(const values<V...> &list, location where) {
  return std::apply([&](const V &...each) { return tuple_of({input_of(each, where)...}, where); }, list.items);
}
/// A number as a scalar of a type. The value fits.
TILEWRIGHT_TRACE inline value typed_number(const char *element, input number, const TwTileType *type, location where) {
  return record("full", {{"shape", tuple_of({}, where)}, {"value", number}, {"dtype", element}}, type, where);
}
/// An operand of an operation whose other operand is an `Other`.
template <typename Other, operand V> input operand_input(const V &v, location where) {
  if constexpr (is_typed_number<V, Other>) {
    using T = typename type_of<number_kind<V>()>::type;
    return input::recorded(typed_number(element<T>::name, v, &type_info<tile<T>>::value, where).id);
  } else {
    return input(v);
  }
}
/// Records the error of an integer that does not fit its type.
TILEWRIGHT_TRACE inline void record_out_of_range(int64_t number, bool is_signed, const char *type, location where) {
  place at(where);
  std::string text = is_signed ? std::to_string(number) : std::to_string(static_cast<uint64_t>(number));
  twBuilderError(tracing(where).builder, (text + " is out of range for " + type).c_str(), "use a wider type, or a number that it can hold",
                 &at);
}
template <typename T, number N> void check_fits(N n, location where) {
  if constexpr (may_misfit<T, N>)
    if (!fits<T>(n)) record_out_of_range(static_cast<int64_t>(n), std::is_signed_v<N>, element<T>::name, where);
}

} // namespace detail
} // namespace tilewright
