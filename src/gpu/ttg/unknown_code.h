// Operations with the author's code, which the compiler does not analyze: assembly and functions of libraries.
#pragma once

#include "ir/tt.h"

namespace tilewright::ttg {

/// True if the operation may access any memory: code that is not pure. Of assembly, only if it contains an address, which PTX encloses in
/// brackets. Timers and waits for other kernels do not.
bool mayAccessAnyMemory(mlir::Operation *op);

/// True if the operation may depend on how many warps and CTAs a program has: assembly with a special register (%ntid, %ctaid) or a
/// barrier, or assembly that is not pure.
bool mayDependOnLaunch(mlir::Operation *op);

} // namespace tilewright::ttg
