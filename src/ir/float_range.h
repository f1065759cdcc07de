// The range of a float value, derived from its operations. Conversions to integers use it: if the range fits the integer type, they need no
// clamp.
//     clamp(x, -128, 127)            [-128, 127], never NaN
//     sitofp of i8                   [-128, 127], never NaN
//     a load, an argument            all values of the type, maybe NaN
#pragma once

#include "mlir/IR/Value.h"

namespace tilewright {

/// Inclusive bounds of the elements that are not NaN, and a flag for NaN. Infinite bounds are possible.
struct FloatRange {
  double low, high;
  bool maybeNan;
};

/// Returns the range of a float scalar or of all elements of a float tile. Follows at most eight operations.
FloatRange floatRange(mlir::Value value);

/// The special cases of a conversion of floats to integers of `bits` bits. A number outside of the integer type's range gives the nearest
/// integer of the type, and NaN gives 0. If all flags are false, the plain instruction is right.
struct IntegerBounds {
  bool clampsLow, clampsHigh, checksNan;
};

IntegerBounds neededBounds(const FloatRange &range, int64_t bits, bool isSigned);

} // namespace tilewright
