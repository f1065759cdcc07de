// When the MMAs of a loop's body run. An MMA reads its operands in shared memory and writes its accumulator from where it is issued to the
// first wait that leaves no more MMAs pending than have been issued since:
//   s = mma_async    t = mma_async    mma_async_wait 1    mma_async_wait 0        s ends at the first wait, t at the second one
// If no later wait of the iteration does that, one of the next iteration does. Edges change the waits, and where MMAs end with them: a wait
// whose MMAs end at another one becomes part of that one.
#pragma once

#include "gpu/schedule/block_order.h"
#include "gpu/schedule/mma_waits.h"
#include "support/result.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

/// The intervals of MMAs whose body has the operations in this order, which must outlive it.
class MmaIntervals {
public:
  /// With the waits as they are.
  explicit MmaIntervals(const BlockOrder &order) : order(order) {}
  /// With the waits that endAtEdges makes of them. Fails if an edge does not lead from the wait of its MMA to one that stays a wait of its
  /// own.
  static Result<MmaIntervals> atEdges(mlir::scf::ForOp loop, const BlockOrder &order, llvm::ArrayRef<MmaEdge> edges);

  /// Returns the wait that `wait` becomes part of: itself if it stays.
  ttg::MmaAsyncWaitOp finalWait(ttg::MmaAsyncWaitOp wait) const;
  /// Returns how many MMAs a wait that stays leaves pending.
  int64_t pendingOf(ttg::MmaAsyncWaitOp wait) const;
  /// Returns the interval of an MMA of the body as an edge, to the wait that ends it. `until` is null if no wait does so within a few
  /// iterations.
  MmaEdge intervalOf(ttg::MmaAsyncOp mma) const;
  /// True if the interval contains `op` of the iteration that comes `distance` iterations later.
  bool contains(const MmaEdge &interval, mlir::Operation *op, int64_t distance) const;

private:
  const BlockOrder &order;
  llvm::MapVector<mlir::Operation *, ttg::MmaAsyncWaitOp> ends; ///< by a wait: the one at which the MMAs end that it names
  llvm::DenseMap<mlir::Operation *, int64_t> pending;           ///< of waits that have changed
};

} // namespace tilewright::gpu
