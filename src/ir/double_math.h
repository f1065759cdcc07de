// Functions of f64 in terms of its arithmetic, for targets without instructions or a library for them.
#pragma once

#include "ir/float_math.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright::floats {

/// The instructions of f64 that a target must have.
struct DoubleInstructions {
  FusedMultiplyAdd fused;
  Value (*sqrt)(ImplicitLocOpBuilder &b, Value x);     ///< correctly rounded
  Value (*truncate)(ImplicitLocOpBuilder &b, Value x); ///< to a whole number
};

/// The function that libm calls `name` ("exp", "atan2"), of f64 scalars; null if it is not implemented here. Most are within 2 ULP. All
/// are within 4 ULP, except hypot of extremes and pow with large exponents.
Value doubleFunction(ImplicitLocOpBuilder &b, const DoubleInstructions &instructions, llvm::StringRef name, mlir::ValueRange operands);

} // namespace tilewright::floats
