// The functions of `triton` that module-level code calls to make kernels.
#pragma once

#include "evaluate/evaluate.h"

namespace tilewright {

/// "jit", "autotune", "heuristics", "Config", "constexpr_function", and "const", the annotation tl.const.
Value decoratorNamed(llvm::StringRef name);

} // namespace tilewright
