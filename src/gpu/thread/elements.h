// Operations whose result has each element in the thread that has the operands' elements.
#pragma once

#include "gpu/thread/thread_context.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

/// Computes each register of the result from the same registers of the operands. `element` returns null if it has failed and reported an
/// error.
LogicalResult lowerElements(ThreadContext &t, mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> element);

} // namespace tilewright::gpu
