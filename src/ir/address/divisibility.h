// What is known about the divisibility of a kernel's arguments (tt.divisibility), and of products of them.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/ArrayRef.h"

namespace tilewright::address {

/// Returns a number that divides an argument in every launch: its tt.divisibility, or 1.
int64_t divisibilityOf(mlir::BlockArgument argument);
/// Returns a power of two that divides a number times arguments of the kernel in every launch; 0 divides only 0.
int64_t divisorOfTerm(tt::FuncOp kernel, int64_t coefficient, llvm::ArrayRef<int64_t> arguments);
/// Returns a power of two that divides an integer in every launch, even after it has wrapped around.
int64_t divisorOf(mlir::Value integer);

} // namespace tilewright::address
