// Global memory from one thread: the order of accesses, and the memory form of values.
#pragma once

#include "gpu/thread/thread_context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Returns the atomic operation of a scalar loop that does nothing but retry it; null for other loops.
mlir::Operation *triedBy(mlir::scf::WhileOp loop);
/// One thread runs the loop around `attempt`; the other threads wait for it.
LogicalResult lowerSpin(ThreadContext &t, mlir::scf::WhileOp loop, mlir::Operation *attempt);
ptx::Eviction evictionOf(tt::EvictionPolicy policy);
/// Inserts a barrier of all threads if this access must not overtake an earlier one of another thread. Returns true if it did. Later
/// accesses are checked against this one.
bool orderAccess(ThreadContext &t, mlir::Operation *op);
/// Adds the accesses of the loop's body to the log, as if an earlier iteration had made them.
void expectIteration(ThreadContext &t, mlir::Operation *loop);
/// The memory form of a scalar, where i1 is a byte; and back.
Type memoryType(ThreadContext &t, Type scalar);
Value toMemory(ThreadContext &t, Value scalar);
Value fromMemory(ThreadContext &t, Value stored, Type scalar);
/// `count` contiguous elements from any address, by loads of aligned words (unaligned_load.cpp). `masks`: one for each element, or none.
ThreadValues loadUnaligned(ThreadContext &t, Value address, llvm::ArrayRef<Value> masks, int64_t count, Type element, ptx::Cache cache,
                           ptx::Eviction eviction);

} // namespace tilewright::gpu
