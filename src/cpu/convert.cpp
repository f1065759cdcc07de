// Conversions between float types: by instruction if the machine has one (f32 and f64, and with F16C f16 and f32), otherwise by the
// arithmetic of ir/float_formats.cpp. f64 goes through f32 rounded to odd, which avoids double rounding.
//
// Conversions to integers saturate and convert NaN to 0. LLVM's fptosi is poison there, and on x86 its saturating intrinsic works lane by
// lane. So the bounds are vector comparisons. f32 to int8:
//   before: arith.fptosi %x : vector<8xf32> to vector<8xi8>
//   after:  trunc(x == x ? fptosi(min(max(x, -128), 127)) : 0)
// Additional instructions, AVX2 / AVX-512: int8 and int16 4 / 3, uint8 and uint16 2 / 2, int32 5 / 4, uint32 3 / 3. A comparison is omitted
// if the operations that compute the value imply its bound (ir/float_range.h).
#include "cpu/math.h"
#include "ir/float_math.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace tilewright::cpu {

static Type elementOf(Type type) {
  return isa<VectorType>(type) ? cast<VectorType>(type).getElementType() : type;
}

static bool isWide(Type element) {
  return element.isF32() || element.isF64();
}

static Value upcastAny(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value) {
  Type element = elementOf(value.getType());
  Type type = vectorOf(b.getF32Type(), lanesOf(value.getType()));
  if (element.isF16() && target.f16c) return arith::ExtFOp::create(b, type, value);
  floats::MathOps m(b, target.fma ? fma : nullptr, type);
  // A constant is converted here: otherwise MLIR's folders would have to read its bits from an attribute of floats, which they do not
  // expect.
  Attribute known;
  if (matchPattern(value, m_Constant(&known))) {
    auto dense = dyn_cast<DenseFPElementsAttr>(known);
    auto number = dense && dense.isSplat() ? dense.getSplatValue<FloatAttr>() : dyn_cast<FloatAttr>(known);
    if (number) return m.real(number.getValue().convertToDouble());
  }
  if (isa<Float8E5M2Type>(element) && target.f16c) { // f16 without the low byte
    int64_t lanes = lanesOf(type);
    Type half = vectorOf(b.getI16Type(), lanes);
    Value bytes = arith::BitcastOp::create(b, vectorOf(b.getI8Type(), lanes), value);
    Value words = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, half, bytes), constantInt(b, half, 8));
    Value halves = arith::BitcastOp::create(b, vectorOf(b.getF16Type(), lanes), words);
    return arith::ExtFOp::create(b, type, halves);
  }
  return floats::widenFloat(m, value, element);
}

Value convertFloat(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value, Type element, bool truncate) {
  Type source = elementOf(value.getType());
  int64_t lanes = lanesOf(value.getType());
  if (source == element) return value;
  if (!isWide(source)) {
    Value single = upcastAny(b, target, value);
    if (element.isF64()) return arith::ExtFOp::create(b, vectorOf(element, lanes), single);
    return convertFloat(b, target, single, element, truncate);
  }
  if (element.isF64()) return arith::ExtFOp::create(b, vectorOf(element, lanes), value);
  floats::MathOps m(b, target.fma ? fma : nullptr, vectorOf(b.getF32Type(), lanes));
  if (element.isF32())
    return truncate ? floats::narrowDouble(m, value, /*toOdd=*/false) : Value(arith::TruncFOp::create(b, m.realType, value));
  if (source.isF64()) value = floats::narrowDouble(m, value, /*toOdd=*/!truncate);
  if (element.isF16() && target.f16c && !truncate) return arith::TruncFOp::create(b, vectorOf(element, lanes), value);
  return floats::narrowFloat(m, value, element, truncate);
}

static Value isNotFinite(ImplicitLocOpBuilder &b, Value bits) {
  Value exponent = constantInt(b, bits.getType(), 0x7f800000);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::AndIOp::create(b, bits, exponent), exponent);
}

// The upper half of an f32 number's bits is a truncated bf16; of f16's 11 significant bits at most 3 remain.
Value bf16Halves(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value) {
  Value single = upcastAny(b, target, value);
  Type words = vectorOf(b.getI32Type(), lanesOf(value.getType()));
  auto constant = [&](int64_t bits) { return constantInt(b, words, bits); };
  Value bits = arith::BitcastOp::create(b, words, single);
  Value high = arith::AndIOp::create(b, bits, constant(int32_t(0xffff0000)));
  Value rest = arith::SubFOp::create(b, single, arith::BitcastOp::create(b, single.getType(), high));
  Value low = arith::ShRUIOp::create(b, arith::BitcastOp::create(b, words, rest), constant(16));
  low = arith::SelectOp::create(b, isNotFinite(b, bits), constant(0), low);
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, single, single);
  return arith::OrIOp::create(b, arith::SelectOp::create(b, isNan, constant(0x7fc00000), high), low);
}

Value finiteHalves(ImplicitLocOpBuilder &b, Value words, bool exchanged) {
  Type type = words.getType();
  Value half = constantInt(b, type, 16), result = words;
  if (exchanged) result = arith::OrIOp::create(b, arith::ShLIOp::create(b, words, half), arith::ShRUIOp::create(b, words, half));
  return arith::SelectOp::create(b, isNotFinite(b, words), constantInt(b, type, 0), result);
}

Value convertToInteger(ImplicitLocOpBuilder &b, Value value, Type element, bool isSigned, IntegerBounds bounds) {
  Type floatType = elementOf(value.getType()), type = vectorOf(element, lanesOf(value.getType()));
  int bits = static_cast<int>(element.getIntOrFloatBitWidth()), digits = floatType.isF64() ? 53 : 24;
  // Narrow integers are converted through i32, which x86 does in one instruction.
  bool narrow = bits < 32;
  Type intermediate = narrow ? vectorOf(b.getI32Type(), lanesOf(type)) : type;
  double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0, limit = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  auto number = [&](double bound) { return constantFloat(b, value.getType(), bound); };
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value { return arith::CmpFOp::create(b, predicate, x, y); };
  auto pick = [&](Value condition, Value yes, Value no) -> Value { return arith::SelectOp::create(b, condition, yes, no); };
  bool clampsHighFirst = bounds.clampsHigh && bits - isSigned <= digits; // the largest integer is a float
  Value bounded = value;
  // A NaN becomes `low`, which is 0 if the integer is unsigned.
  if (bounds.clampsLow || bounds.checksNan) bounded = pick(compare(arith::CmpFPredicate::OGT, bounded, number(low)), bounded, number(low));
  if (clampsHighFirst) bounded = pick(compare(arith::CmpFPredicate::OLT, bounded, number(limit - 1)), bounded, number(limit - 1));
  Value integer = isSigned || narrow ? Value(arith::FPToSIOp::create(b, intermediate, bounded))
                                     : Value(arith::FPToUIOp::create(b, intermediate, bounded));
  if (bounds.checksNan && isSigned) {
    Value ordered = compare(arith::CmpFPredicate::ORD, value, value);
    integer = pick(ordered, integer, constantInt(b, intermediate, 0));
  }
  if (bounds.clampsHigh && !clampsHighFirst) { // the converted values of larger numbers are not used
    int64_t largest = isSigned ? static_cast<int64_t>(~uint64_t(0) >> (65 - bits)) : -1;
    integer = pick(compare(arith::CmpFPredicate::OGE, value, number(limit)), constantInt(b, intermediate, largest), integer);
  }
  return narrow ? Value(arith::TruncIOp::create(b, type, integer)) : integer;
}

} // namespace tilewright::cpu
