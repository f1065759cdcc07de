// Interleaves stores with their producers. Threads may compute an MMA operand from tiles in shared memory. It is stored, fenced and made
// visible at the end. ptxas computes all of it and then stores, so shared memory is idle first and the arithmetic units are idle after.
// interleave-stores interleaves the two, before each ptx.fence_async with `interleavedStores`:
//   before: load a    load b    load c    compute    store a'    store b'    store c'    fence
//   after:  load a    load b    compute   store a'   warp barrier    load c    compute   store b'    warp barrier    compute    store c'
//   fence
// A warp barrier follows the stores of each group, because no store moves across it. The loads of the next group come before the stores
// of this one.
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
class StoreInterleaver {
public:
  /// `last`: the last operation of the part. The part begins after the previous operation with another effect on memory.
  explicit StoreInterleaver(Operation *last) {
    for (Operation *op = last; op && op->getNumRegions() == 0; op = op->getPrevNode()) {
      if (!isa<ptx::StoreSharedOp, ptx::LoadSharedOp>(op) && !isMemoryEffectFree(op)) break;
      part.insert(op);
    }
  }

  /// Reorders the operations before `end`, which stays in its position.
  void reorder(OpBuilder &b, Operation *end) {
    bool mayReadStored = false;
    for (Operation *op : llvm::reverse(part.getArrayRef())) {
      if (auto store = dyn_cast<ptx::StoreSharedOp>(op)) add(store);
      mayReadStored |= isa<ptx::LoadSharedOp>(op) && !groups.empty();
    }
    if (groups.size() < 2 || mayReadStored) return;
    moveLoadsToEnd(groups[0], end);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (i + 1 < groups.size()) moveLoadsToEnd(groups[i + 1], end);
      for (Operation *store : groups[i].stores)
        moveToEnd(store, end);
      b.setInsertionPoint(end);
      if (i + 1 < groups.size()) ptx::WarpBarrierOp::create(b, end->getLoc());
    }
    for (Operation *op : llvm::reverse(part.getArrayRef())) // used only by operations after the stores
      moveToEnd(op, end);
  }

private:
  /// Stores of values from the same loads.
  struct Group {
    llvm::SetVector<Operation *> loads;
    SmallVector<Operation *> stores;
  };

  void collectLoads(Operation *op, llvm::SetVector<Operation *> &loads, DenseSet<Operation *> &seen) {
    if (!op || !part.contains(op) || !seen.insert(op).second) return;
    if (isa<ptx::LoadSharedOp>(op)) loads.insert(op);
    for (Value operand : op->getOperands())
      collectLoads(operand.getDefiningOp(), loads, seen);
  }

  void add(ptx::StoreSharedOp store) {
    Group group;
    DenseSet<Operation *> seen;
    collectLoads(store, group.loads, seen);
    auto isKnown = [&](Operation *load) { return llvm::any_of(groups, [&](Group &other) { return other.loads.contains(load); }); };
    bool together = !groups.empty() && llvm::all_of(group.loads, isKnown);
    if (!together) groups.push_back(std::move(group));
    groups.back().stores.push_back(store);
  }

  /// Moves the operation, and the operations that it depends on, before `end`.
  void moveToEnd(Operation *op, Operation *end) {
    if (!op || !part.contains(op) || !moved.insert(op).second) return;
    for (Value operand : op->getOperands())
      moveToEnd(operand.getDefiningOp(), end);
    op->moveBefore(end);
  }

  void moveLoadsToEnd(Group &group, Operation *end) {
    for (Operation *load : group.loads)
      moveToEnd(load, end);
  }

  llvm::SetVector<Operation *> part; // in reverse order
  SmallVector<Group> groups;
  DenseSet<Operation *> moved;
};
} // namespace

LogicalResult interleaveStores(ModuleOp module) {
  SmallVector<ptx::FenceAsyncOp> fences;
  module.walk([&](ptx::FenceAsyncOp fence) {
    if (fence.getInterleavedStores()) fences.push_back(fence);
  });
  OpBuilder b(module.getContext());
  for (ptx::FenceAsyncOp fence : fences) {
    StoreInterleaver(fence->getPrevNode()).reorder(b, fence);
    fence.setInterleavedStores(false);
  }
  return success();
}

} // namespace tilewright::gpu
