// Blocks, loops and branches in one thread.
#pragma once

#include "gpu/thread/thread_context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Lowers the operations of a block without its terminator.
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// Lowers a loop that spins until another program has changed memory (spin_loops.cpp): one thread runs it.
LogicalResult lowerSpin(ThreadContext &t, mlir::scf::WhileOp loop);
/// Lowers a program loop (gpu/schedule/program_loop.h), to which `op` gives its programs.
LogicalResult lowerProgramLoop(ThreadContext &t, mlir::scf::ForOp loop, ttg::ClcProgramOp op);

} // namespace tilewright::gpu
