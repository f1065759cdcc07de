// Functions and formats of floats in one thread.
#pragma once

#include "gpu/thread/thread_context.h"
#include "ir/single_math.h"

namespace tilewright::gpu {

/// The instructions with which ir/single_math.cpp computes on GPUs.
extern const floats::SingleInstructions singleInstructions;

/// Lowers an elementwise operation of arith.
LogicalResult lowerElementwise(ThreadContext &t, mlir::Operation *op);
/// Lowers an operation of math.
LogicalResult lowerMath(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerFloatConversion(ThreadContext &t, mlir::Operation *op, bool towardZero);
ThreadValues convertFloats(ThreadContext &t, const ThreadValues &values, Type from, Type to, bool towardZero);
/// True for an 8-bit float.
bool isByteFloat(Type element);
/// Computes in f32 what has operands or a result of 8-bit floats, element by element, and rounds a result of such a format to nearest even.
LogicalResult lowerByteFloats(ThreadContext &t, mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> compute);
ThreadValues upcastBytes(ThreadContext &t, const ThreadValues &bytes, Type format); // to f32
/// The function that libm calls `name`, of floats of 16 to 64 bits; null if it is not known.
Value mathFunction(ThreadContext &t, llvm::StringRef name, mlir::ValueRange operands);

} // namespace tilewright::gpu
