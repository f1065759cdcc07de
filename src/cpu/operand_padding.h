// How much of a product's tile is needed at the edge of a matrix.
//
//   for k: acc += A B                       257 rows are three blocks of 128, and the last one has one row that is stored
//   store acc, (rows < M) & (columns < N)
//
// Elements that no store admits need not be computed, and what both operands mask
// away along k adds nothing: one row more than a block costs a few rows, not a block.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Runs `body` where the scalars that `values` are made from are known, though the program may compute them later: they do not count as
/// known afterwards. False, and nothing runs, if they cannot be computed here.
bool withScalarsOf(Context &ctx, ValueRange values, llvm::function_ref<void()> body);

DotLimits limitsOf(Context &ctx, tt::DotOp dot);

} // namespace tilewright::cpu
