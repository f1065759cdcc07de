// Where everything in shared memory lies, and when it is in use. allocate-shared acts on it; the pipeline asks it what would fit.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace tilewright::gpu {

/// A buffer as it would be with `depth` tiles that are in use throughout `loop`.
struct DeeperBuffer {
  ttg::AllocOp alloc;
  int64_t depth = 1;
  mlir::Operation *loop = nullptr;
  ttg::Lifetime lifetime = ttg::Lifetime::uses; ///< at least
};

/// An allocation in shared memory that `op` (an alloc, alloc_barriers, or an operation that needs scratch)
/// has from operation number `first` to `last`, counted in the order of the program's text.
struct Reservation {
  mlir::Operation *op = nullptr;
  int64_t bytes = 0, first = 0, last = 0, offset = 0;
  bool isBarriers = false;
  bool overlaps(const Reservation &other) const { return offset < other.offset + other.bytes && other.offset < offset + bytes; }
};

struct SharedPlan {
  llvm::SmallVector<Reservation> reservations;
  int64_t bytes = 0;
};

/// Places everything: reservations that are in use at the same time never overlap; others may.
SharedPlan planShared(tt::FuncOp function, llvm::ArrayRef<DeeperBuffer> deeper = {});

/// Checks a plan: allocations that are in use at the same time must be disjoint, aligned, and within the memory that is requested.
Result<void> verify(const SharedPlan &plan);

} // namespace tilewright::gpu
