// The meaning of operations on single elements: arith, math, tt's own, and the functions of math libraries. Each row of the table below is
// one operation and what it does to one element; the templates above the table are the loops around it. Operands may have one element
// where the others have many (a constant in the region of a reduction): it stands for all of them.
#include "ir/interpret/program.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"

#include <cmath>

#pragma STDC FP_CONTRACT OFF // a product rounds before it is added, unless the operation is fma

using namespace mlir;

namespace tilewright::interp {
namespace {

// ---- loops

int64_t countOf(Program &program, Operation *op) {
  int64_t count = 1;
  for (Value operand : op->getOperands())
    count = std::max(count, program.get(operand).size());
  return count;
}

/// Reads the elements of one operand; a single one is repeated.
struct Reader {
  const uint64_t *data;
  int64_t stride;
  Reader(Program &program, Value value) : data(program.get(value).elements.data()), stride(program.get(value).size() == 1 ? 0 : 1) {}
  uint64_t operator[](int64_t i) const { return data[i * stride]; }
};

template <typename F> LogicalResult eachElement(Program &program, Operation *op, F element) {
  Tile result(countOf(program, op), 0);
  for (int64_t i = 0, count = result.size(); i < count; ++i)
    result.elements[i] = element(i);
  program.set(op->getResult(0), std::move(result));
  return success();
}

// F is a lambda without captures: its type alone carries the meaning, so each operation becomes a plain function.
template <typename F> Meaning unsignedBinary(F) { // (a, b, width)
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    return eachElement(program, op, [&](int64_t i) { return uint64_t(F()(a[i], b[i], format.bits)) & format.mask(); });
  };
}
template <typename F> Meaning signedBinary(F) {
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    return eachElement(program, op, [&](int64_t i) {
      return uint64_t(F()(signExtend(a[i], format.bits), signExtend(b[i], format.bits), format.bits)) & format.mask();
    });
  };
}
/// As signedBinary and unsignedBinary, for a second operand that must not be zero; `remainder` says what a zero gives where it is no error.
template <typename F> LogicalResult divide(Program &program, Operation *op, bool isSigned, bool remainder, F divideOne) {
  Format format = formatOf(op->getResult(0).getType());
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  bool zeroIsError = !isa<RankedTensorType>(op->getResult(0).getType()) || program.options.checkTileDivision;
  Tile result(countOf(program, op), 0);
  for (int64_t i = 0, count = result.size(); i < count; ++i) {
    uint64_t value;
    if (b[i] == 0) {
      if (zeroIsError) return program.fail(op, "integer division by zero");
      value = remainder ? a[i] : ~uint64_t(0);
    } else if (isSigned) {
      int64_t divisor = signExtend(b[i], format.bits), dividend = signExtend(a[i], format.bits);
      // The most negative number divided by -1 wraps; C++ would trap.
      value = divisor == -1 ? (remainder ? 0 : -uint64_t(dividend)) : uint64_t(divideOne(dividend, divisor));
    } else {
      value = uint64_t(divideOne(int64_t(a[i]), int64_t(b[i])));
    }
    result.elements[i] = value & format.mask();
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}
template <typename F> Meaning signedDivision(F) {
  return [](Program &program, Operation *op) { return divide(program, op, true, false, F()); };
}
template <typename F> Meaning unsignedDivision(F) {
  return [](Program &program, Operation *op) {
    return divide(program, op, false, false, [](int64_t a, int64_t b) { return F()(uint64_t(a), uint64_t(b)); });
  };
}
LogicalResult signedRemainder(Program &program, Operation *op) {
  return divide(program, op, true, true, [](int64_t a, int64_t b) { return a % b; });
}
LogicalResult unsignedRemainder(Program &program, Operation *op) {
  return divide(program, op, false, true, [](int64_t a, int64_t b) { return uint64_t(a) % uint64_t(b); });
}
template <typename F> Meaning integerUnary(F) { // (a, width)
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return uint64_t(F()(a[i], format.bits)) & format.mask(); });
  };
}
template <typename F> Meaning floatUnary(F) {
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return encodeFloat(format, F()(decodeFloat(format, a[i]))); });
  };
}
template <typename F> Meaning floatBinary(F) {
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    return eachElement(program, op,
                       [&](int64_t i) { return encodeFloat(format, F()(decodeFloat(format, a[i]), decodeFloat(format, b[i]))); });
  };
}
template <typename F> Meaning floatTest(F) { // (value, format)
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getOperand(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return uint64_t(F()(decodeFloat(format, a[i]), format)); });
  };
}
/// From one type to another: (bits, from, to).
template <typename F> Meaning conversion(F) {
  return [](Program &program, Operation *op) {
    Format from = formatOf(op->getOperand(0).getType()), to = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return F()(a[i], from, to) & to.mask(); });
  };
}
/// Both halves of an integer operation with two results.
template <typename F> Meaning integerPair(F) { // (a, b, width) -> pair
  return [](Program &program, Operation *op) {
    Format low = formatOf(op->getResult(0).getType()), high = formatOf(op->getResult(1).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    Tile lows(countOf(program, op), 0), highs(lows.size(), 0);
    for (int64_t i = 0; i < lows.size(); ++i) {
      std::pair<uint64_t, uint64_t> halves = F()(a[i], b[i], low.bits);
      lows.elements[i] = halves.first & low.mask();
      highs.elements[i] = halves.second & high.mask();
    }
    program.set(op->getResult(0), std::move(lows));
    program.set(op->getResult(1), std::move(highs));
    return success();
  };
}

// ---- single elements

using Wide = unsigned __int128;
using SignedWide = __int128;

uint64_t shiftLeft(uint64_t a, uint64_t b, int64_t width) {
  return b >= uint64_t(width) ? 0 : a << b;
}
uint64_t shiftRight(uint64_t a, uint64_t b, int64_t width) {
  return b >= uint64_t(width) ? 0 : a >> b;
}
int64_t shiftRightSigned(int64_t a, int64_t b, int64_t width) {
  return a >> (b < 0 || b >= width ? width - 1 : b);
}

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t ceilDivide(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}
uint64_t powerSigned(int64_t base, int64_t exponent) {
  if (exponent >= 0) return power(base, exponent);
  return base == 1 ? 1 : base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
}

// A signed zero below an unsigned one, as IEEE 754-2019 has it for both families.
double smaller(double a, double b) {
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
double larger(double a, double b) {
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
double minimumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : smaller(a, b);
}
double maximumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : larger(a, b);
}
double minimumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
}
double maximumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
}

uint64_t floatToSigned(double value, int64_t bits) {
  if (std::isnan(value)) return 0;
  double limit = std::ldexp(1.0, bits - 1);
  if (value >= limit) return (uint64_t(1) << (bits - 1)) - 1;
  if (value < -limit) return uint64_t(1) << (bits - 1);
  return uint64_t(int64_t(value));
}
uint64_t floatToUnsigned(double value, int64_t bits) {
  if (std::isnan(value) || value <= -1) return 0;
  if (value >= std::ldexp(1.0, bits)) return ~uint64_t(0);
  return uint64_t(value);
}
uint64_t integerToFloat(uint64_t magnitude, bool negative, const Format &to) {
  if (to.kind == Format::f64) return encodeFloat(to, negative ? -double(magnitude) : double(magnitude));
  return encodeFloat(to, integerAsDouble(magnitude, negative));
}
uint64_t convertFloat(uint64_t bits, const Format &from, const Format &to) {
  if (from.semantics == to.semantics) return bits;
  return encodeFloat(to, decodeFloat(from, bits));
}
double roundHalfAway(double x) {
  return std::round(x);
}
double roundHalfEven(double x) {
  return std::isfinite(x) ? x - std::remainder(x, 1.0) : x;
}

// ---- operations with attributes or several kinds of operands

LogicalResult constant(Program &program, Operation *op) {
  Attribute value = op->getAttr("value");
  auto bitsOf = [](Attribute scalar) {
    if (auto integer = dyn_cast<IntegerAttr>(scalar)) return integer.getValue().getZExtValue();
    return cast<FloatAttr>(scalar).getValue().bitcastToAPInt().getZExtValue();
  };
  if (isa<IntegerAttr, FloatAttr>(value)) {
    program.set(op->getResult(0), Tile(bitsOf(value)));
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense) return program.fail(op, "the interpreter does not know this kind of constant");
  Tile tile(dense.getNumElements(), 0);
  bool isFloat = isa<FloatType>(dense.getElementType());
  auto read = [&](auto values) {
    for (auto [to, from] : llvm::zip_equal(tile.elements, values)) {
      if constexpr (std::is_same_v<std::decay_t<decltype(from)>, APFloat>)
        to = from.bitcastToAPInt().getZExtValue();
      else
        to = from.getZExtValue();
    }
  };
  if (dense.isSplat())
    tile = Tile(dense.getNumElements(),
                isFloat ? dense.getSplatValue<APFloat>().bitcastToAPInt().getZExtValue() : dense.getSplatValue<APInt>().getZExtValue());
  else if (isFloat)
    read(dense.getValues<APFloat>());
  else
    read(dense.getValues<APInt>());
  program.set(op->getResult(0), std::move(tile));
  return success();
}

LogicalResult compareIntegers(Program &program, Operation *op) {
  int64_t bits = formatOf(op->getOperand(0).getType()).bits;
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  auto asSigned = [&](auto holds) {
    return eachElement(program, op, [&](int64_t i) { return uint64_t(holds(signExtend(a[i], bits), signExtend(b[i], bits))); });
  };
  auto asUnsigned = [&](auto holds) { return eachElement(program, op, [&](int64_t i) { return uint64_t(holds(a[i], b[i])); }); };
  switch (cast<arith::CmpIOp>(op).getPredicate()) {
  case arith::CmpIPredicate::eq: return asUnsigned(std::equal_to<>());
  case arith::CmpIPredicate::ne: return asUnsigned(std::not_equal_to<>());
  case arith::CmpIPredicate::slt: return asSigned(std::less<>());
  case arith::CmpIPredicate::sle: return asSigned(std::less_equal<>());
  case arith::CmpIPredicate::sgt: return asSigned(std::greater<>());
  case arith::CmpIPredicate::sge: return asSigned(std::greater_equal<>());
  case arith::CmpIPredicate::ult: return asUnsigned(std::less<>());
  case arith::CmpIPredicate::ule: return asUnsigned(std::less_equal<>());
  case arith::CmpIPredicate::ugt: return asUnsigned(std::greater<>());
  case arith::CmpIPredicate::uge: return asUnsigned(std::greater_equal<>());
  }
  return failure();
}

LogicalResult compareFloats(Program &program, Operation *op) {
  Format format = formatOf(op->getOperand(0).getType());
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  // A predicate is a set of outcomes; every one of the sixteen is a choice among these four.
  enum Outcome { less = 1, equal = 2, greater = 4, unordered = 8 };
  int64_t accepted = 0;
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case arith::CmpFPredicate::AlwaysFalse: accepted = 0; break;
  case arith::CmpFPredicate::OEQ: accepted = equal; break;
  case arith::CmpFPredicate::OGT: accepted = greater; break;
  case arith::CmpFPredicate::OGE: accepted = greater | equal; break;
  case arith::CmpFPredicate::OLT: accepted = less; break;
  case arith::CmpFPredicate::OLE: accepted = less | equal; break;
  case arith::CmpFPredicate::ONE: accepted = less | greater; break;
  case arith::CmpFPredicate::ORD: accepted = less | equal | greater; break;
  case arith::CmpFPredicate::UEQ: accepted = unordered | equal; break;
  case arith::CmpFPredicate::UGT: accepted = unordered | greater; break;
  case arith::CmpFPredicate::UGE: accepted = unordered | greater | equal; break;
  case arith::CmpFPredicate::ULT: accepted = unordered | less; break;
  case arith::CmpFPredicate::ULE: accepted = unordered | less | equal; break;
  case arith::CmpFPredicate::UNE: accepted = unordered | less | greater; break;
  case arith::CmpFPredicate::UNO: accepted = unordered; break;
  case arith::CmpFPredicate::AlwaysTrue: accepted = unordered | less | equal | greater; break;
  }
  return eachElement(program, op, [&](int64_t i) {
    double x = decodeFloat(format, a[i]), y = decodeFloat(format, b[i]);
    int64_t outcome = x < y ? less : x == y ? equal : x > y ? greater : unordered;
    return uint64_t((outcome & accepted) != 0);
  });
}

LogicalResult select(Program &program, Operation *op) {
  const Tile &condition = program.get(op->getOperand(0));
  if (condition.size() == 1) { // also between block pointers and whole tiles
    Tile chosen = program.get(op->getOperand(condition.scalar() ? 1 : 2));
    int64_t count = countOf(program, op);
    if (chosen.size() == 1 && count > 1) chosen = Tile(count, chosen.scalar());
    program.set(op->getResult(0), std::move(chosen));
    return success();
  }
  Reader c(program, op->getOperand(0)), a(program, op->getOperand(1)), b(program, op->getOperand(2));
  return eachElement(program, op, [&](int64_t i) { return c[i] ? a[i] : b[i]; });
}

LogicalResult fusedMultiplyAdd(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1)), c(program, op->getOperand(2));
  return eachElement(program, op, [&](int64_t i) -> uint64_t {
    double x = decodeFloat(format, a[i]), y = decodeFloat(format, b[i]), z = decodeFloat(format, c[i]);
    if (format.kind == Format::f64) return llvm::bit_cast<uint64_t>(std::fma(x, y, z));
    if (format.kind == Format::f32) return llvm::bit_cast<uint32_t>(std::fmaf(float(x), float(y), float(z)));
    llvm::APFloat value(*format.semantics, llvm::APInt(format.bits, a[i])); // a double's fma would round twice
    value.fusedMultiplyAdd(llvm::APFloat(*format.semantics, llvm::APInt(format.bits, b[i])),
                           llvm::APFloat(*format.semantics, llvm::APInt(format.bits, c[i])), llvm::APFloat::rmNearestTiesToEven);
    return value.bitcastToAPInt().getZExtValue();
  });
}

LogicalResult clamp(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  auto ttClamp = dyn_cast<tt::ClampFOp>(op);
  bool keepNan = ttClamp && ttClamp.getPropagateNan() == tt::PropagateNan::ALL;
  Reader x(program, op->getOperand(0)), low(program, op->getOperand(1)), high(program, op->getOperand(2));
  return eachElement(program, op, [&](int64_t i) {
    double value = decodeFloat(format, x[i]);
    if (keepNan && std::isnan(value)) return x[i];
    return encodeFloat(format, minimumDroppingNan(maximumDroppingNan(value, decodeFloat(format, low[i])), decodeFloat(format, high[i])));
  });
}

LogicalResult nextAfter(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  if (format.kind != Format::f32 && format.kind != Format::f64) return program.fail(op, "nextafter is known for f32 and f64 only");
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  return eachElement(program, op, [&](int64_t i) {
    double x = decodeFloat(format, a[i]), y = decodeFloat(format, b[i]);
    return encodeFloat(format, format.kind == Format::f32 ? std::nextafterf(float(x), float(y)) : std::nextafter(x, y));
  });
}

LogicalResult sincos(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  Reader a(program, op->getOperand(0));
  Tile sines(countOf(program, op), 0), cosines(sines.size(), 0);
  for (int64_t i = 0; i < sines.size(); ++i) {
    double x = decodeFloat(format, a[i]);
    sines.elements[i] = encodeFloat(format, std::sin(x));
    cosines.elements[i] = encodeFloat(format, std::cos(x));
  }
  program.set(op->getResult(0), std::move(sines));
  program.set(op->getResult(1), std::move(cosines));
  return success();
}

LogicalResult floatToIntegerPower(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  int64_t exponentBits = formatOf(op->getOperand(1).getType()).bits;
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  return eachElement(program, op, [&](int64_t i) {
    return encodeFloat(format, std::pow(decodeFloat(format, a[i]), double(signExtend(b[i], exponentBits))));
  });
}

LogicalResult floatToFloat(Program &program, Operation *op) {
  Format from = formatOf(op->getOperand(0).getType()), to = formatOf(op->getResult(0).getType());
  bool towardZero = cast<tt::FpToFpOp>(op).getRounding() == tt::RoundingMode::RTZ;
  Reader a(program, op->getOperand(0));
  return eachElement(program, op,
                     [&](int64_t i) { return towardZero ? encodeTowardZero(to, decodeFloat(from, a[i])) : convertFloat(a[i], from, to); });
}

LogicalResult truncateFloat(Program &program, Operation *op) {
  Format from = formatOf(op->getOperand(0).getType()), to = formatOf(op->getResult(0).getType());
  auto mode = cast<arith::TruncFOp>(op).getRoundingmode();
  if (mode && *mode != arith::RoundingMode::to_nearest_even && *mode != arith::RoundingMode::toward_zero)
    return program.fail(op, "the interpreter knows only rounding to nearest even and toward zero");
  bool towardZero = mode == arith::RoundingMode::toward_zero;
  Reader a(program, op->getOperand(0));
  return eachElement(program, op,
                     [&](int64_t i) { return towardZero ? encodeTowardZero(to, decodeFloat(from, a[i])) : convertFloat(a[i], from, to); });
}

LogicalResult addPointer(Program &program, Operation *op) {
  Format offsets = formatOf(op->getOperand(1).getType());
  int64_t bytes = formatOf(cast<tt::PointerType>(getElementTypeOrSelf(op->getOperand(0).getType())).getPointeeType()).bytes;
  Reader pointer(program, op->getOperand(0)), offset(program, op->getOperand(1));
  return eachElement(program, op,
                     [&](int64_t i) { return program.launch.moved(pointer[i], uint64_t(signExtend(offset[i], offsets.bits)) * bytes); });
}

LogicalResult pointerToInteger(Program &program, Operation *op) {
  Reader pointer(program, op->getOperand(0));
  Format to = formatOf(op->getResult(0).getType());
  return eachElement(program, op, [&](int64_t i) { return program.launch.addressOf(pointer[i]) & to.mask(); });
}

Meaning findRow(StringRef name);

/// A function of libdevice or a C math library by its symbol: `__nv_sinf`, `__nv_sin` and `sinf` mean what math.sin means, and so on.
LogicalResult externElementwise(Program &program, Operation *op) {
  StringRef symbol = cast<tt::ExternElementwiseOp>(op).getSymbol();
  StringRef name = symbol;
  name.consume_front("__nv_");
  name.consume_front("fast_");
  Meaning meaning = findRow(("extern." + name).str());
  if (!meaning) meaning = findRow(("math." + name).str());
  if (!meaning && name.consume_back("f")) {
    meaning = findRow(("extern." + name).str());
    if (!meaning) meaning = findRow(("math." + name).str());
  }
  if (!meaning) return program.fail(op, "the interpreter does not know the library function '" + symbol + "'");
  return meaning(program, op);
}

// ---- the table

#define FLOAT1(expression) floatUnary([](double x) -> double { return expression; })
#define FLOAT2(expression) floatBinary([](double x, double y) -> double { return expression; })

Meaning findRow(StringRef name) {
  // The result of the library's may be narrower than the operand.
  const Meaning countLeadingZeros =
      conversion([](uint64_t a, const Format &from, const Format &) { return uint64_t(llvm::countl_zero(a) - (64 - from.bits)); });
  const Meaning countOnes = conversion([](uint64_t a, const Format &, const Format &) { return uint64_t(llvm::popcount(a)); });
  static const llvm::StringMap<Meaning> table = {
      // integers
      {"arith.constant", constant},
      {"arith.addi", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a + b; })},
      {"arith.subi", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a - b; })},
      {"arith.muli", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a * b; })},
      {"arith.andi", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a & b; })},
      {"arith.ori", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a | b; })},
      {"arith.xori", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return a ^ b; })},
      {"arith.shli", unsignedBinary([](uint64_t a, uint64_t b, int64_t width) { return shiftLeft(a, b, width); })},
      {"arith.shrui", unsignedBinary([](uint64_t a, uint64_t b, int64_t width) { return shiftRight(a, b, width); })},
      {"arith.shrsi", signedBinary([](int64_t a, int64_t b, int64_t width) { return shiftRightSigned(a, b, width); })},
      {"arith.minui", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return std::min(a, b); })},
      {"arith.maxui", unsignedBinary([](uint64_t a, uint64_t b, int64_t) { return std::max(a, b); })},
      {"arith.minsi", signedBinary([](int64_t a, int64_t b, int64_t) { return std::min(a, b); })},
      {"arith.maxsi", signedBinary([](int64_t a, int64_t b, int64_t) { return std::max(a, b); })},
      {"arith.divsi", signedDivision([](int64_t a, int64_t b) { return a / b; })},
      {"arith.floordivsi", signedDivision([](int64_t a, int64_t b) { return floorDivide(a, b); })},
      {"arith.ceildivsi", signedDivision([](int64_t a, int64_t b) { return ceilDivide(a, b); })},
      {"arith.divui", unsignedDivision([](uint64_t a, uint64_t b) { return a / b; })},
      {"arith.ceildivui", unsignedDivision([](uint64_t a, uint64_t b) { return a / b + (a % b != 0); })},
      {"arith.remsi", signedRemainder},
      {"arith.remui", unsignedRemainder},
      {"tt.mulhiui", unsignedBinary([](uint64_t a, uint64_t b, int64_t width) { return uint64_t(Wide(a) * b >> width); })},
      {"arith.mului_extended", integerPair([](uint64_t a, uint64_t b, int64_t width) {
         Wide product = Wide(a) * b;
         return std::pair(uint64_t(product), uint64_t(product >> width));
       })},
      {"arith.mulsi_extended", integerPair([](uint64_t a, uint64_t b, int64_t width) {
         SignedWide product = SignedWide(signExtend(a, width)) * signExtend(b, width);
         return std::pair(uint64_t(product), uint64_t(product >> width));
       })},
      {"arith.addui_extended", integerPair([](uint64_t a, uint64_t b, int64_t width) {
         Wide sum = Wide(a) + b;
         return std::pair(uint64_t(sum), uint64_t(sum >> width));
       })},
      {"math.absi", integerUnary([](uint64_t a, int64_t width) { return signExtend(a, width) < 0 ? -a : a; })},
      {"math.ctlz", integerUnary([](uint64_t a, int64_t width) { return llvm::countl_zero(a) - (64 - width); })},
      {"math.cttz", integerUnary([](uint64_t a, int64_t width) { return std::min<int64_t>(llvm::countr_zero(a), width); })},
      {"math.ctpop", integerUnary([](uint64_t a, int64_t) { return llvm::popcount(a); })},
      {"math.ipowi", signedBinary([](int64_t a, int64_t b, int64_t) { return powerSigned(a, b); })},
      {"arith.cmpi", compareIntegers},
      {"arith.select", select},

      // floats
      {"arith.addf", FLOAT2(x + y)},
      {"arith.subf", FLOAT2(x - y)},
      {"arith.mulf", FLOAT2(x * y)},
      {"arith.divf", FLOAT2(x / y)},
      {"tt.precise_divf", FLOAT2(x / y)},
      {"arith.remf", FLOAT2(std::fmod(x, y))},
      {"arith.minimumf", FLOAT2(minimumKeepingNan(x, y))},
      {"arith.maximumf", FLOAT2(maximumKeepingNan(x, y))},
      {"arith.minnumf", FLOAT2(minimumDroppingNan(x, y))},
      {"arith.maxnumf", FLOAT2(maximumDroppingNan(x, y))},
      {"arith.negf", integerUnary([](uint64_t a, int64_t width) { return a ^ uint64_t(1) << (width - 1); })},
      {"math.absf", integerUnary([](uint64_t a, int64_t width) { return a & ~(uint64_t(1) << (width - 1)); })},
      {"math.copysign", unsignedBinary([](uint64_t a, uint64_t b, int64_t width) {
         uint64_t sign = uint64_t(1) << (width - 1);
         return (a & ~sign) | (b & sign);
       })},
      {"math.fma", fusedMultiplyAdd},
      {"tt.clampf", clamp},
      {"math.clampf", clamp},
      {"arith.cmpf", compareFloats},
      {"math.isnan", floatTest([](double x, const Format &) { return std::isnan(x); })},
      {"math.isinf", floatTest([](double x, const Format &) { return std::isinf(x); })},
      {"math.isfinite", floatTest([](double x, const Format &) { return std::isfinite(x); })},
      {"math.isnormal",
       floatTest([](double x, const Format &format) { return std::isfinite(x) && std::fabs(x) >= std::ldexp(1.0, format.minExponent); })},
      {"math.sqrt", FLOAT1(std::sqrt(x))},
      {"tt.precise_sqrt", FLOAT1(std::sqrt(x))},
      {"math.rsqrt", FLOAT1(1.0 / std::sqrt(x))},
      {"math.cbrt", FLOAT1(std::cbrt(x))},
      {"math.exp", FLOAT1(std::exp(x))},
      {"math.exp2", FLOAT1(std::exp2(x))},
      {"math.expm1", FLOAT1(std::expm1(x))},
      {"math.log", FLOAT1(std::log(x))},
      {"math.log2", FLOAT1(std::log2(x))},
      {"math.log10", FLOAT1(std::log10(x))},
      {"math.log1p", FLOAT1(std::log1p(x))},
      {"math.sin", FLOAT1(std::sin(x))},
      {"math.cos", FLOAT1(std::cos(x))},
      {"math.tan", FLOAT1(std::tan(x))},
      {"math.asin", FLOAT1(std::asin(x))},
      {"math.acos", FLOAT1(std::acos(x))},
      {"math.atan", FLOAT1(std::atan(x))},
      {"math.atan2", FLOAT2(std::atan2(x, y))},
      {"math.sinh", FLOAT1(std::sinh(x))},
      {"math.cosh", FLOAT1(std::cosh(x))},
      {"math.tanh", FLOAT1(std::tanh(x))},
      {"math.asinh", FLOAT1(std::asinh(x))},
      {"math.acosh", FLOAT1(std::acosh(x))},
      {"math.atanh", FLOAT1(std::atanh(x))},
      {"math.erf", FLOAT1(std::erf(x))},
      {"math.erfc", FLOAT1(std::erfc(x))},
      {"math.powf", FLOAT2(std::pow(x, y))},
      {"math.floor", FLOAT1(std::floor(x))},
      {"math.ceil", FLOAT1(std::ceil(x))},
      {"math.trunc", FLOAT1(std::trunc(x))},
      {"math.round", FLOAT1(roundHalfAway(x))},
      {"math.roundeven", FLOAT1(roundHalfEven(x))},
      {"math.sincos", sincos},
      {"math.fpowi", floatToIntegerPower},

      // conversions
      {"arith.extui", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"arith.extsi", conversion([](uint64_t a, const Format &from, const Format &) { return uint64_t(signExtend(a, from.bits)); })},
      {"arith.trunci", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"arith.index_cast", conversion([](uint64_t a, const Format &from, const Format &) { return uint64_t(signExtend(a, from.bits)); })},
      {"arith.index_castui", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"arith.bitcast", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"tt.bitcast", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"tt.ptr_to_int", pointerToInteger},
      {"tt.int_to_ptr", conversion([](uint64_t a, const Format &, const Format &) { return a; })},
      {"arith.extf", conversion([](uint64_t a, const Format &from, const Format &to) { return convertFloat(a, from, to); })},
      {"arith.truncf", truncateFloat},
      {"tt.fp_to_fp", floatToFloat},
      {"arith.sitofp", conversion([](uint64_t a, const Format &from, const Format &to) {
         int64_t value = signExtend(a, from.bits);
         return integerToFloat(value < 0 ? -uint64_t(value) : uint64_t(value), value < 0, to);
       })},
      {"arith.uitofp", conversion([](uint64_t a, const Format &, const Format &to) { return integerToFloat(a, false, to); })},
      {"arith.fptosi",
       conversion([](uint64_t a, const Format &from, const Format &to) { return floatToSigned(decodeFloat(from, a), to.bits); })},
      {"arith.fptoui",
       conversion([](uint64_t a, const Format &from, const Format &to) { return floatToUnsigned(decodeFloat(from, a), to.bits); })},
      {"tt.addptr", addPointer},
      {"tt.extern_elementwise", externElementwise},

      // library functions whose names differ from those of the math dialect, or that it lacks
      {"extern.fabs", FLOAT1(std::fabs(x))},
      {"extern.abs", integerUnary([](uint64_t a, int64_t width) { return signExtend(a, width) < 0 ? -a : a; })},
      {"extern.llabs", integerUnary([](uint64_t a, int64_t width) { return signExtend(a, width) < 0 ? -a : a; })},
      {"extern.pow", FLOAT2(std::pow(x, y))},
      {"extern.fmod", FLOAT2(std::fmod(x, y))},
      {"extern.remainder", FLOAT2(std::remainder(x, y))},
      {"extern.fmin", FLOAT2(minimumDroppingNan(x, y))},
      {"extern.fmax", FLOAT2(maximumDroppingNan(x, y))},
      {"extern.fdim", FLOAT2(std::fdim(x, y))},
      {"extern.hypot", FLOAT2(std::hypot(x, y))},
      {"extern.nextafter", nextAfter},
      {"extern.fdivide", FLOAT2(x / y)},
      {"extern.fdiv_rn", FLOAT2(x / y)},
      {"extern.ddiv_rn", FLOAT2(x / y)},
      {"extern.fsqrt_rn", FLOAT1(std::sqrt(x))},
      {"extern.dsqrt_rn", FLOAT1(std::sqrt(x))},
      {"extern.frcp_rn", FLOAT1(1.0 / x)},
      {"extern.drcp_rn", FLOAT1(1.0 / x)},
      {"extern.exp10", FLOAT1(std::pow(10.0, x))},
      {"extern.rint", FLOAT1(roundHalfEven(x))},
      {"extern.nearbyint", FLOAT1(roundHalfEven(x))},
      {"extern.rcbrt", FLOAT1(1.0 / std::cbrt(x))},
      {"extern.sinpi", FLOAT1(std::sin(M_PI * std::fmod(x, 2.0)))},
      {"extern.cospi", FLOAT1(std::cos(M_PI * std::fmod(x, 2.0)))},
      {"extern.tgamma", FLOAT1(std::tgamma(x))},
      {"extern.lgamma", FLOAT1(std::lgamma(x))},
      {"extern.j0", FLOAT1(::j0(x))},
      {"extern.j1", FLOAT1(::j1(x))},
      {"extern.y0", FLOAT1(::y0(x))},
      {"extern.y1", FLOAT1(::y1(x))},
      {"extern.clz", countLeadingZeros},
      {"extern.clzll", countLeadingZeros},
      {"extern.popc", countOnes},
      {"extern.popcll", countOnes},
  };
  return table.lookup(name);
}

} // namespace

Meaning findElementwise(StringRef name) {
  return name.starts_with("extern.") ? nullptr : findRow(name);
}

} // namespace tilewright::interp
