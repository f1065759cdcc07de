// Where two accesses to the same bytes need less order than barrier_analysis.h says. Each row has its reason.
#include "gpu/schedule/shared_memory/barrier_analysis.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

using Partition = ttg::Partition;
using Earlier = const PendingAccess &;
using Later = const SharedAccess &;

/// True if each thread reads the elements that it has copied itself.
bool readsOwnCopies(const SharedAccess &earlier, const SharedAccess &later) {
  auto copy = dyn_cast<ttg::CopyAsyncOp>(earlier.op);
  auto load = dyn_cast<ttg::LoadSharedOp>(later.op);
  if (!copy || !load || earlier.owner != later.owner || copy.getBuffer().getType() != load.getBuffer().getType()) return false;
  auto tile = cast<RankedTensorType>(load.getType());
  Layout layout = ttg::layoutOf(tile);
  if (ttg::layoutOf(copy.getPointers().getType()) != layout || layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp)) return false;
  return !matricesRead(layout, cast<ttg::BufferType>(load.getBuffer().getType()).getLayout().layout(), tile.getElementType());
}

/// True if each warp group has its part of the buffer to itself.
bool isPerWarpGroup(const SharedAccess &access) {
  auto alloc = dyn_cast<ttg::AllocOp>(access.owner);
  return alloc && llvm::any_of(alloc.getResult().getUsers(), [](Operation *user) {
           auto store = dyn_cast<ttg::TmaStoreOp>(user);
           return store && store.getPerWarpGroup();
         });
}

/// True if each thread stores the elements that it has stored before, and only the correction partition reads them.
bool storesOwnElements(const SharedAccess &earlier, const SharedAccess &later) {
  auto first = dyn_cast<ttg::StoreSharedOp>(earlier.op), second = dyn_cast<ttg::StoreSharedOp>(later.op);
  auto alloc = dyn_cast<ttg::AllocOp>(earlier.owner);
  if (!first || !second || !alloc || later.owner != alloc || first.getSrc().getType() != second.getSrc().getType()) return false;
  Layout layout = ttg::layoutOf(first.getSrc().getType());
  if (layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp)) return false;
  return llvm::all_of(accessesOf(alloc), [](Operation *access) {
    return isa<ttg::StoreSharedOp>(access) || ttg::partitionOf(access) == Partition::correction;
  });
}

bool isTcgen05(const SharedAccess &access) {
  return isa<ttg::Tcgen05MmaOp>(access.op);
}

/// True if one tcgen05.mma follows another one that writes these columns.
bool followsMma(const SharedAccess &earlier, const SharedAccess &later) {
  return isTcgen05(earlier) && earlier.inTensorMemory && later.accessor == Accessor::mma;
}

constexpr BarrierNeed everything{.wait = true, .barrier = true, .allWarps = true, .fence = true}, barrier{.barrier = true};

constexpr Exemption rows[] = {
    // Every thread that uses the tile waits at its mbarrier.
    {"TMA loads", everything, [](Earlier e, Later) { return e.access.accessor == Accessor::tmaLoad; }},
    // At its mbarrier, the consumers wait for what such a partition has stored; it has read before it arrives there.
    {"partitions of threads", everything,
     [](Earlier e, Later) { return e.access.partition != Partition::consumers && e.access.partition != Partition::mmas; }},
    // The consumers wait for the MMAs of the partition before they use the bytes again.
    {"MMAs before consumers", everything,
     [](Earlier e, Later later) { return e.access.partition == Partition::mmas && later.partition == Partition::consumers; }},
    // mbarriers order the accesses of partitions to one buffer (verify_schedule.cpp).
    {"one buffer of partitions", everything,
     [](Earlier e, Later later) {
       return e.access.owner == later.owner && (e.access.partition != Partition::consumers || later.partition != Partition::consumers);
     }},
    // A thread loads and stores the same part of a tile in tensor memory.
    {"own part of tensor memory", everything,
     [](Earlier e, Later later) {
       bool byThreads = e.access.accessor == Accessor::threads && later.accessor == Accessor::threads;
       return byThreads && e.access.inTensorMemory && e.access.owner == later.owner;
     }},
    // MMAs of tcgen05 execute in the order in which one thread starts them.
    {"MMAs in order", {.barrier = true, .allWarps = true}, [](Earlier e, Later later) { return followsMma(e.access, later); }},
    // The later one adds to the sums of the earlier one.
    {"sums in order", {.wait = true}, [](Earlier e, Later later) { return followsMma(e.access, later) && e.access.owner == later.owner; }},
    // The warp that waits for MMAs starts the copies, too.
    {"copies after MMAs", barrier, [](Earlier e, Later later) { return isTcgen05(e.access) && later.accessor == Accessor::tmaLoad; }},
    // Each thread has waited for the copies that it reads.
    {"own copies", barrier, [](Earlier e, Later later) { return readsOwnCopies(e.access, later); }},
    // A barrier of the warp group is enough for what no other one accesses.
    {"own part of a warp group", barrier,
     [](Earlier e, Later later) { return e.groupBarrier && e.access.owner == later.owner && isPerWarpGroup(e.access); }},
    // Program order is enough for the stores; mbarriers order the reads of the correction partition.
    {"own elements", everything, [](Earlier e, Later later) { return storesOwnElements(e.access, later); }},
};

} // namespace

ArrayRef<Exemption> exemptions() {
  return rows;
}

} // namespace tilewright::gpu
