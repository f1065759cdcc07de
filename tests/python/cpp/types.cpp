// Every operator and every builtin on every element type. Each statement carries the type that C++ has computed, and compiling the kernel
// compares it with the compiler's.
#include "tilewright/language.h"
#include "tilewright/language/libdevice.h"

#include <cstdio>

using namespace tilewright;
using detail::dtype;

template <typename... T> struct list {};
using all_types = list<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float8e5, float8e5b16, float8e4,
                       float8e4b8, float8e4b15, half, bfloat16, float, double>;

template <typename A, typename B> void pair(const tile<A, 4> &a, const tile<B, 1> &b) {
  constexpr dtype x = detail::element<A>::kind, y = detail::element<B>::kind;
  constexpr dtype common = detail::promote(x, false, y, false, false), quotient = detail::promote(x, false, y, false, true);
  if constexpr (common != dtype::none) {
    a + b, a - b, a *b, add(a, b), sub(a, b), mul(a, b);
    a<b, a <= b, a> b, a >= b, a == b, a != b;
    minimum(a, b), maximum(b, a, propagate_nan::all);
    if constexpr (detail::is_integer(common)) a &b, a | b, a ^ b, a << b, a >> b;
    if constexpr (detail::is_integer(common) && detail::bits_of(common) >= 32) umulhi(a, b);
    if constexpr (detail::is_float(common)) fma(a, b, a), clamp(a, b, b), fdiv(a, b);
  }
  if constexpr (detail::promote_elements(x, false, y, false, false) != dtype::none) where(a == a, a, b);
  if constexpr (quotient != dtype::none) a / b, a % b;
  a &&b, a || b;
  cast<B>(a);
}

template <typename A> void numbers(const tile<A, 4> &a) {
  constexpr dtype kind = detail::element<A>::kind;
  a + 1, a - 1, 1 * a, a<1, 1.5> a, a + 1.5, a * 1.5, a == true, where(a == a, a, 1), where(a == a, 1.5, a);
  if constexpr (kind != dtype::i1) a / 2, a % 2, 1 / a; // bool is unsigned, and the number is signed
  a / 1.5, minimum(a, 1), maximum(a, 1.5);
  if constexpr (detail::is_integer(kind)) a & 1, a | true, a << 1, ~a;
  -a, !a, abs(a);
}

template <typename A> void builtins(const tile<A, 4> &a) {
  constexpr dtype kind = detail::element<A>::kind;
  constexpr bool is_narrow_float = detail::is_fp8(kind);
  zeros_like(a), reshape<2, 2>(a), view<2, 2>(a), ravel(reshape<2, 2>(a)), trans(reshape<2, 2>(a)), permute<1, 0>(reshape<2, 2>(a));
  broadcast_to<4, 4>(a(new_axis, all)), expand_dims<0, 2>(a), unsqueeze<0>(a), squeeze<0>(unsqueeze<0>(a)), cat(a, a), join(a, a);
  split(reshape<2, 2>(a)), broadcast(a, a(all, new_axis)), item(full<A, 1>(1)), interleave(a, a), flip(a);
  gather<0>(a, arange<4>()), multiple_of<4>(a), max_contiguous<4>(a), max_constancy<4>(a);
  if constexpr (!is_narrow_float) {
    sum(a), sum<0>(a), sum<0, true>(a), max(a), min<0>(a), max_with_indices<0>(a), min_with_indices<0>(a), argmax<0>(a), argmin<0, true>(a);
    cumsum(a), sort(a), topk<2>(a), topk<4>(a, false);
    reduce<0>(a, [](const tile<A> &x, const tile<A> &) { return x; }),
        associative_scan<0>(a, [](const tile<A> &x, const tile<A> &) { return x; });
    map_elementwise([](const tile<A> &x) { return x; }, a);
  }
  if constexpr (!is_narrow_float && kind != dtype::i1) cumprod<0>(a);
  if constexpr (detail::is_integer(kind)) xor_sum(a), reduce_or<0>(a);
  if constexpr (detail::is_integer(kind) && kind != dtype::i1) histogram<4>(a), cdiv(a, 2), cdiv(a, a);
  if constexpr (kind == dtype::f32) {
    exp(a), exp2(a), log(a), log2(a), sin(a), cos(a), sqrt(a), rsqrt(a), sqrt_rn(a), erf(a), floor(a), ceil(a), div_rn(a, 2.0), sigmoid(a),
        softmax(a);
    libdevice::tanh(a), libdevice::pow(a, a), libdevice::isnan(a), pair_uniform_to_normal(a, a);
  }
  if constexpr (kind == dtype::f64) exp(a), math::floor(a), libdevice::tanh(a);
  if constexpr (kind == dtype::i32 || kind == dtype::u32)
    rand(1, a), randn(1, a), randint(1, a), rand4x(1, a), randn4x(1, a), randint4x(1, a), philox(1, a, a, a, a), uint_to_uniform_float(a);
}

template <typename A> void memory(const ptr<A> &p) {
  constexpr dtype kind = detail::element<A>::kind;
  auto a = p + arange<4>();
  load(a), load(p), load(a, a == a), store(a, 1), store(a, load(a));
  load(make_block_ptr<4>(p, at(8), at(1), at(0)), boundary_check<0>);
  if constexpr (kind == dtype::i32 || kind == dtype::f32)
    atomic_add(a, 1), atomic_max(a, 1), atomic_xchg(a, 1), atomic_load(a), atomic_store(a, 1), atomic_cas(a, 1, 1);
  if constexpr (kind == dtype::i32) atomic_and(a, 1), atomic_or(a, 1), atomic_xor(a, 1), atomic_min(a, 1);
  p == p, where(a == a, a, a);
}

template <typename A, typename B> void products() {
  auto a = full<A, 16, 32>(1);
  auto b = full<B, 32, 16>(1);
  constexpr dtype kind = detail::element<A>::kind;
  if constexpr ((detail::is_float(kind) || kind == dtype::i8) && std::is_same_v<A, B>) {
    auto c = dot(a, b);
    dot(a, b, c);
    if constexpr (kind == dtype::f16 || detail::is_fp8(kind)) dot<half>(a, b);
  }
}

template <typename A, typename... B> void with_each(list<B...>) {
  auto a = full<A, 4>(1);
  (pair(a, full<B, 1>(1)), ...);
  numbers(a);
  builtins(a);
  (products<A, B>(), ...);
}

/// Host code passes pointers to the other 8-bit floats as bytes.
template <typename A>
constexpr bool is_passed = !std::is_same_v<A, float8e5b16> && !std::is_same_v<A, float8e4b8> && !std::is_same_v<A, float8e4b15>;
template <typename A> using passed = std::conditional_t<is_passed<A>, A, uint8_t>;

template <typename A> void kernel(ptr<passed<A>> p) {
  with_each<A>(all_types());
  if constexpr (is_passed<A>) memory(p);
}

template <typename A> int check() {
  auto compiled = jit<kernel<A>>("kernel(p)");
  auto text = compiled.emit("tt", static_cast<passed<A> *>(nullptr));
  if (text) return 0;
  std::printf("%s: %s\n", detail::element<A>::name, text.error().c_str());
  return 1;
}

template <typename... A> int check_all(list<A...>) {
  return (check<A>() + ...);
}

int main() {
  int wrong = check_all(list<PART>());
  if (!wrong) std::puts("the types agree");
  return wrong;
}
