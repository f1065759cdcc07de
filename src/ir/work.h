// Counts the arithmetic of a kernel, for the benchmark's TFLOP/s and the tuner's initial configuration.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// Returns the number of float operations, and of operations of dots of any type, in one execution of `op`. Each element of a tile counts
/// one for an addition, a multiplication, a maximum or minimum, or a function. Each term of a dot counts two. Masked-off elements count
/// too. Operations inside a reduction count as part of it.
double arithmeticOf(mlir::Operation *op);

} // namespace tilewright
