// Functions of f64 in terms of its arithmetic. The chip only has instructions for a few functions of f32; the others are computed here.
// Rarely used functions of f32 are computed here as well: they need only one rounding at the end, and no special care for large arguments.
#pragma once

#include "ir/float_math.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::gpu {

using mlir::ImplicitLocOpBuilder;
using mlir::Value;

/// a * b + c, rounded once.
Value fusedMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value y, Value z);

/// The function that libm calls `name` ("exp", "atan2"), of f64 scalars; null if there is none here. Within 2 ULP for most, 4 for all but
/// hypot of extremes and pow of large exponents. `shortResult`: the result is rounded to f32, and series may end there.
Value doubleFunction(ImplicitLocOpBuilder &b, llvm::StringRef name, mlir::ValueRange operands, bool shortResult);
/// How many operands the function takes; null if doubleFunction does not know it.
std::optional<int64_t> doubleFunctionOperands(llvm::StringRef name);

} // namespace tilewright::gpu
