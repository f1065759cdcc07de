// See passes/modulo_to_mask.cpp.
#pragma once

#include "ir/address/indices.h"

#include <vector>

namespace tilewright {

/// True if an operation of another dialect keeps the position of each element along a dimension.
using KeepsPosition = llvm::function_ref<bool(mlir::Operation *, int64_t dim)>;

/// Replaces a modulo in addresses by a mask: rows of a dot are loaded at index % M, and rows from M on are never stored. Then addresses are
/// affine. Returns the assumptions that this relies on. Does not assume what `failedGuards` contains.
std::vector<LaunchGuard> moduloToMask(tt::FuncOp function, const address::FailedGuards &failedGuards, const GridLimits &limits,
                                      KeepsPosition keepsPosition);

} // namespace tilewright
