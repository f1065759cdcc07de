// Every small float has a sign, E exponent bits and M fraction bits, so one pair of routines converts all of them from and to f32:
//
//   upcast:   shift the bits without the sign so that the fraction is at f32's position. The result is the value times a power of two, also
//             for subnormal numbers. So one multiplication corrects the exponent.
//   downcast: normal results: add half a unit of the last kept place to the bits (and one more if that place is odd), shift, correct the
//             exponent. Subnormal results: add the power of two at which f32's last place is the last place of the result.
//
// 8-bit formats saturate: numbers that are too large, and infinities, become the largest finite value. NaN stays NaN. f16 and bf16 overflow
// to infinity as in IEEE 754, and with rounding toward zero to the largest finite value.
#include "ir/float_math.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace tilewright::floats {

namespace {

struct Layout {
  int64_t bits, fraction, bias;
  bool hasInfinity; // an exponent of all ones is infinity or NaN
  bool hasNegativeZero;
  int64_t notANumber; // without its sign, if it has one
  int64_t largest;    // the largest finite value's bits

  int64_t magnitudeMask() const { return (int64_t(1) << (bits - 1)) - 1; }
  int64_t infinity() const { return magnitudeMask() >> fraction << fraction; }
};

Layout layoutOf(Type element) {
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  Layout layout;
  layout.bits = element.getIntOrFloatBitWidth();
  layout.fraction = llvm::APFloat::semanticsPrecision(semantics) - 1;
  layout.bias = 1 - llvm::APFloat::semanticsMinExponent(semantics);
  layout.hasInfinity = llvm::APFloat::semanticsHasInf(semantics);
  layout.notANumber = llvm::APFloat::getQNaN(semantics).bitcastToAPInt().getZExtValue();
  layout.hasNegativeZero = llvm::APFloat::getZero(semantics, /*Negative=*/true).bitcastToAPInt() != 0;
  layout.largest = llvm::APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue();
  return layout;
}

Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

Type integerLike(MathOps &m, Type like, int64_t bits) {
  return withElement(like, m.b.getIntegerType(static_cast<unsigned>(bits)));
}

double powerOfTwo(int64_t exponent) {
  return std::ldexp(1.0, exponent);
}

constexpr int64_t f32Infinity = 0x7f800000, f32SignMask = 0x80000000;

/// Converts to bf16, f32's upper half, by rounding. NaN is made quiet first, so that rounding cannot change it to infinity.
Value narrowToUpperHalf(MathOps &m, Value x, bool truncate) {
  Value bits = m.bits(x);
  Value rounded = bits;
  if (!truncate) {
    Value odd = m.bitAnd(m.shiftRight(bits, 16), 1);
    rounded = m.addWords(m.addWords(bits, m.word(0x7fff)), odd);
  }
  Value isNan = m.compare(arith::CmpFPredicate::UNO, x, x);
  return m.shiftRight(m.select(isNan, m.bitOr(bits, m.word(0x400000)), rounded), 16);
}

Value narrowBits(MathOps &m, Value x, const Layout &layout, bool truncate) {
  Value bits = m.bits(x);
  Value magnitude = m.bitAnd(bits, 0x7fffffff);
  int64_t dropped = 23 - layout.fraction;

  Value rounded = magnitude;
  if (!truncate) {
    Value odd = m.bitAnd(m.shiftRight(magnitude, dropped), 1);
    rounded = m.addWords(m.addWords(magnitude, m.word((int64_t(1) << (dropped - 1)) - 1)), odd);
  }
  Value normal = m.subtractWords(m.shiftRight(rounded, dropped), m.word((127 - layout.bias) << layout.fraction));

  Value small;
  if (truncate) {
    Value units = m.multiply(m.fromBits(magnitude), m.real(powerOfTwo(layout.bias + layout.fraction - 1)));
    small = arith::FPToSIOp::create(m.b, m.wordType, units);
  } else {
    Value anchor = m.real(powerOfTwo(24 - layout.bias - layout.fraction));
    small = m.subtractWords(m.bits(m.add(m.fromBits(magnitude), anchor)), m.bits(anchor));
  }
  Value isSmall = m.compareWords(arith::CmpIPredicate::slt, magnitude, m.word((128 - layout.bias) << 23));
  Value result = m.select(isSmall, small, normal);

  // Too large: 8-bit formats saturate; other formats round to infinity, or toward zero to the largest finite number.
  int64_t limit = layout.bits == 8 || truncate ? layout.largest : layout.infinity();
  result = m.select(m.compareWords(arith::CmpIPredicate::sgt, result, m.word(limit)), m.word(limit), result);
  if (layout.bits != 8 && truncate)
    result = m.select(m.compareWords(arith::CmpIPredicate::eq, magnitude, m.word(f32Infinity)), m.word(layout.infinity()), result);

  Value sign = m.bitAnd(m.shiftRight(bits, 32 - layout.bits), int64_t(1) << (layout.bits - 1));
  Value signedResult = m.bitOr(result, sign);
  if (!layout.hasNegativeZero) signedResult = m.select(m.compareWords(arith::CmpIPredicate::eq, result, m.word(0)), result, signedResult);
  Value isNan = m.compareWords(arith::CmpIPredicate::sgt, magnitude, m.word(f32Infinity));
  Value quiet = layout.hasNegativeZero ? m.bitOr(m.word(layout.notANumber), sign) : m.word(layout.notANumber);
  return m.select(isNan, quiet, signedResult);
}

} // namespace

Value widenFromBits(MathOps &m, Value bits, Type element) {
  Layout layout = layoutOf(element);
  Value raw = arith::ExtUIOp::create(m.b, m.wordType, bits);
  if (element.isBF16()) return m.fromBits(m.shiftLeft(raw, 16));
  Value magnitude = m.bitAnd(raw, layout.magnitudeMask());
  Value sign = m.bitAnd(m.shiftLeft(raw, 32 - layout.bits), f32SignMask);
  Value aligned = m.shiftLeft(magnitude, 23 - layout.fraction);
  Value result = m.bits(m.multiply(m.fromBits(aligned), m.real(powerOfTwo(127 - layout.bias))));
  if (layout.hasInfinity) {
    Value special = m.compareWords(arith::CmpIPredicate::sge, magnitude, m.word(layout.infinity()));
    result = m.select(special, m.bitOr(aligned, m.word(f32Infinity)), result);
  } else {
    // NaN has one pattern: all ones, or the pattern of minus zero.
    Value special = layout.hasNegativeZero ? m.compareWords(arith::CmpIPredicate::eq, magnitude, m.word(layout.notANumber))
                                           : m.compareWords(arith::CmpIPredicate::eq, raw, m.word(layout.notANumber));
    result = m.select(special, m.word(f32Infinity | 0x400000), result);
  }
  return m.fromBits(m.bitOr(result, sign));
}

Value widenFloat(MathOps &m, Value value, Type element) {
  return widenFromBits(m, arith::BitcastOp::create(m.b, integerLike(m, value.getType(), element.getIntOrFloatBitWidth()), value), element);
}

Value narrowToBits(MathOps &m, Value x, Type element, bool truncate) {
  Layout layout = layoutOf(element);
  Value bits = element.isBF16() ? narrowToUpperHalf(m, x, truncate) : narrowBits(m, x, layout, truncate);
  return arith::TruncIOp::create(m.b, integerLike(m, x.getType(), layout.bits), bits);
}

Value narrowFloat(MathOps &m, Value x, Type element, bool truncate) {
  return arith::BitcastOp::create(m.b, withElement(x.getType(), element), narrowToBits(m, x, element, truncate));
}

Value narrowDouble(MathOps &m, Value x, bool toOdd) {
  MathOps wide(m.b, m.fused, x.getType());
  Value nearest = arith::TruncFOp::create(m.b, m.realType, x);
  Value back = arith::ExtFOp::create(m.b, x.getType(), nearest);
  Value tooLarge = wide.less(wide.absolute(x), wide.absolute(back));
  // An infinity from rounding a finite number is too large. An infinite input is not.
  Value result = m.bits(nearest);
  result = m.subtractWords(result, arith::ExtUIOp::create(m.b, m.wordType, tooLarge));
  if (toOdd) result = m.bitOr(result, arith::ExtUIOp::create(m.b, m.wordType, wide.compare(arith::CmpFPredicate::ONE, x, back)));
  return m.fromBits(result);
}

} // namespace tilewright::floats
