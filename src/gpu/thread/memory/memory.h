// Global memory from one thread: what loads, stores and atomic operations have in common.
#pragma once

#include "gpu/thread/thread_context.h"

namespace tilewright::gpu {

ptx::Eviction evictionOf(tt::EvictionPolicy policy);
ptx::Cache cacheOf(tt::CacheModifier modifier);
ptx::Order orderOf(tt::MemSemantic semantic);
ptx::Scope scopeOf(tt::MemSyncScope scope);
/// The number of consecutive registers of one access by a thread that has this many.
mlir::FailureOr<size_t> accessWidth(mlir::Operation *op, size_t registers);
/// The predicate of the threads that perform an access to pointers of this type once for each element; null: all.
Value performs(ThreadContext &t, Type pointer);
/// Sends the results of an operation from the threads that perform it to all threads that hold them. This needs a barrier, so all earlier
/// work of the CTA is done. `isSynchronized`: a barrier comes right before the operation.
ThreadValues shareResults(ThreadContext &t, mlir::Operation *op, const ThreadValues &results, Type pointer, bool isSynchronized);
/// `count` contiguous elements from any address, by loads of aligned words (unaligned_load.cpp). `masks`: one for each element, or none.
ThreadValues loadUnaligned(ThreadContext &t, Value address, llvm::ArrayRef<Value> masks, int64_t count, Type element, ptx::Cache cache,
                           ptx::Eviction eviction);

} // namespace tilewright::gpu
