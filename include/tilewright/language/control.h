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

TILEWRIGHT_TRACE inline value begin_for(input begin, input end, input step, const loop_options &options, const TwTileType *type,
                                        location where) {
  const trace &t = tracing(where);
  auto flag = [](bool on) { return on ? input(true) : absent; };
  auto count = [](int n) { return n != 0 ? input(n) : absent; };
  TwCallArgument out[max_arguments];
  size_t n = given(t,
                   {{nullptr, begin},
                    {nullptr, end},
                    {nullptr, step},
                    {"num_stages", count(options.num_stages)},
                    {"loop_unroll_factor", count(options.loop_unroll_factor)},
                    {"disallow_acc_multi_buffer", flag(options.disallow_acc_multi_buffer)},
                    {"flatten", flag(options.flatten)},
                    {"warp_specialize", flag(options.warp_specialize)},
                    {"disable_licm", flag(options.disable_licm)}},
                   out, where);
  place at(where);
  return {t, twBuilderFor(t.builder, out, n, type, &at)};
}
TILEWRIGHT_TRACE inline void begin_if(input condition, location where) {
  const trace &t = tracing(where);
  place at(where);
  twBuilderIf(t.builder, condition.in(t, where), &at);
}
TILEWRIGHT_TRACE inline void begin_else(location where) {
  place at(where);
  twBuilderElse(tracing(where).builder, &at);
}
TILEWRIGHT_TRACE inline void begin_while(location where) {
  place at(where);
  twBuilderWhile(tracing(where).builder, &at);
}
TILEWRIGHT_TRACE inline void begin_body(input condition, location where) {
  const trace &t = tracing(where);
  place at(where);
  twBuilderDo(t.builder, condition.in(t, where), &at);
}
TILEWRIGHT_TRACE inline void end_block(location where) {
  twBuilderEnd(tracing(where).builder);
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
               location where = location::current()) {
  using index = tile<typename detail::type_of<detail::index_kind<Begin, End, Step>()>::type>;
  static_assert(std::is_invocable_v<Body &, index>,
                "The body of for_range takes the loop variable: [&](i32 k) { ... }, of the widest type of "
                "the bounds.");
  detail::value first = detail::begin_for(begin, end, step, options, &detail::type_info<index>::value, where);
  // The compiler types numbers by their values, and C++ by their types.
  if constexpr (detail::is_typed_number<Begin, int> || detail::is_typed_number<End, int> || detail::is_typed_number<Step, int>)
    first = detail::record("cast", {{"input", first}, {"dtype", detail::element<typename index::element_type>::name}},
                           &detail::type_info<index>::value, where);
  body(index(first));
  detail::end_block(where);
}
/// for_range(begin, end, 1, body)
template <detail::operand Begin, detail::operand End, typename Body>
  requires(!detail::operand<Body>)
void for_range(const Begin &begin, const End &end, Body &&body, const loop_options &options = {}, location where = location::current()) {
  for_range(begin, end, 1, std::forward<Body>(body), options, where);
}

/// Runs `then()` if the condition is true when the kernel runs, else `otherwise()`.
template <typename Condition, typename Then, typename Otherwise>
  requires std::is_invocable_v<Otherwise &>
void if_(const Condition &condition, Then &&then, Otherwise &&otherwise, location where = location::current()) {
  detail::check_condition<Condition>();
  detail::begin_if(condition, where);
  then();
  detail::begin_else(where);
  otherwise();
  detail::end_block(where);
}
template <typename Condition, typename Then> void if_(const Condition &condition, Then &&then, location where = location::current()) {
  detail::check_condition<Condition>();
  detail::begin_if(condition, where);
  then();
  detail::end_block(where);
}

/// Runs `body()` while `condition()`, which returns a scalar, is true.
template <typename Condition, typename Body> void while_(Condition &&condition, Body &&body, location where = location::current()) {
  static_assert(std::is_invocable_v<Condition &>,
                "The condition of while_ is a lambda, because it is computed again before each iteration: "
                "while_([&] { return i < n; }, [&] { ... }).");
  detail::begin_while(where);
  auto holds = condition();
  detail::check_condition<decltype(holds)>();
  detail::begin_body(holds, where);
  body();
  detail::end_block(where);
}

/// Leaves the innermost loop, or its current iteration, when the kernel runs. Inside of if_, the code after the if_ is skipped.
inline void break_(location where = location::current()) {
  detail::place at(where);
  twBuilderBreak(detail::tracing(where).builder, &at);
}
inline void continue_(location where = location::current()) {
  detail::place at(where);
  twBuilderContinue(detail::tracing(where).builder, &at);
}
/// Ends the program.
inline void return_(location where = location::current()) {
  detail::place at(where);
  twBuilderReturn(detail::tracing(where).builder, &at);
}

/// Calls body(std::integral_constant<int, I>()) for I = 0, ..., Count - 1 while the kernel is built. A plain `for` of C++ unrolls, too;
/// here the index can be a template argument.
template <int Count, typename Body> void static_for(Body &&body) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (body(std::integral_constant<int, I>()), ...);
  }(std::make_integer_sequence<int, Count>());
}

} // namespace tilewright
