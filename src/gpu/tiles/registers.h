// How far the registers of a thread reach: what choose-warps asks before tiles have layouts, and the schedule of a loop afterwards.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir {
class Operation;
}

namespace tilewright::gpu {

/// What a thread needs besides accumulators: addresses, row values, the temporaries of the arithmetic between two products. With 208 of 255
/// for accumulators and an operand, attention backward of 64 columns (ptxas 13.0) just fits; with 48 more than that it spills.
constexpr int64_t otherRegisters = 47;

/// Of the sums of an fp8 product that leave the tensor cores at a time, for threads to add them to the others: 128 columns of 64 rows.
/// Those of 256 would fill a thread's registers together with what they are added to.
constexpr int64_t registersOfPromotedPart = 64;

/// Of a kernel that has more warps than its author asked for: how many that were (an integer).
constexpr llvm::StringLiteral requestedWarpsName = "ttg.requested_warps";

/// Bits of the accumulators that a loop of the function holds at one time, of the fullest one.
int64_t accumulatorBits(mlir::Operation *function);

} // namespace tilewright::gpu
