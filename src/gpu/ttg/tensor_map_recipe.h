// How the launcher makes the tensor maps of a kernel.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::ttg {

/// Returns the recipe of a tensor map that is an argument of a kernel; null if the value is none, or has no recipe.
TensorMapAttr tensorMapOf(mlir::Value map);

} // namespace tilewright::ttg
