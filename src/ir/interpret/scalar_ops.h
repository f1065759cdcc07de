// The meaning of operations on single elements, for the interpreter and for the simulator of GPUs: comparisons, conversions between
// integers and floats, and functions for the rows of scalar_ops.def (minima and maxima in which -0 is less than +0).
#pragma once

#include "ir/interpret/program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace tilewright::interp {

inline double smaller(double a, double b) {
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
inline double larger(double a, double b) {
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
inline double minimumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : smaller(a, b);
}
inline double maximumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : larger(a, b);
}
inline double minimumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
}
inline double maximumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
}

// ---- comparisons

/// The outcomes of a comparison. A predicate is the set of those that it accepts.
enum Outcome : uint8_t { less = 1, equal = 2, greater = 4, unordered = 8 };
uint8_t acceptedBy(mlir::arith::CmpIPredicate predicate);
uint8_t acceptedBy(mlir::arith::CmpFPredicate predicate);
/// True if the predicate compares integers as unsigned. Equality has no sign.
bool isUnsigned(mlir::arith::CmpIPredicate predicate);
template <typename Number> Outcome outcomeOf(Number a, Number b) {
  return a < b ? less : a == b ? equal : a > b ? greater : unordered;
}

// ---- conversions, toward zero and saturating; NaN becomes 0

uint64_t floatToSigned(double value, int64_t bits);
uint64_t floatToUnsigned(double value, int64_t bits);
/// Rounds once.
uint64_t integerToFloat(uint64_t magnitude, bool negative, const Format &to);

/// Returns x * y + z, rounded once.
uint64_t fusedMultiplyAdd(const Format &format, uint64_t x, uint64_t y, uint64_t z);

} // namespace tilewright::interp
