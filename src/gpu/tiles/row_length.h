// Rows are loaded in blocks of a power of two, under a mask: `columns < n` where `columns` is 0, 1, ... along the block. A
// launch may know a bound on the length of rows (specialize-lengths); registers whose columns all lie beyond it hold nothing.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::gpu {

/// Of a kernel's argument (an integer attribute): it is no larger.
constexpr llvm::StringLiteral maxValueName = "ttg.max_value";

/// The operands of `columns < n`: how many columns, and an argument of the kernel (null: none) or a constant.
struct RowLength {
  int64_t block = 0;
  mlir::BlockArgument length;
  std::optional<int64_t> constant;
};
std::optional<RowLength> rowLengthOf(mlir::arith::CmpIOp compare);

} // namespace tilewright::gpu
