// Control flow that the kernel executes: for_range, while_, if_, and early exits. Their bodies are lambdas that run once, while the kernel
// is built. Variables that a body assigns to keep their values from iteration to iteration, and after the loop or branch.
#pragma once

#include "tilewright/language/tile.h"

namespace tilewright {

/// Hints for a loop; see tl.range. 0 and false are the defaults.
struct loop_options {
  int num_stages = 0, loop_unroll_factor = 0;
  bool disallow_acc_multi_buffer = false, flatten = false, warp_specialize = false, disable_licm = false;
};

namespace detail {

template <typename V> constexpr dtype bound_kind() {
  constexpr dtype kind = kind_of<V>() == dtype::i1 ? dtype::i32 : kind_of<V>();
  static_assert(shape_of<V>().elements() == 1 && is_integer(kind), "The bounds and the step of for_range are integer scalars.");
  return kind;
}
/// The type of a loop variable: the widest of the bounds and the step; of two types of one width, the unsigned one.
template <typename A, typename B, typename C> constexpr dtype index_kind() {
  dtype result = bound_kind<A>();
  for (dtype kind : {bound_kind<B>(), bound_kind<C>()})
    if (bits_of(kind) > bits_of(result) || (bits_of(kind) == bits_of(result) && !is_signed(kind))) result = kind;
  return result;
}

template <typename Index, typename Begin, typename End, typename Step>
Index begin_for(trace &t, const Begin &begin, const End &end, const Step &step, const loop_options &options, const location &where) {
  auto flag = [&](bool on) { return on ? twBuilderBool(t.builder, 1) : TwValue{0}; };
  auto count = [&](int n) { return n != 0 ? twBuilderInteger(t.builder, n) : TwValue{0}; };
  const argument arguments[] = {{nullptr, id_of(t, begin, where)},
                                {nullptr, id_of(t, end, where)},
                                {nullptr, id_of(t, step, where)},
                                {"num_stages", count(options.num_stages)},
                                {"loop_unroll_factor", count(options.loop_unroll_factor)},
                                {"disallow_acc_multi_buffer", flag(options.disallow_acc_multi_buffer)},
                                {"flatten", flag(options.flatten)},
                                {"warp_specialize", flag(options.warp_specialize)},
                                {"disable_licm", flag(options.disable_licm)}};
  TwCallArgument out[max_arguments];
  size_t n = 0;
  for (const argument &each : arguments)
    if (each.id != 0) out[n++] = {sizeof(TwCallArgument), each.name, each.id};
  place at(where);
  TwValue index = twBuilderFor(t.builder, out, n, &type_info<Index>::value, &at);
  // The compiler types numbers by their values, and C++ by their types.
  if constexpr (is_typed_number<Begin, int>() || is_typed_number<End, int>() || is_typed_number<Step, int>())
    index = record(t, "cast", {{"input", index}, {"dtype", id_of(t, element<typename Index::element_type>::name, where)}},
                   &type_info<Index>::value, where);
  return access::make<Index>(index, t);
}

/// A condition: a bool or integer scalar of the kernel, or a bool of C++.
template <typename C> constexpr void check_condition() {
  static_assert(operand<C>, "A condition is a scalar of the kernel, such as x < y.");
  static_assert(shape_of<C>().rank == 0, "A condition is one bool, not a tile: combine the elements, for example with max(x, 0), or choose "
                                         "element by element with where(condition, x, y).");
}

} // namespace detail

/// Runs `body(k)` for k = begin, begin + step, ... below `end`. A negative step must be a constant, and then k stays above `end`.
template <detail::operand Begin, detail::operand End, detail::operand Step, typename Body>
void for_range(const Begin &begin, const End &end, const Step &step, Body &&body, const loop_options &options = {},
               const location &where = location::current()) {
  using index = tile<typename detail::type_of<detail::index_kind<Begin, End, Step>()>::type>;
  static_assert(std::is_invocable_v<Body &, index>,
                "The body of for_range takes the loop variable: [&](i32 k) { ... }, of the widest type of "
                "the bounds.");
  detail::trace &t = detail::tracing(where);
  {
    index k = detail::begin_for<index>(t, begin, end, step, options, where);
    body(k);
  }
  twBuilderEnd(t.builder);
}
/// for_range(begin, end, 1, body)
template <detail::operand Begin, detail::operand End, typename Body>
  requires(!detail::operand<Body>)
void for_range(const Begin &begin, const End &end, Body &&body, const loop_options &options = {},
               const location &where = location::current()) {
  for_range(begin, end, 1, std::forward<Body>(body), options, where);
}

/// Runs `then()` if the condition is true when the kernel runs, else `otherwise()`.
template <typename Condition, typename Then, typename Otherwise>
  requires std::is_invocable_v<Otherwise &>
void if_(const Condition &condition, Then &&then, Otherwise &&otherwise, const location &where = location::current()) {
  detail::check_condition<Condition>();
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderIf(t.builder, detail::id_of(t, condition, where), &at);
  then();
  twBuilderElse(t.builder, &at);
  otherwise();
  twBuilderEnd(t.builder);
}
template <typename Condition, typename Then>
void if_(const Condition &condition, Then &&then, const location &where = location::current()) {
  detail::check_condition<Condition>();
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderIf(t.builder, detail::id_of(t, condition, where), &at);
  then();
  twBuilderEnd(t.builder);
}

/// Runs `body()` while `condition()`, which returns a scalar, is true.
template <typename Condition, typename Body> void while_(Condition &&condition, Body &&body, const location &where = location::current()) {
  static_assert(std::is_invocable_v<Condition &>,
                "The condition of while_ is a lambda, because it is computed again before each iteration: "
                "while_([&] { return i < n; }, [&] { ... }).");
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderWhile(t.builder, &at);
  auto holds = condition();
  detail::check_condition<decltype(holds)>();
  twBuilderDo(t.builder, detail::id_of(t, holds, where), &at);
  body();
  twBuilderEnd(t.builder);
}

/// Leaves the innermost loop, or its current iteration, when the kernel runs. Inside of if_, the code after the if_ is skipped.
inline void break_(const location &where = location::current()) {
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderBreak(t.builder, &at);
}
inline void continue_(const location &where = location::current()) {
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderContinue(t.builder, &at);
}
/// Ends the program.
inline void return_(const location &where = location::current()) {
  detail::trace &t = detail::tracing(where);
  detail::place at(where);
  twBuilderReturn(t.builder, &at);
}

/// Calls body(std::integral_constant<int, I>()) for I = 0, ..., Count - 1 while the kernel is built. A plain `for` of C++ unrolls, too;
/// here the index can be a template argument.
template <int Count, typename Body> void static_for(Body &&body) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (body(std::integral_constant<int, I>()), ...);
  }(std::make_integer_sequence<int, Count>());
}

} // namespace tilewright
