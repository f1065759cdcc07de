// See passes/modulo_to_mask.cpp.
#pragma once

#include "ir/address/indices.h"

#include <vector>

namespace tilewright {

/// Whether an operation that this library does not know keeps what lies at
/// a place along a dimension of its tile at the same place in its result.
using KeepsPosition = llvm::function_ref<bool(mlir::Operation *, int64_t dim)>;

/// A product's rows may be loaded at index % M where rows from M on are never stored: the modulo becomes a mask, so
/// that addresses stay affine. Returns the facts about launches that this relies on; refuted facts are not used.
std::vector<LaunchGuard> moduloToMask(tt::FuncOp function, const address::FailedGuards &failedGuards, KeepsPosition keepsPosition);

} // namespace tilewright
