// Products of shallow tiles are put off, and several turns of a loop are multiplied together.
//
//   for k in range(0, K, 32):        without: each turn reads and writes all sums, 64 KiB of a tile of 128 x 128, for 32 multiply-adds
//     acc += A B                     with: each turn puts its B behind that of the turn before, the eighth multiplies 256 of K
//
// Blocks of 32 or 64 along K suit a GPU, where sums stay in registers for the whole loop. Here a block of sums does so for the time of one
// product. Nothing may tell that a product is late: the sum is carried to the next turn and is not read otherwise, and the loop changes no
// memory. B is packed, and A copied, when their turn comes. Where A is read in memory its rows must go on where those of the turn
// before ended; this is compared when the program runs, and what waits is multiplied first where it is not so.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// How many turns of the loop around `dot` are multiplied together; 1: each product by itself. `c`: the place of its sum.
int64_t iterationsTogether(Context &ctx, tt::DotOp dot, const DotPlan &plan, const Buffer &c, const DotLimits &limits);

/// A turn of such a loop.
struct PendingBlock {
  Value first;  // i64: where its part of K begins, counted in elements from that of the loop's first turn
  Value within; // i64: the same, counted from that of the first turn of those that are multiplied together
  Value isDue;  // i1: they are multiplied now
};

/// The turn that is being emitted.
PendingBlock iterationOf(Context &ctx, tt::DotOp dot, const DotPlan &plan);

/// A as the micro-kernel reads it.
struct OperandA {
  Value base;     // of the first element
  Value rowBytes; // i64; null: the plan has it
  int64_t step;   // bytes, along K
};

/// A stretch of K, of one turn or several, that is multiplied now.
struct BlockRange {
  OperandA a;
  Value within;     // i64: where it begins, as in Turn
  DotLimits limits; // its length, and the rows and columns that are needed
  Value isFirst;    // i1: it begins with the loop's first turn
  Value isOld;      // i1: this turn is not a part of it
};

/// Adds the turn to those that wait, and emits a loop over what is to be multiplied now: `multiply` is called once.
void multiplyWhatIsDue(Context &ctx, const PendingBlock &iteration, const DotPlan &plan, const OperandA &a, const DotLimits &limits,
                       llvm::function_ref<void(const BlockRange &)> multiply);

} // namespace tilewright::cpu
