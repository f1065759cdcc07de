// Where everything in shared memory lies, and when it is in use. allocate-shared acts on it; the pipeline asks it what would fit.
#pragma once

#include "gpu/schedule/shared_memory/operation_spans.h"
#include "gpu/ttg/ttg.h"
#include "support/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace tilewright::gpu {

/// A buffer as it would be with `depth` tiles that are in use throughout `loop`.
struct DeeperBuffer {
  /// A buffer whose tiles lie in another one, which is listed as well.
  static DeeperBuffer withoutBytes(ttg::AllocOp alloc) { return {alloc, /*depth=*/0}; }

  ttg::AllocOp alloc;
  int64_t depth = 1;
  mlir::Operation *loop = nullptr;              ///< null: it has no bytes
  ttg::Lifetime lifetime = ttg::Lifetime::uses; ///< at least
};

/// An allocation in shared memory that `op` (an alloc, alloc_barriers, or an operation that needs scratch)
/// has from operation number `first` to `last`, counted in the order of the program's text.
struct Reservation {
  mlir::Operation *op = nullptr;
  int64_t bytes = 0, first = 0, last = 0, offset = 0;
  bool isBarriers = false;
  void extend(OperationSpan span) { first = std::min(first, span.first), last = std::max(last, span.last); }
  bool overlaps(const Reservation &other) const { return offset < other.offset + other.bytes && other.offset < offset + bytes; }
};

struct SharedPlan {
  llvm::SmallVector<Reservation> reservations;
  int64_t bytes = 0;
};

/// Plans the shared memory of a kernel, as often as a step asks what would fit. The kernel must not change meanwhile.
class SharedPlanner {
public:
  explicit SharedPlanner(tt::FuncOp function);
  /// Reserves these buffers in all plans from now on, in place of what has been reserved for their tiles.
  void reserve(llvm::ArrayRef<DeeperBuffer> deeper);
  /// Places everything, with these buffers as well: reservations that are in use at the same time never overlap; others may.
  SharedPlan plan(llvm::ArrayRef<DeeperBuffer> deeper = {}) const;

private:
  void reserve(llvm::ArrayRef<DeeperBuffer> deeper, llvm::MutableArrayRef<Reservation> reservations) const;

  llvm::SmallVector<Reservation> reservations;       ///< in the order of the text, without offsets
  llvm::DenseMap<mlir::Operation *, size_t> ofAlloc; ///< the index of an alloc's reservation
  OperationSpans spans;
  int64_t end = 0; ///< of the kernel
};

/// Places everything in the shared memory of a kernel.
SharedPlan planShared(tt::FuncOp function);

/// Checks a plan: allocations that are in use at the same time must be disjoint, aligned, and within the memory that is requested.
Result<void> verify(const SharedPlan &plan);

} // namespace tilewright::gpu
