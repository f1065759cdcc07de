// Functions and formats of floats. Some functions are instructions; ir/single_math.cpp and ir/double_math.cpp compute the others, of f32
// and of f64. Smaller floats are computed in f32. 8-bit floats are bytes, which are only converted:
//     %c = arith.addf %a, %b : f8E5M2   ->   two bytes to f16x2 to f32, addf, f32 pair to two bytes
#include "gpu/thread/math.h"
#include "gpu/thread/elements.h"
#include "gpu/thread/lowering_table.h"
#include "ir/double_math.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

static Value fusedMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value y, Value z) {
  return ptx::FmaOp::create(b, x, y, z);
}

bool isByteFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

//===----------------------------------------------------------------------------------------------------------- conversions

static std::optional<ptx::Format> byteFormat(Type type) {
  if (isa<Float8E4M3FNType>(type)) return ptx::Format::e4m3;
  if (isa<Float8E5M2Type>(type)) return ptx::Format::e5m2;
  return std::nullopt;
}

ThreadValues upcastBytes(ThreadContext &t, const ThreadValues &bytes, Type format) {
  ThreadValues results;
  std::optional<ptx::Format> known = byteFormat(format);
  if (!known || !t.kernel.target.fp8Convert) {
    floats::MathOps m(t.b, fusedMultiplyAdd, t.b.getF32Type());
    for (Value byte : bytes)
      results.push_back(floats::widenFromBits(m, byte, format));
    return results;
  }
  Type half = t.b.getF16Type();
  for (size_t i = 0; i < bytes.size(); i += 2) {
    Value second = i + 1 < bytes.size() ? bytes[i + 1] : bytes[i];
    Value pair = ptx::PackOp::create(t.b, t.b.getI16Type(), ValueRange{bytes[i], second});
    pair = ptx::ConvertOp::create(t.b, t.b.getI32Type(), pair, *known, ptx::Format::f16);
    auto halves = ptx::UnpackOp::create(t.b, TypeRange{half, half}, pair);
    for (size_t k = 0; k < 2 && i + k < bytes.size(); ++k)
      results.push_back(arith::ExtFOp::create(t.b, t.b.getF32Type(), halves.getResult(static_cast<unsigned>(k))));
  }
  return results;
}

static ThreadValues narrowToBytes(ThreadContext &t, const ThreadValues &values, Type format, bool towardZero) {
  ThreadValues results;
  std::optional<ptx::Format> known = byteFormat(format);
  if (!known || !t.kernel.target.fp8Convert || towardZero) {
    floats::MathOps m(t.b, fusedMultiplyAdd, t.b.getF32Type());
    for (Value value : values)
      results.push_back(floats::narrowToBits(m, value, format, towardZero));
    return results;
  }
  for (size_t i = 0; i < values.size(); i += 2) {
    Value second = i + 1 < values.size() ? values[i + 1] : values[i];
    Value pair = ptx::ConvertPairOp::create(t.b, t.b.getI16Type(), values[i], second, *known);
    auto bytes = ptx::UnpackOp::create(t.b, TypeRange{t.b.getI8Type(), t.b.getI8Type()}, pair);
    for (size_t k = 0; k < 2 && i + k < values.size(); ++k)
      results.push_back(bytes.getResult(static_cast<unsigned>(k)));
  }
  return results;
}

ThreadValues convertFloats(ThreadContext &t, const ThreadValues &values, Type from, Type to, bool towardZero) {
  if (from == to) return values;
  if (isByteFloat(from)) return convertFloats(t, upcastBytes(t, values, from), t.b.getF32Type(), to, towardZero);
  floats::MathOps m(t.b, fusedMultiplyAdd, t.b.getF32Type());
  ThreadValues results;
  bool extends = from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
  if (isByteFloat(to) || (from.getIntOrFloatBitWidth() == 16 && !extends)) { // by way of f32
    if (!from.isF32()) {
      for (Value value : values)
        results.push_back(from.isF64() ? floats::narrowDouble(m, value, /*toOdd=*/!towardZero)
                                       : Value(arith::ExtFOp::create(t.b, t.b.getF32Type(), value)));
      return convertFloats(t, results, t.b.getF32Type(), to, towardZero);
    }
    return narrowToBytes(t, values, to, towardZero);
  }
  for (Value value : values) {
    if (extends)
      results.push_back(arith::ExtFOp::create(t.b, to, value));
    else if (!towardZero)
      results.push_back(arith::TruncFOp::create(t.b, to, value));
    else if (to.isF32())
      results.push_back(floats::narrowDouble(m, value, /*toOdd=*/false));
    else
      results.push_back(
          floats::narrowFloat(m, from.isF64() ? floats::narrowDouble(m, value, /*toOdd=*/false) : value, to, /*truncate=*/true));
  }
  return results;
}

LogicalResult lowerFloatConversion(ThreadContext &t, Operation *op, bool towardZero) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType()), to = getElementTypeOrSelf(op->getResult(0).getType());
  t.set(op->getResult(0), convertFloats(t, t.get(op->getOperand(0)), from, to, towardZero));
  return success();
}

/// Arithmetic of 8-bit floats is done in f32 and rounded. Fails, and reports nothing, if `compute` returns null.
LogicalResult lowerByteFloats(ThreadContext &t, Operation *op, function_ref<Value(ValueRange)> compute) {
  SmallVector<ThreadValues> operands;
  for (Value operand : op->getOperands()) {
    Type element = getElementTypeOrSelf(operand.getType());
    operands.push_back(isByteFloat(element) ? upcastBytes(t, t.get(operand), element) : t.get(operand));
  }
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  bool narrows = isByteFloat(element);
  ThreadValues results;
  for (int64_t reg = 0, count = threadValueCount(op->getResult(0).getType()); reg < count; ++reg) {
    SmallVector<Value> scalars;
    for (const ThreadValues &parts : operands)
      scalars.push_back(parts[parts.size() == 1 ? 0 : static_cast<size_t>(reg)]);
    Value result = compute(scalars);
    if (!result) return failure();
    results.push_back(result);
  }
  t.set(op->getResult(0), narrows ? narrowToBytes(t, results, element, /*towardZero=*/false) : results);
  return success();
}

/// Division of f32 within 2 ULP, like upstream's `/`; the precise division is a separate operation.
static Value divide(ThreadContext &t, Value x, Value y) {
  Type type = x.getType();
  if (type.isF64()) return arith::DivFOp::create(t.b, x, y);
  if (type.isF32()) return ptx::DivideOp::create(t.b, x, y);
  Type f32 = t.b.getF32Type();
  Value quotient = ptx::DivideOp::create(t.b, arith::ExtFOp::create(t.b, f32, x), arith::ExtFOp::create(t.b, f32, y));
  return arith::TruncFOp::create(t.b, type, quotient);
}

LogicalResult lowerElementwise(ThreadContext &t, Operation *op) {
  Type type = scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  if (isa<arith::ExtFOp>(op)) return lowerFloatConversion(t, op, false);
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    std::optional<arith::RoundingMode> mode = truncation.getRoundingmode();
    bool known = !mode || *mode == arith::RoundingMode::to_nearest_even || *mode == arith::RoundingMode::toward_zero;
    if (!known)
      return refuse(op, Diag::notOnGpus, {"this rounding mode of a conversion", "round to nearest even ('rtne') or toward zero ('rtz')"});
    return lowerFloatConversion(t, op, mode == arith::RoundingMode::toward_zero);
  }
  bool onlyMoves = isa<arith::SelectOp, arith::BitcastOp>(op) || op->getName().getDialectNamespace() == "ub";
  auto types = llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes()));
  if (!onlyMoves && llvm::any_of(types, [](Type t) { return isByteFloat(getElementTypeOrSelf(t)); }))
    return lowerByteFloats(t, op, [&](ValueRange x) -> Value {
      if (isa<arith::RemFOp>(op)) return mathFunction(t, "fmod", x);
      OperationState state(t.b.getLoc(), op->getName(), x,
                           {isByteFloat(getElementTypeOrSelf(op->getResult(0))) ? Type(t.b.getF32Type()) : type}, op->getAttrs());
      return t.b.create(state)->getResult(0);
    });
  if (isa<arith::DivFOp>(op)) return lowerElements(t, op, [&](ValueRange x) { return divide(t, x[0], x[1]); });
  if (isa<arith::RemFOp>(op)) return lowerElements(t, op, [&](ValueRange x) { return mathFunction(t, "fmod", x); });
  return lowerElements(t, op, [&](ValueRange operands) -> Value {
    if (isa<arith::BitcastOp>(op) && operands[0].getType() == type) return operands[0];
    OperationState state(t.b.getLoc(), op->getName(), operands, {type}, op->getAttrs());
    return t.b.create(state)->getResult(0);
  });
}

//===------------------------------------------------------------------------------------------------------------- functions

namespace {

/// Functions that f32 and f64 have in common: instructions, and those that only use a few operations of either.
class ScalarMath {
public:
  ScalarMath(ImplicitLocOpBuilder &b, Type type) : b(b), m(b, fusedMultiplyAdd, type) {}

  /// Null if the function is not one of these.
  Value call(StringRef name, ValueRange x) {
    if (std::optional<ptx::Unit> kind = unitOf(name)) return unit(*kind, x[0]);
    auto truncate = [&](Value value) { return unit(ptx::Unit::trunc, value); };
    if (name == "round") return floats::roundHalfAway(m, truncate, x[0]);
    if (name == "abs" || name == "fabs") return m.absolute(x[0]);
    if (name == "fmod") return floats::exactRemainder(m, truncate, x[0], x[1]);
    if (name == "copysign") return m.withSignOf(m.absolute(x[0]), x[1]);
    return {};
  }

private:
  Value unit(ptx::Unit kind, Value x) { return ptx::SpecialOp::create(b, x.getType(), kind, x); }

  std::optional<ptx::Unit> unitOf(StringRef name) const {
    using Unit = std::optional<ptx::Unit>;
    return llvm::StringSwitch<Unit>(name)
        .Case("sqrt", m.width == 64 ? ptx::Unit::sqrt_rn : ptx::Unit::sqrt)
        .Case("sqrt_rn", ptx::Unit::sqrt_rn)
        .Case("rsqrt", ptx::Unit::rsqrt)
        .Case("floor", ptx::Unit::floor)
        .Case("ceil", ptx::Unit::ceil)
        .Case("trunc", ptx::Unit::trunc)
        .Cases({"rint", "nearbyint", "roundeven"}, ptx::Unit::rint)
        .Case("exp2", m.width == 64 ? Unit() : ptx::Unit::ex2)
        .Default(std::nullopt);
  }

  ImplicitLocOpBuilder &b;
  floats::MathOps m;
};

} // namespace

/// The instructions with which doubleFunction computes.
static const floats::DoubleInstructions doubleInstructions = {
    fusedMultiplyAdd,
    [](ImplicitLocOpBuilder &b, Value x) -> Value { return ptx::SpecialOp::create(b, x.getType(), ptx::Unit::sqrt_rn, x); },
    [](ImplicitLocOpBuilder &b, Value x) -> Value { return ptx::SpecialOp::create(b, x.getType(), ptx::Unit::trunc, x); }};

const floats::SingleInstructions singleInstructions = {
    fusedMultiplyAdd, [](ImplicitLocOpBuilder &b, floats::Approximation function, Value x) -> Value {
      constexpr ptx::Unit units[] = {ptx::Unit::ex2, ptx::Unit::lg2, ptx::Unit::rcp, ptx::Unit::sqrt};
      return ptx::SpecialOp::create(b, x.getType(), units[static_cast<size_t>(function)], x, /*flushes=*/true);
    }};

Value mathFunction(ThreadContext &t, StringRef name, ValueRange x) {
  auto type = dyn_cast<FloatType>(x[0].getType());
  if (!type) return {};
  auto inType = [&](Type wanted) -> Value {
    SmallVector<Value> operands;
    for (Value value : x)
      operands.push_back(arith::ExtFOp::create(t.b, wanted, value));
    Value result = mathFunction(t, name, operands);
    return result ? Value(arith::TruncFOp::create(t.b, type, result)) : Value();
  };
  if (type.getWidth() < 32) return inType(t.b.getF32Type());
  if (Value result = ScalarMath(t.b, type).call(name, x)) return result;
  return type.isF64() ? floats::doubleFunction(t.b, doubleInstructions, name, x) : floats::singleFunction(t.b, singleInstructions, name, x);
}

/// The names in this file of a libdevice function ("__nv_fast_expf"), the preferred one first.
static SmallVector<StringRef, 2> functionsOfSymbol(StringRef symbol) {
  symbol.consume_front("__nv_");
  symbol.consume_front("fast_");
  SmallVector<StringRef, 2> names = {symbol};
  if (symbol.consume_back("f")) names.push_back(symbol); // erf is itself, erff its f32 form
  return names;
}

static LogicalResult notBuilt(Operation *op, StringRef function) {
  return refuse(op, Diag::notOnGpus, {"the function '" + function.str() + "'", "write it in terms of the functions of tl and tl.math"});
}

/// link-library has compared the number of operands and the types with the table of libdevice's functions.
static LogicalResult lowerExtern(ThreadContext &t, tt::ExternElementwiseOp op) {
  LogicalResult result = lowerElements(t, op, [&](ValueRange x) -> Value {
    for (StringRef name : functionsOfSymbol(op.getSymbol()))
      if (Value value = mathFunction(t, name, x)) return value;
    return {};
  });
  return succeeded(result) ? result : bug(op, "there is no function '" + op.getSymbol().str() + "'");
}

/// e^x as 2^(x log2 e). If x is rounded (ttg.rounded), the rounding of the product adds no larger error than that of x. Upstream does this
/// for all x.
static Value shortExp(ThreadContext &t, Value x) {
  constexpr double log2e = 1.4426950408889634;
  Value power = arith::MulFOp::create(t.b, x, t.constant(x.getType(), t.b.getFloatAttr(x.getType(), log2e)));
  return ptx::SpecialOp::create(t.b, x.getType(), ptx::Unit::ex2, power);
}

LogicalResult lowerMath(ThreadContext &t, Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  StringRef name = op->getName().stripDialect();
  if (isa<math::AbsIOp>(op))
    return lowerElements(
        t, op, [&](ValueRange x) -> Value { return arith::MaxSIOp::create(t.b, x[0], arith::SubIOp::create(t.b, t.zero(element), x[0])); });
  if (isa<math::FmaOp>(op)) {
    auto fma = [&](ValueRange x) -> Value { return ptx::FmaOp::create(t.b, x[0], x[1], x[2]); };
    return isByteFloat(element) ? lowerByteFloats(t, op, fma) : lowerElements(t, op, fma);
  }
  if (isa<math::AbsFOp>(op)) // of any width, including 8-bit floats: clears the sign, the highest bit
    return lowerElements(t, op, [&](ValueRange x) -> Value {
      auto bits = t.b.getIntegerType(element.getIntOrFloatBitWidth());
      Value whole = bitcast(t, bits, x[0]);
      auto constant = [&](const APInt &value) { return t.constant(bits, t.b.getIntegerAttr(bits, value)); };
      Value magnitude = arith::AndIOp::create(t.b, whole, constant(APInt::getSignedMaxValue(bits.getWidth())));
      if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(element)) { // the sign alone is NaN
        Value isNan = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, whole, constant(APInt::getSignedMinValue(bits.getWidth())));
        magnitude = arith::SelectOp::create(t.b, isNan, whole, magnitude);
      }
      return bitcast(t, x[0].getType(), magnitude);
    });
  if (op->hasAttr(ttg::roundedName)) return lowerElements(t, op, [&](ValueRange x) { return shortExp(t, x[0]); });
  if (name == "powf") name = "pow";
  auto compute = [&](ValueRange x) { return mathFunction(t, name, x); };
  LogicalResult result = isByteFloat(element) ? lowerByteFloats(t, op, compute) : lowerElements(t, op, compute);
  return succeeded(result) ? result : notBuilt(op, name);
}

void addMathLowerings(LoweringTable &table) {
  addLowerings<lowerExtern>(table);
}

} // namespace tilewright::gpu
