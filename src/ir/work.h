// How much arithmetic a kernel does, for the bench's TFLOP/s and the tuner's first guess.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// The operations on floats, and those of products of any type, that one execution of `op` does: for each
/// element of a tile one for an addition, a multiplication, a maximum or minimum, or a function; for each term
/// of a product two. Masked-off elements count as well. Operations inside a reduction count as part of it.
double arithmeticOf(mlir::Operation *op);

} // namespace tilewright
