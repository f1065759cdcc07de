// Vector math: each function of the language on scalars and vectors, as inlined arithmetic or a libmvec call, never as a loop of scalar
// libm calls.
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
  expNotPositive, // exp and exp2 of numbers that are known to be at most 0 or NaN, so they cannot overflow
  exp2NotPositive,
  expNormal, // the same where no result is subnormal (hasNormalExp)
  exp2Normal,
};

/// Emits `function` of f32 or f64 operands: scalars, or vectors of any power-of-two length (split or padded to the machine's vectors).
/// f16 and bf16 operands are computed in f32 and rounded. Errors: exp exp2 log log2 sin cos erf tanh within 2 ULP in f32 (4 for libmvec's).
Value emitMath(ImplicitLocOpBuilder &b, const CpuTarget &target, MathFunction function, ValueRange operands);
/// Returns the function that a libdevice or libm symbol names ("__nv_tanhf", "tanhf", "tanh"), if any.
std::optional<MathFunction> mathFunctionBySymbol(llvm::StringRef symbol);

/// Converts between f32 and f16, bf16 or 8-bit floats where the machine has no instruction, on vectors and scalars. Rounds to nearest even,
/// or toward zero if `truncate`.
Value convertFloat(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value, Type element, bool truncate);

/// Converts f32 or f64 (scalar or vector) to integers of type `element`, toward zero, with the bounds that the conversion needs.
Value convertToInteger(ImplicitLocOpBuilder &b, Value value, Type element, bool isSigned, IntegerBounds bounds);

/// Splits f16 numbers into two bf16 halves in one word (i32). The upper half is truncated, the lower one is the remainder, 0 for infinities
/// and NaN.
Value bf16Halves(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value);
/// Replaces infinities and NaN in such words by zeros and, if `exchanged`, swaps the halves.
Value finiteHalves(ImplicitLocOpBuilder &b, Value words, bool exchanged);

/// Divides lanes of f32 by one f32 number with correct rounding, for machines with slow division and fused multiply-add.
Value divideBySame(ImplicitLocOpBuilder &b, Value x, Value divisor);
/// Returns whether (i1) divideFast divides all vectors of `x` without overflow or underflow. `isBelowTwo`: all numbers are known to be
/// NaN or in [0, 2).
Value canDivideFast(ImplicitLocOpBuilder &b, ValueRange x, Value divisor, bool isBelowTwo);
/// Divides in three operations, with correct rounding.
Value divideFast(ImplicitLocOpBuilder &b, Value x, Value divisor);
/// Returns whether (i1) exp or exp2 of all vectors of `x`, which are at most 0, is a normal number or NaN in every lane.
Value hasNormalExp(ImplicitLocOpBuilder &b, MathFunction function, ValueRange x);

} // namespace tilewright::cpu
