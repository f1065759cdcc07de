// Functions of f64 in terms of its arithmetic. The GPU has instructions only for a few functions of f32. Rarely used functions of f32 are
// computed in f64 as well: they only need one rounding at the end.
#pragma once

#include "ir/float_math.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::gpu {

using mlir::ImplicitLocOpBuilder;
using mlir::Value;

/// a * b + c, rounded once.
Value fusedMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value y, Value z);

/// The function that libm calls `name` ("exp", "atan2"), of f64 scalars; null if it is not implemented here. Most are within 2 ULP. All
/// are within 4 ULP, except hypot of extremes and pow with large exponents. `shortResult`: the result is rounded to f32, so series may
/// end early.
Value doubleFunction(ImplicitLocOpBuilder &b, llvm::StringRef name, mlir::ValueRange operands, bool shortResult);
/// The number of operands of the function; null if doubleFunction does not implement it.
std::optional<int64_t> doubleFunctionOperands(llvm::StringRef name);

} // namespace tilewright::gpu
