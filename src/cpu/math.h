// Vector math: each function of the language on scalars and vectors, as inlined arithmetic or a libmvec call, never a scalar libm loop.
#pragma once

#include "cpu/emit.h"
#include "ir/float_range.h"

namespace tilewright::cpu {

enum class MathFunction {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  cbrt,
  sqrt,
  rsqrt,
  floor,
  ceil,
  trunc,
  round,
  rint,
  abs,
  pow,
  atan2,
  hypot,
  fmod,
  expNotPositive, // exp and exp2 of numbers that are known to be at most 0, or NaN: overflow needs no care
  exp2NotPositive,
  expNormal, // the same where no result is subnormal (hasNormalExp)
  exp2Normal,
};

/// `function` of f32 or f64 operands (scalars or vectors of any power-of-two length; longer than the machine's are split, shorter widened).
/// f16 and bf16 operands are computed in f32 and rounded. Errors: exp exp2 log log2 sin cos erf tanh within 2 ULP in f32 (4 for libmvec's).
Value emitMath(ImplicitLocOpBuilder &b, const CpuTarget &target, MathFunction function, ValueRange operands);
/// The function that a libdevice or libm symbol names ("__nv_tanhf", "tanhf", "tanh"), if any.
std::optional<MathFunction> mathFunctionBySymbol(llvm::StringRef symbol);

/// Conversions that the machine lacks: f16, bf16 and the 8-bit floats to f32 and back (round to nearest even; toward zero if `truncate`),
/// on vectors and scalars.
Value convertFloat(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value, Type element, bool truncate);

/// Integers of type `element` from f32 or f64 (scalar or vector), toward zero, with the bounds that the conversion needs.
Value convertToInteger(ImplicitLocOpBuilder &b, Value value, Type element, bool isSigned, IntegerBounds bounds);

/// Numbers of f16, each as two of bf16 in a word (i32): the upper half is cut off, the lower one what remains, zero of infinities and NaN.
Value bf16Halves(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value);
/// Such words with zeros in place of infinities and NaN, their halves in place or exchanged.
Value finiteHalves(ImplicitLocOpBuilder &b, Value words, bool exchanged);

/// Divides lanes of f32 by one number of f32, rounded once like any division, for machines that divide slowly and have fused multiply-add.
Value divideBySame(ImplicitLocOpBuilder &b, Value x, Value divisor);
/// Whether (i1) nothing overflows or underflows where divideShortly divides all vectors of `x`. `isBelowTwo`: all numbers are known to be
/// NaN or at least 0 and below 2.
Value dividesShortly(ImplicitLocOpBuilder &b, ValueRange x, Value divisor, bool isBelowTwo);
/// Three operations in place of the division; rounded once, too.
Value divideShortly(ImplicitLocOpBuilder &b, Value x, Value divisor);
/// Whether (i1) exp or exp2 of all vectors of `x`, of which no number is above 0, is a normal number or NaN in every lane.
Value hasNormalExp(ImplicitLocOpBuilder &b, MathFunction function, ValueRange x);

} // namespace tilewright::cpu
