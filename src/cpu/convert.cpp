// Conversions between float types: those that the machine has (f32 and f64, and f16 with F16C, which reads only f32), and the
// arithmetic of ir/float_formats.cpp for the others. f64 goes through f32 rounded to odd, so that nothing is rounded twice.
#include "cpu/math.h"
#include "ir/float_math.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::cpu {

static Type elementOf(Type type) {
  return isa<VectorType>(type) ? cast<VectorType>(type).getElementType() : type;
}

static bool isWide(Type element) {
  return element.isF32() || element.isF64();
}

static Value widenAny(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value) {
  Type element = elementOf(value.getType());
  Type type = vectorOf(b.getF32Type(), lanesOf(value.getType()));
  if (element.isF16() && target.f16c) return arith::ExtFOp::create(b, type, value);
  floats::MathOps m(b, target.fma ? fma : nullptr, type);
  // A constant is converted here: otherwise its bits would have to be read from an attribute of floats, which MLIR's folders do not expect.
  Attribute known;
  if (matchPattern(value, m_Constant(&known))) {
    auto dense = dyn_cast<DenseFPElementsAttr>(known);
    auto number = dense && dense.isSplat() ? dense.getSplatValue<FloatAttr>() : dyn_cast<FloatAttr>(known);
    if (number) return m.real(number.getValue().convertToDouble());
  }
  if (isa<Float8E5M2Type>(element) && target.f16c) { // it is f16 without the lower byte
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
    Value single = widenAny(b, target, value);
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

// The upper half of an f32 number's bits is bf16, cut off; of 11 bits at most 3 remain.
Value bf16Halves(ImplicitLocOpBuilder &b, const CpuTarget &target, Value value) {
  Value single = widenAny(b, target, value);
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

} // namespace tilewright::cpu
