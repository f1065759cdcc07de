// What is known about the divisibility of a kernel's arguments (tt.divisibility), and of numbers that are computed from them. Divisors are
// powers of two, at most 2^30: they also divide a number that has wrapped around.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/ArrayRef.h"

namespace tilewright::address {

/// Returns a number that divides an argument in every launch: its tt.divisibility, or 1. It need not be a power of two.
int64_t divisibilityOf(mlir::BlockArgument argument);
/// Returns a divisor of a number times arguments of the kernel, in every launch.
int64_t divisorOfTerm(tt::FuncOp kernel, int64_t coefficient, llvm::ArrayRef<int64_t> arguments);
/// Returns a divisor of an integer, in every launch.
int64_t divisorOf(mlir::Value integer);

} // namespace tilewright::address
