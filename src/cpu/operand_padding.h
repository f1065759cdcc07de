// Remainder handling of a dot: computes the part of its tile that is needed at the edge of a matrix.
//
//   for k: acc += A B                       257 rows are three blocks of 128; only one row of the last block is stored
//   store acc, (rows < M) & (columns < N)
//
// Elements that no store admits need not be computed, and elements along k that both operands mask off add zero. So one row more than a
// block costs a few rows, not a block.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Runs `body` with the scalars that `values` depend on computed early, even if the program computes them later; afterwards they are
/// unknown again. Returns false, without running `body`, if they cannot be computed here.
bool withScalarsOf(Context &ctx, ValueRange values, llvm::function_ref<void()> body);

DotLimits limitsOf(Context &ctx, tt::DotOp dot);

} // namespace tilewright::cpu
