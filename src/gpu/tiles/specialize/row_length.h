// Rows are loaded in blocks of a power of two, under a mask `columns < n` where `columns` is 0, 1, ... along the block. A launch may know a
// bound on the row length (specialize-lengths). Registers whose columns are all past the bound hold nothing.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::gpu {

/// Holds the operands of `columns < n`: the number of columns, and either an argument of the kernel (null: none) or a constant.
struct RowLength {
  int64_t block = 0;
  int64_t dim = 0;          ///< of the compared tiles, along which the columns run
  bool isBroadcast = false; ///< the compared tiles have further rows
  mlir::BlockArgument length;
  std::optional<int64_t> constant;
};
std::optional<RowLength> rowLengthOf(mlir::arith::CmpIOp compare);

} // namespace tilewright::gpu
