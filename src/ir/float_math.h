// Short names for the arithmetic of a float type and of the integers that hold its bits, for scalars and vectors. A polynomial written with
// them reads like its formula. The conversions of small floats below are common to both back ends.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::floats {

using mlir::ImplicitLocOpBuilder;
using mlir::Type;
using mlir::Value;

/// Creates x * y + z with one rounding, for one back end.
using FusedMultiplyAdd = Value (*)(ImplicitLocOpBuilder &b, Value x, Value y, Value z);

class MathOps {
public:
  /// `type`: f32 or f64, or a vector of them. `fused`: null if the target has no such instruction.
  MathOps(ImplicitLocOpBuilder &b, FusedMultiplyAdd fused, Type type);

  ImplicitLocOpBuilder &b;
  FusedMultiplyAdd fused;
  Type realType, wordType, maskType;
  int64_t width, fraction; // bits of the type, and of its fraction field

  Value real(double value);
  Value word(int64_t value);

  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value subtract(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value divide(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  /// Returns x * y + z, with one rounding if the target supports it.
  Value multiplyAdd(Value x, Value y, Value z);
  Value multiplyAdd(Value x, double y, Value z) { return multiplyAdd(x, real(y), z); }
  /// Returns c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  /// Ordered comparisons: false for NaN.
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value lessOrEqual(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLE, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) { return mlir::arith::CmpFOp::create(b, predicate, x, y); }
  Value compareWords(mlir::arith::CmpIPredicate predicate, Value x, Value y) { return mlir::arith::CmpIOp::create(b, predicate, x, y); }
  Value select(Value mask, Value yes, Value no) { return mlir::arith::SelectOp::create(b, mask, yes, no); }

  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, wordType, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, realType, x); }
  Value addWords(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subtractWords(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value bitAnd(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value bitAnd(Value x, int64_t y) { return mlir::arith::AndIOp::create(b, x, word(y)); }
  Value bitXor(Value x, int64_t y) { return mlir::arith::XOrIOp::create(b, x, word(y)); }
  Value bitOr(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  Value shiftLeft(Value x, int64_t count) { return mlir::arith::ShLIOp::create(b, x, word(count)); }
  Value shiftRight(Value x, int64_t count) { return mlir::arith::ShRUIOp::create(b, x, word(count)); }
  Value shiftRightSigned(Value x, int64_t count) { return mlir::arith::ShRSIOp::create(b, x, word(count)); }

  Value absolute(Value x) { return fromBits(bitAnd(bits(x), magnitudeMask())); }
  /// Returns the first value, which must not be negative, with the sign of the second.
  Value withSignOf(Value magnitude, Value sign) { return fromBits(bitOr(bits(magnitude), bitAnd(bits(sign), ~magnitudeMask()))); }
  int64_t magnitudeMask() const { return width == 64 ? INT64_MAX : INT32_MAX; }
};

/// The cost of a multiplication with a subnormal result: as any other, or about a hundred cycles.
enum class Subnormals { atSpeed, slow };

/// f32 only. Within 2 ULP of the true value for every input. float_functions.cpp has the measured maxima.
Value inlineExp(MathOps &m, Subnormals subnormals, Value x);
Value inlineExp2(MathOps &m, Subnormals subnormals, Value x);
/// For arguments of at most 71 (103), or NaN.
Value inlineExpNotPositive(MathOps &m, Subnormals subnormals, Value x);
Value inlineExp2NotPositive(MathOps &m, Subnormals subnormals, Value x);
/// Below these, results are subnormal numbers or zero.
constexpr double expTiny = -87.33655, exp2Tiny = -126;
/// The same bits, for arguments that are also not below these bounds, or NaN.
Value inlineExpNormal(MathOps &m, Value x);
Value inlineExp2Normal(MathOps &m, Value x);
Value inlineLog(MathOps &m, Value x);
Value inlineLog2(MathOps &m, Value x);
Value inlineTanh(MathOps &m, Value x);
Value inlineErf(MathOps &m, Value x);

/// Creates the whole number next to x, toward zero.
using Truncate = llvm::function_ref<Value(Value x)>;
/// Rounds halves away from zero, of f32 or f64.
Value roundHalfAway(MathOps &m, Truncate truncate, Value x);
/// Returns the remainder of x / y with the sign of x, exactly, of f32 or f64 scalars. Needs a fused multiply-add.
Value exactRemainder(MathOps &m, Truncate truncate, Value x, Value y);

/// Convert f16, bf16 or an 8-bit float to f32, and f32 to them: round to nearest even, or toward zero if `truncate`. `m`: of f32. 8-bit
/// formats saturate, others overflow to infinity.
Value widenFloat(MathOps &m, Value value, Type element);
Value narrowFloat(MathOps &m, Value x, Type element, bool truncate);
/// The same with the small float as its bits, in an integer of its width.
Value widenFromBits(MathOps &m, Value bits, Type element);
Value narrowToBits(MathOps &m, Value x, Type element, bool truncate);
/// Converts f64 to f32 toward zero. `toOdd`: sets the last bit if the result is inexact, so that a second rounding is right. `m`: of f32.
Value narrowDouble(MathOps &m, Value x, bool toOdd);

} // namespace tilewright::floats
