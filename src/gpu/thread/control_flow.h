// Blocks, loops and branches in one thread.
#pragma once

#include "gpu/thread/thread_context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Lowers the operations of a block without its terminator.
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// The same for a loop body, a branch or a partition.
LogicalResult lowerPart(ThreadContext &t, mlir::Block &block);
/// Lowers a program loop (gpu/schedule/program_loop.h), to which `op` gives its programs.
LogicalResult lowerProgramLoop(ThreadContext &t, mlir::scf::ForOp loop, ttg::ClcProgramOp op);

} // namespace tilewright::gpu
