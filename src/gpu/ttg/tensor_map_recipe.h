// How the launcher makes the tensor maps of a kernel, and what memory is written through them.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::ttg {

/// Returns the recipe of a tensor map that is an argument of a kernel; null if the value is none, or has no recipe.
TensorMapAttr tensorMapOf(mlir::Value map);
/// The pointer through which an operation writes to memory, or the argument that its tensor map describes. Null if that is not known, and
/// nothing if it writes no tensor.
std::optional<mlir::Value> writtenPointer(mlir::Operation *op);

} // namespace tilewright::ttg
