// Functions of f32 for GPUs, whose approximations of 2^x, log2 x, 1/x and the square root are fast. All arithmetic is in f32.
#pragma once

#include "ir/float_math.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright::floats {

/// Instructions that approximate a function of f32 to about one ULP (exp2: two). They take subnormal arguments for zeros and return zeros
/// for subnormal results.
enum class Approximation { exp2, log2, reciprocal, sqrt };

/// The instructions of f32 that a target must have.
struct SingleInstructions {
  FusedMultiplyAdd fused;
  Value (*approximate)(ImplicitLocOpBuilder &b, Approximation function, Value x);
};

/// The function that libm calls `name` ("exp", "atan2"), of f32 scalars; null if it is not implemented here. docs/libdevice.md has the
/// maximum errors.
Value singleFunction(ImplicitLocOpBuilder &b, const SingleInstructions &instructions, llvm::StringRef name, mlir::ValueRange operands);

} // namespace tilewright::floats
