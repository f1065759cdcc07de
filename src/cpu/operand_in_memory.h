// Reads A of a dot directly in memory, without a copy, if its layout is one that the micro-kernel reads.
//
//   a = load(rows of A, k..k + BLOCK_K)          without: a copied to scratch, then multiplied
//   c += a * b                                   with: multiplied in place, with a row distance known at launch
//
// The dot reads A once per panel of B, and the caches hold A whether it is copied or not, so copying only costs time. This needs elements
// of the operand's type that are contiguous along K, rows at a constant distance, and masks that hold for all elements read. The kernel
// reads whole register blocks, slightly more than is needed. At the edges of a matrix, where masks cut off such elements, A is copied.
// (GFLOP/s of 512, 1024 and 2048 by 128x256x256 on one thread of a Zen 5: copied 260, 247 and 249, read in memory 265, 255 and 266.)
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

#include <optional>

namespace tilewright::cpu {

struct OperandInMemory {
  Value isReadable;     // i1: the masks hold for all elements read, and no address wraps around; null: always
  Value base, rowBytes; // i64: the first element's address, and the distance of rows
  Value next;           // i64: byte distance from an element to the same one of the next iteration; null: unknown
};

/// Describes how A of a dot is laid out in memory. nullopt if it is not a load of rows.
std::optional<OperandInMemory> operandInMemory(Context &ctx, tt::DotOp op, const DotPlan &plan, const DotLimits &limits);

} // namespace tilewright::cpu
