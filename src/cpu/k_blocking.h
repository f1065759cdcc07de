// K-blocking across iterations: with a small BLOCK_K, several iterations are packed and multiplied in one micro-kernel call.
//
//   for k in range(0, K, 32):        without: each iteration reads and writes all sums (64 KiB for 128 x 128) for 32 multiply-adds per sum
//     acc += A B                     with: each iteration appends its B to the packed panels; every eighth multiplies 256 along K
//
// A BLOCK_K of 32 or 64 suits a GPU, where sums stay in registers for the whole loop. On a CPU a block of sums stays in registers only
// during one micro-kernel call. Delaying a dot is legal if its sum is only carried to the next iteration and the loop has no side effects.
// B is packed, and A copied, in their own iteration. If A is read in memory, its rows must continue those of the previous iteration. A
// run-time check compares the addresses and multiplies the pending block first if they do not.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Returns how many iterations of the loop around `dot` are multiplied together; 1: no K-blocking. `c`: the buffer of the sum.
int64_t iterationsTogether(Context &ctx, tt::DotOp dot, const DotPlan &plan, const Buffer &c, const DotLimits &limits);

/// One iteration of a loop with K-blocking.
struct BlockedIteration {
  Value first;     // i64: start of its part of K, in elements from the loop's first iteration
  Value within;    // i64: the same, from the first iteration of the pending block
  Value isFlushed; // i1: the pending block is multiplied in this iteration
};

/// Describes the iteration that is being emitted.
BlockedIteration iterationOf(Context &ctx, tt::DotOp dot, const DotPlan &plan);

/// A as the micro-kernel reads it.
struct OperandA {
  Value base;     // of the first element
  Value rowBytes; // i64; null: given by the plan
  int64_t step;   // bytes, along K
};

/// A range of K, of one iteration or several, that is multiplied in one call.
struct BlockRange {
  OperandA a;
  Value within;     // i64: its start, as in BlockedIteration
  DotLimits limits; // its length, and the rows and columns that are needed
  Value isFirst;    // i1: it begins with the loop's first iteration
  Value isOld;      // i1: this iteration is not part of it
};

/// Appends the iteration to the pending block, and emits a loop over the ranges that are multiplied now; `multiply` is called once.
void multiplyPendingBlock(Context &ctx, const BlockedIteration &iteration, const DotPlan &plan, const OperandA &a, const DotLimits &limits,
                          llvm::function_ref<void(const BlockRange &)> multiply);

} // namespace tilewright::cpu
