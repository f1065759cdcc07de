// The operations of a kernel that order its program against other programs, or the CTAs of the program against one another.
#pragma once

#include "gpu/ttg/ttg.h"

#include "llvm/ADT/BitmaskEnum.h"

namespace tilewright::gpu {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// What such an operation does. It may do several of these.
enum class ProgramOrder : unsigned {
  none = 0,
  atomic = 1, ///< an atomic operation
  /// An atomic's used result, a volatile load or impure assembly may say that another program has written something. A load that moves
  /// before that, or that another partition makes, would read too early.
  learnsWrites = 2,
  waits = 4,     ///< a while loop, or a debug barrier
  exchanges = 8, ///< an exchange between the CTAs of the program
  LLVM_MARK_AS_BITMASK_ENUM(exchanges)
};
/// Returns what the operation itself does.
ProgramOrder programOrderOf(mlir::Operation *op);
/// True if an operation in `within`, a function or a loop, does one of these.
bool contains(mlir::Operation *within, ProgramOrder orders);

} // namespace tilewright::gpu
