// Tiles in shared memory: their loads and stores by one thread, and values packed in words.
#pragma once

#include "gpu/thread/thread_context.h"

namespace tilewright::gpu {

/// Loads or stores a tile in `layout` in shared memory at `base`, in the arrangement `shared`. The plan is verified first; errors go to
/// `op`. `variantZero`: see loopVariantZero.
mlir::FailureOr<ThreadValues> loadTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                                       Type type);
LogicalResult storeTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                        mlir::ValueRange held, bool stmatrix, Value variantZero);
/// Packs contiguous values into one integer, the first in the lowest bits; and back.
Value packed(ThreadContext &t, mlir::ValueRange values);
ThreadValues unpacked(ThreadContext &t, Value word, Type element);
/// Arrives at an mbarrier: that of this CTA or, with `inCluster`, those of all CTAs of the cluster (`toFirst`: of the first one only).
void arriveAt(ThreadContext &t, Value barrier, Value predicate, bool inCluster, bool toFirst);
/// Returns a loop-variant zero: the highest bit of a stage's address. ptxas hoists invariant values (matrix descriptors, buffer
/// addresses) out of the loop, and keeps each in a register. Adding this zero to an address stops that. Null if the buffer changes with
/// the loop, or if there are few such values. Implemented in wgmma.cpp.
Value loopVariantZero(ThreadContext &t, mlir::Operation *op, Value buffer);

} // namespace tilewright::gpu
