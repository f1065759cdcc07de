// Rows are loaded in blocks of a power of two, under a mask: `columns < n` where `columns` is 0, 1, ... along the block. How long rows are
// at most, a launch may know (specialize-lengths); registers whose columns all lie behind that hold nothing.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::gpu {

/// Of a kernel's argument (an integer attribute): it is no larger.
constexpr llvm::StringLiteral atMostName = "ttg.at_most";

/// What `columns < n` compares: how many columns, with an argument of the kernel (null: none) or with a constant.
struct RowLength {
  int64_t block = 0;
  mlir::BlockArgument length;
  std::optional<int64_t> constant;
};
std::optional<RowLength> rowLengthOf(mlir::arith::CmpIOp compare);

} // namespace tilewright::gpu
