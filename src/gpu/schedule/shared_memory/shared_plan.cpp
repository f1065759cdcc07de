// Shared memory is small, and most of it is needed for a part of the kernel only: the circular buffer of a loop's operands until the loop
// is over, the space for a result on its way out after that. Reservations that are never in use together share bytes:
//   circular buffer of 4 stages    [0, 192K)   operations 10 .. 80
//   result, 64K                    [0, 64K)    operations 85 .. 90
// In use means from the first access to the last one; where the accesses stand in a loop that does not contain the alloc, throughout the
// loop. What runs asynchronously ends where it is waited for; if that is after a loop, it is in use throughout the loop. What a partition
// of a ttg.warp_specialize uses is in use throughout. Reservations are placed by decreasing size, each at the lowest offset that is free.
#include "gpu/schedule/shared_memory/shared_plan.h"

#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

#include <vector>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Extends when a reservation is in use, as a buffer's lifetime says.
void extend(Reservation &reservation, ttg::Lifetime lifetime, int64_t end) {
  if (lifetime != ttg::Lifetime::uses) reservation.first = 0;
  if (lifetime == ttg::Lifetime::throughout) reservation.last = end;
}

/// Finds what a kernel reserves, and when each reservation is in use.
class Finder {
public:
  Finder(tt::FuncOp function, const OperationSpans &spans, int64_t end) : function(function), spans(spans), end(end) {}

  SmallVector<Reservation> run() {
    findWaits();
    function.walk([&](Operation *op) { addReservation(op); });
    return std::move(reservations);
  }

private:
  /// Finds the waits that end all asynchronous accesses of a kind, in the order of the text.
  void findWaits() {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op))
        if (endsAllMmas(wait)) mmaWaits.push_back(op);
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op))
        if (wait.getPending() == 0) mmaWaits.push_back(op);
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op))
        if (wait.getTensorMemory() && ttg::partitionOf(wait) != ttg::Partition::mmas &&
            ttg::partitionOf(wait) != ttg::Partition::correction)
          mmaWaits.push_back(op);
      if (auto wait = dyn_cast<ttg::CopyWaitOp>(op))
        if (wait.getPending() == 0) copyWaits.push_back(op);
      if (auto wait = dyn_cast<ttg::TmaStoreWaitOp>(op))
        if (wait.getPending() == 0) storeWaits.push_back(op);
    });
  }

  /// Where the first of `waits` (which are in order) is that follows an access on every path.
  int64_t waitAfter(ArrayRef<Operation *> waits, Operation *access) const {
    auto begin = [&](Operation *wait) { return spans.lookup(wait).first; };
    const auto *next = llvm::partition_point(waits, [&](Operation *wait) { return begin(wait) < spans.lookup(access).last; });
    const auto *wait = std::find_if(next, waits.end(), [&](Operation *each) { return each->getBlock()->findAncestorOpInBlock(*access); });
    return wait == waits.end() ? end : begin(*wait);
  }

  /// When an access made for something that lives in `home` is going on.
  OperationSpan during(Operation *access, Block *home) {
    OperationSpan span = spans.lookup(access);
    int64_t done = span.last;
    if (isa<ttg::MmaAsyncOp, ttg::Tcgen05MmaOp>(access)) done = waitAfter(mmaWaits, access);
    if (isa<ttg::CopyAsyncOp>(access)) done = waitAfter(copyWaits, access);
    if (isa<ttg::TmaStoreOp>(access)) done = waitAfter(storeWaits, access);
    for (Operation *op = access; op && op->getBlock() != home; op = op->getParentOp())
      if (Operation *around = op->getParentOp(); around && spans.contains(around) && !isa<scf::IfOp>(around)) span = spans.lookup(around);
    // What the body of a loop does not end goes on at its beginning, in the next iteration.
    for (Operation *around = access->getParentOp(); around && spans.contains(around); around = around->getParentOp())
      if (isa<LoopLikeOpInterface>(around) && done > spans.lookup(around).last)
        span.first = std::min(span.first, spans.lookup(around).first);
    return {span.first, std::max(span.last, done)};
  }

  void addReservation(Operation *op) {
    Reservation reservation;
    reservation.op = op;
    if (isa<ttg::AllocBarriersOp, ttg::TensorAllocOp>(op)) {
      auto barriers = dyn_cast<ttg::AllocBarriersOp>(op);
      reservation.bytes = mbarrierBytes * (barriers ? barriers.getType().getCount() : 1); // 1: for the address of tensor memory
      reservation.isBarriers = true;
      reservation.last = end;
    } else if (auto alloc = dyn_cast<ttg::AllocOp>(op)) {
      SmallVector<Operation *> accesses = accessesOf(alloc);
      if (accesses.empty()) return;
      reservation.first = end;
      for (Operation *access : accesses)
        reservation.extend(during(access, op->getBlock()));
      reservation.bytes = stageBytes(alloc) * alloc.getType().getDepth();
      extend(reservation, alloc.getLifetime(), end);
    } else {
      reservation.bytes = scratchBytes(op);
      if (reservation.bytes == 0) return;
      OperationSpan span = spans.lookup(op);
      reservation.first = span.first;
      reservation.last = isa<ttg::ReadClusterOp>(op) ? std::max(span.last, spans.lookup(lastUseOfExchange(op)).first) : span.last;
    }
    if (auto partitions = op->getParentOfType<ttg::WarpSpecializeOp>())
      reservation.extend(spans.lookup(partitions)); // they run at the same time
    reservations.push_back(reservation);
  }

  tt::FuncOp function;
  const OperationSpans &spans;
  int64_t end;
  SmallVector<Reservation> reservations;
  SmallVector<Operation *> mmaWaits, copyWaits, storeWaits;
};

/// Returns the reservations that are in use at the same time as each one, but for barriers.
std::vector<SmallVector<size_t, 4>> inUseTogether(ArrayRef<Reservation> all) {
  std::vector<SmallVector<size_t, 4>> together(all.size());
  SmallVector<size_t> byBegin, active;
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].isBarriers) byBegin.push_back(i);
  llvm::sort(byBegin, [&](size_t x, size_t y) { return all[x].first < all[y].first; });
  for (size_t each : byBegin) {
    llvm::erase_if(active, [&](size_t other) { return all[other].last < all[each].first; });
    for (size_t other : active) {
      together[each].push_back(other);
      together[other].push_back(each);
    }
    active.push_back(each);
  }
  return together;
}

/// Places the reservations that are not barriers. Returns the bytes that they take.
int64_t placeByBytes(MutableArrayRef<Reservation> all) {
  std::vector<SmallVector<size_t, 4>> together = inUseTogether(all);
  SmallVector<size_t> order;
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].isBarriers) order.push_back(i);
  llvm::sort(order, [&](size_t x, size_t y) { return all[x].bytes != all[y].bytes ? all[x].bytes > all[y].bytes : x < y; });
  llvm::BitVector placed(unsigned(all.size()));
  int64_t bytes = 0;
  for (size_t each : order) {
    Reservation &reservation = all[each];
    auto alloc = dyn_cast<ttg::AllocOp>(reservation.op);
    int64_t alignment = alloc && alloc.getType().paddedTileBytes() % swizzleAlignment == 0 ? swizzleAlignment : plainAlignment;
    SmallVector<size_t, 4> &others = together[each];
    llvm::erase_if(others, [&](size_t other) { return !placed[unsigned(other)]; });
    llvm::sort(others, [&](size_t x, size_t y) { return all[x].offset < all[y].offset; });
    for (size_t other : others) {
      if (reservation.offset + reservation.bytes <= all[other].offset) break;
      reservation.offset =
          std::max(reservation.offset, int64_t(llvm::alignTo(uint64_t(all[other].offset + all[other].bytes), uint64_t(alignment))));
    }
    placed.set(unsigned(each));
    bytes = std::max(bytes, reservation.offset + reservation.bytes);
  }
  return bytes;
}

} // namespace

SharedPlanner::SharedPlanner(tt::FuncOp function) : end(numberOperations(function.getBody(), spans)) {
  reservations = Finder(function, spans, end).run();
  for (auto [index, reservation] : llvm::enumerate(reservations))
    ofAlloc[reservation.op] = index;
}

void SharedPlanner::reserve(ArrayRef<DeeperBuffer> deeper, MutableArrayRef<Reservation> reservations) const {
  for (const DeeperBuffer &buffer : deeper) {
    auto index = ofAlloc.find(ttg::AllocOp(buffer.alloc));
    if (index == ofAlloc.end()) continue;
    Reservation &reservation = reservations[index->second];
    reservation.bytes = stageBytes(buffer.alloc) * buffer.depth;
    if (buffer.loop) reservation.extend(spans.lookup(buffer.loop));
    extend(reservation, buffer.lifetime, end);
  }
}

void SharedPlanner::reserve(ArrayRef<DeeperBuffer> deeper) {
  reserve(deeper, reservations);
}

SharedPlan SharedPlanner::plan(ArrayRef<DeeperBuffer> deeper) const {
  SharedPlan plan{reservations};
  reserve(deeper, plan.reservations);
  plan.bytes = placeByBytes(plan.reservations);
  for (Reservation &reservation : plan.reservations) {
    if (!reservation.isBarriers) continue;
    reservation.offset = int64_t(llvm::alignTo(uint64_t(plan.bytes), mbarrierBytes));
    plan.bytes = reservation.offset + reservation.bytes;
  }
  return plan;
}

SharedPlan planShared(tt::FuncOp function) {
  return SharedPlanner(function).plan();
}

} // namespace tilewright::gpu
