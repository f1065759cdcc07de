// Tiles in shared memory: their loads and stores by one thread, and the address of an mbarrier.
#pragma once

#include "gpu/thread/thread_context.h"

namespace tilewright::gpu {

inline SharedLayout sharedOf(Value buffer) {
  return mlir::cast<ttg::BufferType>(buffer.getType()).getLayout().layout();
}

/// Loads or stores a tile in `layout` in shared memory at `base`, in the arrangement `shared`. The plan is verified first; errors go to
/// `op`. `zero`: a loop_variant_zero that is added to the addresses, or null.
mlir::FailureOr<ThreadValues> loadTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                                       Type type);
LogicalResult storeTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                        mlir::ValueRange held, bool stmatrix, Value zero);
/// The address of mbarrier number `index`.
Value barrierAt(ThreadContext &t, Value barriers, Value index);

} // namespace tilewright::gpu
