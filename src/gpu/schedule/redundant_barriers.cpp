// Passes put a barrier wherever one may be needed. In a loop one often does the work of another: what the next iteration must not do too
// early stands after two barriers then. Attention backward, an iteration, with what each barrier is there for:
//   barrier (A)    store x    barrier (B: x is written)    dq = xK    wait dq    barrier (C)    store dq    barrier (D: dq is written)
//   tma_store dq
// A keeps x from being written while dq = xK of the iteration before reads it: after D it is not read any more, so A goes. C keeps dq
// from being written while the store before reads it, which its thread has waited for before B: C goes, too.
//
// A barrier stays if it alone stands between two accesses to the same bytes, one of which writes: between the end of the first, which of an
// MMA or of a copy is where it is waited for, and the beginning of the second, in this iteration or the next one. What the bytes were
// used for outside of the loop is over before it: a barrier stands there then.
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/scratch.h"
#include "gpu/schedule/shared_plan.h"
#include "gpu/tiles/demanded_extent.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

struct Bytes {
  int64_t first = 0, end = 0;
  bool overlaps(Bytes other) const { return first < other.end && other.first < end; }
};

/// Of an alloc, or of an operation with scratch.
Bytes bytesOf(Operation *op) {
  int64_t first = op->getAttrOfType<IntegerAttr>(ttg::offsetName).getInt();
  auto alloc = dyn_cast<ttg::AllocOp>(op);
  return {first, first + (alloc ? tileBytes(alloc) * alloc.getType().getDepth() : scratchBytes(op))};
}

/// An access of the loop's body, from one of its operations to another one, by their numbers: of the next iteration if that has the smaller
/// one.
struct Access {
  Bytes bytes;
  bool writes = false;
  size_t begin = 0, end = 0;
};

class Body {
public:
  explicit Body(scf::ForOp loop) : loop(loop) {
    for (Operation &op : loop.getBody()->without_terminator())
      ops.push_back(&op);
  }

  void run() {
    for (size_t at = 0; at < ops.size(); ++at) {
      auto sync = dyn_cast<ttg::CtaBarrierOp>(ops[at]);
      if (sync && !sync.getAllWarps()) barriers.push_back(at);
      if (sync && sync.getAllWarps()) return;
      if (!sync && !add(at)) return;
    }
    bool usedBefore = false;
    SmallVector<Operation *> dropped;
    for (size_t i = 0; i < barriers.size();) {
      if (isNeeded(i)) {
        ++i;
        continue;
      }
      usedBefore |= hasOtherUses(i);
      dropped.push_back(ops[barriers[i]]);
      barriers.erase(barriers.begin() + std::ptrdiff_t(i));
    }
    if (usedBefore) {
      OpBuilder b(loop);
      ttg::CtaBarrierOp::create(b, loop.getLoc());
    }
    for (Operation *sync : dropped)
      sync->erase();
  }

private:
  /// Where the MMA, or the store, that starts at `at` is waited for; nothing if that is not known.
  std::optional<size_t> endOf(size_t at) {
    int64_t started = 0;
    for (size_t next = at + 1; next < at + ops.size(); ++next) {
      Operation *op = ops[next % ops.size()];
      if (isa<ttg::WgmmaOp>(ops[at])) {
        started += isa<ttg::WgmmaOp>(op);
        if (auto wait = dyn_cast<ttg::WgmmaWaitOp>(op); wait && endsMma(wait, started)) return next % ops.size();
      } else if (auto wait = dyn_cast<ttg::TmaStoreWaitOp>(op); wait && wait.getPending() == 0) {
        return next % ops.size();
      }
    }
    return {};
  }

  void access(Value buffer, bool writes, size_t begin, size_t end) {
    if (ttg::AllocOp alloc = allocOf(buffer)) accesses.push_back({bytesOf(alloc), writes, begin, end});
  }

  /// Notes what an operation does to shared memory; false if that is not known.
  bool add(size_t at) {
    Operation *op = ops[at];
    if (op->hasAttr(ttg::producerName) || op->hasAttr(ttg::dequantizePartitionName))
      return true; // mbarriers order them with the other accesses
    if (isa<ttg::WgmmaOp, ttg::TmaStoreOp>(op)) {
      std::optional<size_t> end = endOf(at);
      for (Value operand : op->getOperands())
        if (end && isa<ttg::BufferType>(operand.getType())) access(operand, false, at, *end);
      return end.has_value();
    }
    if (auto load = dyn_cast<ttg::LoadSharedOp>(op)) return access(load.getBuffer(), false, at, at), true;
    if (auto store = dyn_cast<ttg::StoreSharedOp>(op)) return access(store.getBuffer(), true, at, at), true;
    if (auto copy = dyn_cast<ttg::TmaLoadOp>(op)) return access(copy.getBuffer(), true, at, at), true;
    if (op->hasAttr(ttg::offsetName) && !isa<ttg::AllocOp>(op)) return accesses.push_back({bytesOf(op), true, at, at}), true;
    if (isa<ttg::AllocOp, ttg::StageOp, ttg::ViewOp, ttg::WgmmaWaitOp, ttg::TmaStoreWaitOp, ttg::FenceAsyncOp, ttg::BarrierExpectOp,
            ttg::BarrierWaitOp, ttg::BarrierArriveOp, tt::LoadOp>(op))
      return true;
    bool hidesScratch = false;
    op->walk([&](Operation *inner) { hidesScratch |= inner->hasAttr(ttg::offsetName); });
    return isMemoryEffectFree(op) && !hidesScratch;
  }

  /// How far a place is after the i-th barrier, on the way through this iteration and the next one.
  size_t distance(size_t i, size_t position) const { return (position + ops.size() - barriers[i]) % ops.size(); }

  /// Whether an access begins after the i-th barrier, and before the next one.
  bool beginsAfter(size_t i, const Access &access) const {
    size_t next = barriers.size() == 1 ? ops.size() : distance(i, barriers[(i + 1) % barriers.size()]);
    return distance(i, access.begin) < next;
  }

  /// Whether an access ends before the i-th barrier, and after the one before.
  bool endsBefore(size_t i, const Access &access) const {
    return distance(i, access.end) > distance(i, barriers[(i + barriers.size() - 1) % barriers.size()]);
  }

  /// Whether the i-th barrier alone stands between two accesses that must not overlap.
  bool isNeeded(size_t i) const {
    return llvm::any_of(accesses, [&](const Access &x) {
      return endsBefore(i, x) && llvm::any_of(accesses, [&](const Access &y) {
               return beginsAfter(i, y) && (x.writes || y.writes) && x.bytes.overlaps(y.bytes);
             });
    });
  }

  /// Whether what begins after the i-th barrier is at bytes that have other uses elsewhere in the kernel.
  bool hasOtherUses(size_t i) {
    bool found = false;
    loop->getParentOfType<tt::FuncOp>().walk([&](Operation *op) {
      auto alloc = dyn_cast<ttg::AllocOp>(op);
      bool inside =
          alloc ? llvm::all_of(accessesOf(alloc), [&](Operation *access) { return loop->isAncestor(access); }) : loop->isAncestor(op);
      if (inside || !op->hasAttr(ttg::offsetName) || isa<ttg::AllocBarriersOp>(op)) return;
      found |= llvm::any_of(accesses, [&](const Access &y) { return beginsAfter(i, y) && y.bytes.overlaps(bytesOf(op)); });
    });
    return found;
  }

  scf::ForOp loop;
  SmallVector<Operation *> ops;
  SmallVector<size_t> barriers; ///< those that are left
  SmallVector<Access> accesses;
};

} // namespace

void eliminateRedundantBarriers(tt::FuncOp function) {
  function.walk([](scf::ForOp loop) { Body(loop).run(); });
}

} // namespace tilewright::gpu
