// How much arithmetic a kernel does, for the bench's TFLOP/s and the tuner's first guess.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// The operations on floats, and those of products of any type, that one execution of `op` stands for: an element of a tile counts as one
/// for each addition, multiplication, comparison for the greater, or function; a product as two for each of its terms. What is masked off
/// counts as well. Operations inside of a reduction count with it.
double arithmeticOf(mlir::Operation *op);

} // namespace tilewright
