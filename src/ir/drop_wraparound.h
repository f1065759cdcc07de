// See passes/drop_wraparound.cpp.
#pragma once

#include "ir/address/indices.h"

#include <vector>

namespace tilewright {

/// Whether an operation that this library does not know leaves what lies at one place along a dimension of its tile at the same place of
/// its result.
using KeepsLine = llvm::function_ref<bool(mlir::Operation *, int64_t dim)>;

/// A product's rows may be loaded at index % M, where those from M on are never stored: the modulo becomes a mask, which keeps addresses
/// affine. May rely on facts about launches that are not refuted; returns those that it has relied on.
std::vector<LaunchFact> dropWraparound(tt::FuncOp function, const address::RefutedFacts &refuted, KeepsLine keepsLine);

} // namespace tilewright
