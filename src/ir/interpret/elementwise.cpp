// The meaning of operations on single elements: arith, math, some of tt, and the functions of math libraries. Each row of scalar_ops.def
// defines one operation on one element; the templates here are the loops around it. An operand with one element stands for a tile with
// equal elements, for example a constant in the region of a reduction.
#include "ir/interpret/program.h"
#include "ir/interpret/scalar_ops.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"

#include <cmath>

#pragma STDC FP_CONTRACT OFF // only fma fuses a multiplication and an addition

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

/// Reads the elements of one operand, and repeats a single element.
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

// F is a lambda without captures. Its type defines the operation, so each operation becomes a plain function.
template <typename F> Meaning integers(F) { // (a, b, width)
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    return eachElement(program, op, [&](int64_t i) { return F()(a[i], b[i], format.bits) & format.mask(); });
  };
}
/// Like integers, for one operand.
template <typename F> Meaning integer(F) { // (a, width)
  return [](Program &program, Operation *op) {
    Format from = formatOf(op->getOperand(0).getType()), to = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return F()(a[i], from.bits) & to.mask(); });
  };
}
/// Like integers, but the second operand must not be zero. In a tile, a zero divisor gives `atZero`.
template <typename F, typename G> Meaning division(F, G) { // atZero(a), result(a, b, width)
  return [](Program &program, Operation *op) {
    Format format = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
    bool zeroIsError = !isa<RankedTensorType>(op->getResult(0).getType()) || program.options.checkTileDivision;
    Tile result(countOf(program, op), 0);
    for (int64_t i = 0, count = result.size(); i < count; ++i) {
      if (b[i] == 0 && zeroIsError) return program.fail(op, "integer division by zero");
      result.elements[i] = (b[i] == 0 ? F()(a[i]) : G()(a[i], b[i], format.bits)) & format.mask();
    }
    program.set(op->getResult(0), std::move(result));
    return success();
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
/// Converts: (bits, from, to).
template <typename F> Meaning conversion(F) {
  return [](Program &program, Operation *op) {
    Format from = formatOf(op->getOperand(0).getType()), to = formatOf(op->getResult(0).getType());
    Reader a(program, op->getOperand(0));
    return eachElement(program, op, [&](int64_t i) { return F()(a[i], from, to) & to.mask(); });
  };
}

// ---- single elements

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
double roundHalfEven(double x) {
  return std::isfinite(x) ? std::copysign(x - std::remainder(x, 1.0), x) : x;
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
  if (!dense) return program.giveUp(op, "the interpreter does not support this kind of constant");
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
  // A predicate is a set of these four outcomes.
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
  if (condition.size() == 1) { // also selects block pointers and whole tiles
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
    llvm::APFloat value(*format.semantics, llvm::APInt(format.bits, a[i])); // an fma in double precision would round twice
    value.fusedMultiplyAdd(llvm::APFloat(*format.semantics, llvm::APInt(format.bits, b[i])),
                           llvm::APFloat(*format.semantics, llvm::APInt(format.bits, c[i])), llvm::APFloat::rmNearestTiesToEven);
    return value.bitcastToAPInt().getZExtValue();
  });
}

LogicalResult clamp(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  bool keepNan = cast<tt::ClampFOp>(op).getPropagateNan() == tt::PropagateNan::ALL;
  Reader x(program, op->getOperand(0)), low(program, op->getOperand(1)), high(program, op->getOperand(2));
  return eachElement(program, op, [&](int64_t i) {
    double value = decodeFloat(format, x[i]);
    if (keepNan && std::isnan(value)) return x[i];
    return encodeFloat(format, minimumDroppingNan(maximumDroppingNan(value, decodeFloat(format, low[i])), decodeFloat(format, high[i])));
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
    return program.giveUp(op, "the interpreter supports only rounding to nearest even and toward zero");
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

/// Runs a function of libdevice or a C math library by its symbol: `__nv_sinf`, `__nv_sin` and `sinf` are math.sin, and so on.
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
  if (!meaning) return program.giveUp(op, "the interpreter does not support the library function '" + symbol + "'");
  return meaning(program, op);
}

// ---- the table

using Table = llvm::StringMap<Meaning>;

#define ALL_SCALAR_OPS
#define INTEGER(NAME, RESULT)                                                                                                              \
  table[NAME] = integers([](uint64_t a, uint64_t b, int64_t bits) -> uint64_t {                                                            \
    [[maybe_unused]] int64_t sa = signExtend(a, bits), sb = signExtend(b, bits);                                                           \
    return RESULT;                                                                                                                         \
  });
#define INTEGER1(NAME, RESULT)                                                                                                             \
  table[NAME] = integer([](uint64_t a, int64_t bits) -> uint64_t {                                                                         \
    [[maybe_unused]] int64_t sa = signExtend(a, bits);                                                                                     \
    return RESULT;                                                                                                                         \
  });
#define DIVISION(NAME, AT_ZERO, RESULT)                                                                                                    \
  table[NAME] = division([]([[maybe_unused]] uint64_t a) -> uint64_t { return AT_ZERO; },                                                  \
                         [](uint64_t a, uint64_t b, int64_t bits) -> uint64_t {                                                            \
                           [[maybe_unused]] int64_t sa = signExtend(a, bits), sb = signExtend(b, bits);                                    \
                           return RESULT;                                                                                                  \
                         });
#define FLOAT(NAME, RESULT) table[NAME] = floatBinary([](double x, double y) -> double { return RESULT; });
#define FLOAT1(NAME, RESULT) table[NAME] = floatUnary([](double x) -> double { return RESULT; });

void addElements(Table &table) {
#include "ir/interpret/scalar_ops.def"
}

/// Adds the operations that have attributes, or operands of several kinds.
void addOthers(Table &table) {
  table["arith.constant"] = constant;
  table["arith.cmpi"] = compareIntegers;
  table["arith.cmpf"] = compareFloats;
  table["arith.select"] = select;
  table["math.fma"] = fusedMultiplyAdd;
  table["tt.clampf"] = clamp;
  table["tt.addptr"] = addPointer;
  table["tt.ptr_to_int"] = pointerToInteger;
  table["tt.extern_elementwise"] = externElementwise;
  table["tt.fp_to_fp"] = floatToFloat;
  table["arith.truncf"] = truncateFloat;
}

void addConversions(Table &table) {
  table["arith.extf"] = conversion([](uint64_t a, const Format &from, const Format &to) { return convertFloat(a, from, to); });
  table["arith.sitofp"] = conversion([](uint64_t a, const Format &from, const Format &to) {
    int64_t value = signExtend(a, from.bits);
    return integerToFloat(value < 0 ? -uint64_t(value) : uint64_t(value), value < 0, to);
  });
  table["arith.uitofp"] = conversion([](uint64_t a, const Format &, const Format &to) { return integerToFloat(a, false, to); });
  table["arith.fptosi"] =
      conversion([](uint64_t a, const Format &from, const Format &to) { return floatToSigned(decodeFloat(from, a), to.bits); });
  table["arith.fptoui"] =
      conversion([](uint64_t a, const Format &from, const Format &to) { return floatToUnsigned(decodeFloat(from, a), to.bits); });
}

Meaning findRow(StringRef name) {
  static const Table table = [] {
    Table made;
    for (auto *add : {addElements, addOthers, addConversions})
      add(made);
    return made;
  }();
  return table.lookup(name);
}

} // namespace

Meaning findElementwise(StringRef name) {
  return name.starts_with("extern.") ? nullptr : findRow(name);
}

} // namespace tilewright::interp
