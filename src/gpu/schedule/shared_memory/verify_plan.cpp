// Checks the offsets of a plan of shared memory, whatever way the planner found them: each reservation lies in the requested memory and is
// aligned, and reservations that are in use at the same time are disjoint. When each is in use is taken from the plan.
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

Result<void> verify(const SharedPlan &plan) {
  SmallVector<const Reservation *> byOffset;
  for (const Reservation &reservation : plan.reservations) {
    if (reservation.offset < 0 || reservation.bytes < 0 || reservation.offset + reservation.bytes > plan.bytes)
      return Failure{"a reservation is outside the requested memory"};
    if (reservation.first > reservation.last) return Failure{"a reservation ends before it begins"};
    auto alloc = dyn_cast<ttg::AllocOp>(reservation.op);
    bool isPlain = alloc && alloc.getType().paddedTileBytes() % swizzleAlignment != 0; // small, and in order
    if (alloc && reservation.offset % (isPlain ? plainAlignment : swizzleAlignment))
      return Failure{"a buffer does not start where its swizzle does"};
    if (reservation.isBarriers && reservation.offset % mbarrierBytes) return Failure{"a barrier is not aligned"};
    byOffset.push_back(&reservation);
  }
  llvm::sort(byOffset, [](const Reservation *x, const Reservation *y) { return x->offset < y->offset; });
  for (size_t i = 0; i < byOffset.size(); ++i)
    for (size_t j = i + 1; j < byOffset.size() && byOffset[j]->offset < byOffset[i]->offset + byOffset[i]->bytes; ++j) {
      const Reservation &x = *byOffset[i], &y = *byOffset[j];
      bool together = x.isBarriers || y.isBarriers || (x.first <= y.last && y.first <= x.last);
      if (together && x.overlaps(y)) return Failure{"two reservations that are in use at the same time overlap"};
    }
  return {};
}

} // namespace tilewright::gpu
