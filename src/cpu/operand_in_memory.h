// Rows of A that lie in memory as the micro-kernel reads them are not copied.
//
//   a = load(rows of A, k..k + BLOCK_K)          without: a copied to scratch, then multiplied
//   c += a * b                                   with: multiplied where it lies, at a distance of rows that the launch knows
//
// A is read once for each panel of B, and the caches keep it whether it was copied or not, so copying is saved. This needs numbers
// of the operand's type that lie side by side along K, rows at a constant distance, and masks that hold for all that is read: whole
// blocks of registers, a little more than what is needed. At the edges of a matrix, where that is not so, the program copies.
// (GFLOP/s of 512, 1024 and 2048 by 128x256x256 on one thread of a Zen 5: copied 260, 247 and 249, read in memory 265, 255 and 266.)
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

#include <optional>

namespace tilewright::cpu {

struct OperandInMemory {
  Value isReadable;     // i1: the masks hold for all that is read, and no address wraps around; null: always
  Value base, rowBytes; // i64: of the first element, and from one row to the next
  Value next;           // i64: from an element to the one that takes its place in the next iteration; null: unknown
};

/// How A of a product lies in memory. Null where it is not a load of rows.
std::optional<OperandInMemory> operandInMemory(Context &ctx, tt::DotOp op, const DotPlan &plan, const DotLimits &limits);

} // namespace tilewright::cpu
