// See float_range.h.
#include "ir/float_range.h"

#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace tilewright {
namespace {

constexpr int64_t maxDepth = 8;

FloatRange rangeAt(Value value, int64_t depth);

/// The range of all numbers of the type.
FloatRange rangeOfType(Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  if (llvm::APFloat::semanticsHasInf(semantics)) return {-INFINITY, INFINITY, true};
  double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
  return {-largest, largest, true};
}

/// Rounds a bound to the nearest number of the type. Rounding keeps the order, so rounded values stay within rounded bounds.
double rounded(double bound, Type type) {
  llvm::APFloat number(bound);
  bool inexact;
  number.convert(cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.isNaN() ? std::copysign(INFINITY, bound) : number.convertToDouble();
}

FloatRange ofConstant(Attribute attribute, Type type) {
  FloatRange range = {INFINITY, -INFINITY, false};
  auto add = [&](const llvm::APFloat &element) {
    double number = element.convertToDouble();
    if (std::isnan(number)) {
      range.maybeNan = true;
      return;
    }
    range.low = std::min(range.low, number);
    range.high = std::max(range.high, number);
  };
  if (auto scalar = dyn_cast<FloatAttr>(attribute)) {
    add(scalar.getValue());
  } else if (auto dense = dyn_cast<DenseFPElementsAttr>(attribute); dense && dense.isSplat()) {
    add(dense.getSplatValue<llvm::APFloat>());
  } else {
    return rangeOfType(type);
  }
  return range.low > range.high ? FloatRange{0, 0, range.maybeNan} : range;
}

FloatRange ofInteger(Value integer, bool isSigned, Type type) {
  Operation *source = integer.getDefiningOp();
  if (auto wide = dyn_cast_or_null<arith::ExtSIOp>(source); wide && isSigned) return ofInteger(wide.getIn(), true, type);
  if (auto wide = dyn_cast_or_null<arith::ExtUIOp>(source)) return ofInteger(wide.getIn(), false, type);
  int bits = static_cast<int>(getElementTypeOrSelf(integer).getIntOrFloatBitWidth());
  double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0, high = std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
  return {rounded(low, type), rounded(high, type), false};
}

FloatRange joined(const FloatRange &x, const FloatRange &y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high), x.maybeNan || y.maybeNan};
}

/// The range of the larger of two numbers. If one is NaN, the result is the other one.
FloatRange largerNumber(const FloatRange &x, const FloatRange &y) {
  double low = std::max(x.low, y.low);
  if (x.maybeNan) low = y.low;
  if (y.maybeNan) low = x.maybeNan ? std::min(x.low, y.low) : x.low;
  return {low, std::max(x.high, y.high), x.maybeNan && y.maybeNan};
}

FloatRange negated(const FloatRange &x) {
  return {-x.high, -x.low, x.maybeNan};
}

FloatRange largerOrNan(const FloatRange &x, const FloatRange &y) {
  return {std::max(x.low, y.low), std::max(x.high, y.high), x.maybeNan || y.maybeNan};
}

FloatRange ofClamp(tt::ClampFOp clamp, int64_t depth) {
  FloatRange x = rangeAt(clamp.getX(), depth), low = rangeAt(clamp.getMin(), depth), high = rangeAt(clamp.getMax(), depth);
  if (clamp.getPropagateNan() == tt::PropagateNan::ALL) return negated(largerOrNan(negated(largerOrNan(x, low)), negated(high)));
  return negated(largerNumber(negated(largerNumber(x, low)), negated(high)));
}

FloatRange rangeAt(Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  Type type = value.getType();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) return ofConstant(constant, type);
  if (!op || depth == 0) return rangeOfType(type);
  auto at = [&](int64_t operand) { return rangeAt(op->getOperand(operand), depth - 1); };
  auto mapped = [&](double (*function)(double)) {
    FloatRange x = at(0);
    return FloatRange{function(x.low), function(x.high), x.maybeNan};
  };
  return llvm::TypeSwitch<Operation *, FloatRange>(op)
      .Case([&](arith::SIToFPOp convert) { return ofInteger(convert.getIn(), true, type); })
      .Case([&](arith::UIToFPOp convert) { return ofInteger(convert.getIn(), false, type); })
      .Case<arith::ExtFOp>([&](auto) { return at(0); })
      .Case<arith::TruncFOp>([&](auto) {
        FloatRange x = at(0);
        return FloatRange{rounded(x.low, type), rounded(x.high, type), x.maybeNan};
      })
      .Case<arith::MaxNumFOp>([&](auto) { return largerNumber(at(0), at(1)); })
      .Case<arith::MinNumFOp>([&](auto) { return negated(largerNumber(negated(at(0)), negated(at(1)))); })
      .Case<arith::MaximumFOp>([&](auto) { return largerOrNan(at(0), at(1)); })
      .Case<arith::MinimumFOp>([&](auto) { return negated(largerOrNan(negated(at(0)), negated(at(1)))); })
      .Case<arith::NegFOp>([&](auto) { return negated(at(0)); })
      .Case<arith::SelectOp>([&](auto) { return joined(at(1), at(2)); })
      .Case([&](tt::ClampFOp clamp) { return ofClamp(clamp, depth - 1); })
      .Case<math::FloorOp>([&](auto) { return mapped(std::floor); })
      .Case<math::CeilOp>([&](auto) { return mapped(std::ceil); })
      .Case<math::TruncOp>([&](auto) { return mapped(std::trunc); })
      .Case<math::RoundEvenOp>([&](auto) { return mapped(std::nearbyint); })
      .Case<math::AbsFOp>([&](auto) {
        FloatRange x = at(0);
        double high = std::max(std::fabs(x.low), std::fabs(x.high));
        double low = x.low <= 0 && x.high >= 0 ? 0 : std::min(std::fabs(x.low), std::fabs(x.high));
        return FloatRange{low, high, x.maybeNan};
      })
      .Case<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp>([&](auto) { return at(0); })
      .Default([&](Operation *) { return rangeOfType(type); });
}

} // namespace

FloatRange floatRange(Value value) {
  return rangeAt(value, maxDepth);
}

IntegerBounds neededBounds(const FloatRange &range, int64_t bits, bool isSigned) {
  double low = isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
  double limit = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits)); // the first number above
  return {std::trunc(range.low) < low, range.high >= limit, range.maybeNan};
}

} // namespace tilewright
