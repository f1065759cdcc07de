// The range of a float value, as far as its own operations show it. Conversions to integers ask: where the range fits the integer type,
// nothing has to be clamped.
//     clamp(x, -128, 127)            [-128, 127], never NaN
//     sitofp of i8                   [-128, 127], never NaN
//     a load, an argument            what the type holds, maybe NaN
#pragma once

#include "mlir/IR/Value.h"

namespace tilewright {

/// Bounds of the elements that are not NaN, both inclusive, and whether an element may be NaN. Infinite bounds are possible.
struct FloatRange {
  double low, high;
  bool maybeNan;
};

/// The range of a float scalar or of all elements of a float tile. Follows at most eight operations.
FloatRange floatRange(mlir::Value value);

/// What a conversion of floats to integers of `bits` bits must do for numbers outside of the integer type's range: the result is the
/// nearest integer of the type, and 0 for NaN. All false: the plain instruction is right.
struct IntegerBounds {
  bool clampsLow, clampsHigh, checksNan;
};

IntegerBounds neededBounds(const FloatRange &range, int64_t bits, bool isSigned);

} // namespace tilewright
