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
  arith::CmpIPredicate predicate = cast<arith::CmpIOp>(op).getPredicate();
  int64_t bits = formatOf(op->getOperand(0).getType()).bits;
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  uint8_t accepted = acceptedBy(predicate);
  if (isUnsigned(predicate)) return eachElement(program, op, [&](int64_t i) { return uint64_t((outcomeOf(a[i], b[i]) & accepted) != 0); });
  return eachElement(program, op,
                     [&](int64_t i) { return uint64_t((outcomeOf(signExtend(a[i], bits), signExtend(b[i], bits)) & accepted) != 0); });
}

LogicalResult compareFloats(Program &program, Operation *op) {
  Format format = formatOf(op->getOperand(0).getType());
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1));
  uint8_t accepted = acceptedBy(cast<arith::CmpFOp>(op).getPredicate());
  return eachElement(
      program, op, [&](int64_t i) { return uint64_t((outcomeOf(decodeFloat(format, a[i]), decodeFloat(format, b[i])) & accepted) != 0); });
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

LogicalResult multiplyAdd(Program &program, Operation *op) {
  Format format = formatOf(op->getResult(0).getType());
  Reader a(program, op->getOperand(0)), b(program, op->getOperand(1)), c(program, op->getOperand(2));
  return eachElement(program, op, [&](int64_t i) { return fusedMultiplyAdd(format, a[i], b[i], c[i]); });
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
  table["math.fma"] = multiplyAdd;
  table["tt.clampf"] = clamp;
  table["tt.addptr"] = addPointer;
  table["tt.ptr_to_int"] = pointerToInteger;
  table["tt.extern_elementwise"] = externElementwise;
  table["tt.fp_to_fp"] = floatToFloat;
  table["arith.truncf"] = truncateFloat;
}

/// True for zero and NaN of a format that has a single zero and a single NaN, zero with a sign (FNUZ): they have no other sign.
bool hasNoSign(uint64_t a, const Format &format) {
  uint64_t sign = uint64_t(1) << (format.bits - 1);
  return (a & ~sign) == 0 && std::isnan(decodeFloat(format, sign));
}

void addConversions(Table &table) {
  table["math.absf"] = conversion(
      [](uint64_t a, const Format &from, const Format &) { return hasNoSign(a, from) ? a : a & ~(uint64_t(1) << (from.bits - 1)); });
  table["arith.negf"] = conversion(
      [](uint64_t a, const Format &from, const Format &) { return hasNoSign(a, from) ? a : a ^ uint64_t(1) << (from.bits - 1); });
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
