// Promises to the compiler, printing and assertions, assembly, and NVIDIA's own builtins.
#pragma once

#include "tilewright/language/memory.h"
#include "tilewright/language/shape.h"

namespace tilewright {

/// Promises that the condition holds.
template <detail::operand C> void assume(const C &cond, location where = location::current()) {
  detail::site s(where);
  s.run("assume", {{"cond", s(cond)}});
}
/// x. With debug on, the program ends where the mask holds and x is not zero.
template <typename X, typename M>
  requires detail::any_tile<X>
X expect_zero(const X &x, const M &mask, location where = location::current()) {
  detail::check_mask<X, M>();
  detail::site s(where);
  return s.call<X>("expect_zero", {{"x", s(x)}, {"mask", s(mask)}});
}
/// All threads of the program wait for each other.
inline void debug_barrier(location where = location::current()) {
  detail::site s(where);
  s.run("debug_barrier", {});
}
/// Prints each element while the kernel runs: device_print("x and y", all_of(x, y)).
template <detail::operand... V> detail::values<V...> all_of(const V &...v) {
  return {{v...}};
}
template <detail::operand... V>
void device_print(const char *prefix, const detail::values<V...> &args, bool hex = false, location where = location::current()) {
  detail::site s(where);
  s.run("device_print", {{"prefix", s(prefix)}, {"args", s(args)}, {"hex", hex ? s(true) : detail::absent}});
}
template <detail::operand V> void device_print(const char *prefix, const V &value, bool hex = false, location where = location::current()) {
  device_print(prefix, all_of(value), hex, where);
}
/// With debug on, ends the program if an element is false.
template <typename C, typename M = none_t>
  requires detail::any_tile<C>
void device_assert(const C &cond, const char *msg = "", const M &mask = {}, location where = location::current()) {
  detail::site s(where);
  s.run("device_assert", {{"cond", s(cond)}, {"msg", s(msg)}, {"mask", s(mask)}});
}

/// Assembly of the target on each element, or on `Pack` contiguous elements: inline_asm_elementwise<float>("...", "=r,r", all_of(x)).
template <typename T, int Pack = 1, detail::operand First, detail::operand... V>
auto inline_asm_elementwise(const char *assembly, const char *constraints, const detail::values<First, V...> &args, bool is_pure = true,
                            location where = location::current()) {
  constexpr detail::dims shape = detail::shape_of<First>();
  static_assert(((detail::shape_of<V>() == shape) && ...), "The arguments of inline_asm_elementwise have one shape.");
  detail::site s(where);
  return s.call<detail::tile_of<T, shape>>("inline_asm_elementwise", {{"asm", s(assembly)},
                                                                      {"constraints", s(constraints)},
                                                                      {"args", s(args)},
                                                                      {"dtype", s(detail::element<T>::name)},
                                                                      {"is_pure", s(is_pure)},
                                                                      {"pack", s(Pack)}});
}

namespace target_info {
/// Whether the target is an NVIDIA GPU of this capability or a later one. Known when the kernel is compiled.
inline i1 cuda_capability_geq(int major, int minor = 0, location where = location::current()) {
  detail::site s(where);
  return s.question("target_info.cuda_capability_geq", {{"major", s(major)}, {"minor", s(minor)}});
}
} // namespace target_info

namespace cuda {
/// The GPU's clock in nanoseconds.
inline i64 globaltimer(location where = location::current()) {
  detail::site s(where);
  return s.call<i64>("extra.cuda.globaltimer", {});
}
/// Which multiprocessor this is.
inline i32 smid(location where = location::current()) {
  detail::site s(where);
  return s.call<i32>("extra.cuda.smid", {});
}
/// Threads and warps of a program.
inline i32 num_threads(location where = location::current()) {
  detail::site s(where);
  return s.call<i32>("extra.cuda.num_threads", {});
}
inline i32 num_warps(location where = location::current()) {
  detail::site s(where);
  return s.call<i32>("extra.cuda.num_warps", {});
}
/// Waits for the kernel before this one; lets the next kernel start.
inline void gdc_wait(location where = location::current()) {
  detail::site s(where);
  s.run("extra.cuda.gdc_wait", {});
}
inline void gdc_launch_dependents(location where = location::current()) {
  detail::site s(where);
  s.run("extra.cuda.gdc_launch_dependents", {});
}
} // namespace cuda

} // namespace tilewright
