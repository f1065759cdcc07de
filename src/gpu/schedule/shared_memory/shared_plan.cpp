// Shared memory is small, and most of it is needed for a part of the kernel only: the circular buffer of a loop's operands until the loop
// is over, the space for a result on its way out after that. Reservations that are never in use together share bytes:
//   circular buffer of 4 stages    [0, 192K)   operations 10 .. 80
//   result, 64K                    [0, 64K)    operations 85 .. 90
// In use means from the first access to the last one; where the accesses stand in a loop that does not contain the alloc, throughout the
// loop. What runs asynchronously ends where it is waited for. What a partition of a ttg.warp_specialize uses is in use throughout.
// Reservations are placed by decreasing size, each at the lowest offset that is free.
#include "gpu/schedule/shared_memory/shared_plan.h"

#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_memory/operation_spans.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Planner {
public:
  Planner(tt::FuncOp function, ArrayRef<DeeperBuffer> deeper) : function(function), deeper(deeper) {}

  SharedPlan run() {
    end = numberOperations(function.getBody(), spans);
    findWaits();
    function.walk([&](Operation *op) { addReservation(op); });
    place();
    return std::move(plan);
  }

private:
  /// Finds the waits that end all asynchronous accesses of a kind, in the order of the text.
  void findWaits() {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      int64_t first = spans.lookup(op).first;
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op))
        if (endsAllMmas(wait)) mmaWaits.push_back(first);
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op))
        if (wait.getPending() == 0) mmaWaits.push_back(first);
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op))
        if (wait.getTensorMemory() && ttg::partitionOf(wait) != ttg::Partition::mmas &&
            ttg::partitionOf(wait) != ttg::Partition::correction)
          mmaWaits.push_back(first);
      if (auto wait = dyn_cast<ttg::CopyWaitOp>(op))
        if (wait.getPending() == 0) copyWaits.push_back(first);
      if (auto wait = dyn_cast<ttg::TmaStoreWaitOp>(op))
        if (wait.getPending() == 0) storeWaits.push_back(first);
    });
  }

  /// The first of `waits` (which are in order) after `from`.
  int64_t waitAfter(ArrayRef<int64_t> waits, int64_t from) const {
    const int64_t *wait = llvm::lower_bound(waits, from);
    return wait == waits.end() ? end : *wait;
  }

  /// When an access made for something that lives in `home` is going on.
  OperationSpan during(Operation *access, Block *home) {
    OperationSpan span = spans.lookup(access);
    int64_t done = span.last;
    if (isa<ttg::MmaAsyncOp, ttg::Tcgen05MmaOp>(access)) done = waitAfter(mmaWaits, span.last);
    if (isa<ttg::CopyAsyncOp>(access)) done = waitAfter(copyWaits, span.last);
    if (isa<ttg::TmaStoreOp>(access)) done = waitAfter(storeWaits, span.last);
    for (Operation *op = access; op && op->getBlock() != home; op = op->getParentOp())
      if (Operation *around = op->getParentOp(); around && spans.contains(around) && !isa<scf::IfOp>(around)) span = spans.lookup(around);
    return {span.first, std::max(span.last, done)};
  }

  void addReservation(Operation *op) {
    Reservation reservation;
    reservation.op = op;
    if (auto barriers = dyn_cast<ttg::AllocBarriersOp>(op)) {
      reservation.bytes = mbarrierBytes * barriers.getType().getCount();
      reservation.isBarriers = true;
      reservation.last = end;
    } else if (isa<ttg::TensorAllocOp>(op)) {
      reservation.bytes = mbarrierBytes; // for the address
      reservation.isBarriers = true;
      reservation.last = end;
    } else if (auto alloc = dyn_cast<ttg::AllocOp>(op)) {
      SmallVector<Operation *> accesses = accessesOf(alloc);
      if (accesses.empty()) return;
      reservation.first = end;
      for (Operation *access : accesses) {
        OperationSpan span = during(access, op->getBlock());
        reservation.first = std::min(reservation.first, span.first);
        reservation.last = std::max(reservation.last, span.last);
      }
      reservation.bytes = stageBytes(alloc) * alloc.getType().getDepth();
      ttg::Lifetime lifetime = alloc.getLifetime();
      for (const DeeperBuffer &buffer : deeper)
        if (buffer.alloc == alloc) {
          OperationSpan span = spans.lookup(buffer.loop);
          reservation.bytes = stageBytes(alloc) * buffer.depth;
          reservation.first = std::min(reservation.first, span.first);
          reservation.last = std::max(reservation.last, span.last);
          lifetime = std::max(lifetime, buffer.lifetime);
        }
      if (lifetime != ttg::Lifetime::uses) reservation.first = 0;
      if (lifetime == ttg::Lifetime::throughout) reservation.last = end;
    } else {
      reservation.bytes = scratchBytes(op);
      if (reservation.bytes == 0) return;
      OperationSpan span = spans.lookup(op);
      reservation.first = span.first;
      reservation.last = isa<ttg::ReadClusterOp>(op) ? std::max(span.last, spans.lookup(lastUseOfExchange(op)).first) : span.last;
    }
    if (auto partitions = op->getParentOfType<ttg::WarpSpecializeOp>()) { // they run at the same time
      reservation.first = std::min(reservation.first, spans.lookup(partitions).first);
      reservation.last = std::max(reservation.last, spans.lookup(partitions).last);
    }
    plan.reservations.push_back(reservation);
  }

  void place() {
    SmallVector<Reservation *> order;
    for (Reservation &reservation : plan.reservations)
      if (!reservation.isBarriers) order.push_back(&reservation);
    llvm::sort(order, [](Reservation *x, Reservation *y) { return x->bytes != y->bytes ? x->bytes > y->bytes : x < y; });
    SmallVector<Reservation *> placed; // by offset
    for (Reservation *reservation : order) {
      auto alloc = dyn_cast<ttg::AllocOp>(reservation->op);
      int64_t alignment = alloc && alloc.getType().paddedTileBytes() % swizzleAlignment == 0 ? swizzleAlignment : plainAlignment,
              offset = 0;
      for (Reservation *other : placed) {
        if (other->last < reservation->first || reservation->last < other->first) continue;
        if (offset + reservation->bytes <= other->offset) break;
        offset = std::max(offset, (other->offset + other->bytes + alignment - 1) / alignment * alignment);
      }
      reservation->offset = offset;
      plan.bytes = std::max(plan.bytes, offset + reservation->bytes);
      placed.insert(llvm::upper_bound(placed, reservation, [](Reservation *x, Reservation *y) { return x->offset < y->offset; }),
                    reservation);
    }
    for (Reservation &reservation : plan.reservations) {
      if (!reservation.isBarriers) continue;
      reservation.offset = plan.bytes = (plan.bytes + mbarrierBytes - 1) / mbarrierBytes * mbarrierBytes;
      plan.bytes += reservation.bytes;
    }
  }

  tt::FuncOp function;
  ArrayRef<DeeperBuffer> deeper;
  SharedPlan plan;
  OperationSpans spans;
  SmallVector<int64_t> mmaWaits, copyWaits, storeWaits;
  int64_t end = 0;
};

} // namespace

SharedPlan planShared(tt::FuncOp function, ArrayRef<DeeperBuffer> deeper) {
  return Planner(function, deeper).run();
}

} // namespace tilewright::gpu
