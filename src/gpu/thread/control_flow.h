// Blocks, loops and branches in one thread.
#pragma once

#include "gpu/thread/thread_context.h"

namespace tilewright::gpu {

/// Lowers the operations of a block without its terminator.
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// The same for a loop body, a branch or a partition.
LogicalResult lowerPart(ThreadContext &t, mlir::Block &block);

} // namespace tilewright::gpu
