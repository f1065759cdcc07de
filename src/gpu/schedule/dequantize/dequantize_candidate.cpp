#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/cost_model/dequantize_partition.h"
#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "support/target.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// True for an operation that stores nothing else: the partition would not wait for that before it loads.
static bool isKnown(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<tt::LoadOp, ttg::DescriptorLoadOp, ttg::AllocOp, ttg::StoreSharedOp, ttg::FenceAsyncOp, ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(
             op);
}

bool DequantizeCandidate::match() {
  return requestedStages(loop, config) > 1 && findMma() && findOperands() && accumulatesInIteration() && storesLater() && suits();
}

/// Finds the only MMA of a body of known operations, whose copies can run ahead.
bool DequantizeCandidate::findMma() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions() != 0 || !isKnown(&op)) return false;
    if (isa<ttg::DescriptorLoadOp>(op) && !checkPrefetch(&op, {}, loop, /*mayCopyAsync=*/false)) return false;
    auto found = dyn_cast<ttg::MmaAsyncOp>(op);
    if (found && mma) return false;
    if (found) mma = found;
  }
  return mma && !mma.getPromotionInterval() && !mma.getUseC();
}

std::optional<StoredOperand> DequantizeCandidate::storedIn(Value buffer) {
  StoredOperand stored{{}, {}, {0, 1}};
  if (auto view = buffer.getDefiningOp<ttg::ViewOp>()) {
    stored.order = SmallVector<int32_t>(view.getOrder());
    auto from = dyn_cast<ttg::BufferType>(view.getBuffer().getType());
    if (from.getElementType() != cast<ttg::BufferType>(view.getType()).getElementType()) return {};
    buffer = view.getBuffer();
  }
  stored.alloc = buffer.getDefiningOp<ttg::AllocOp>();
  if (!stored.alloc || stored.alloc->getBlock() != loop.getBody() || stored.order.size() != 2) return {};
  for (Operation *access : accessesOf(stored.alloc)) {
    auto store = dyn_cast<ttg::StoreSharedOp>(access);
    if ((store && stored.store) || (!store && access != mma)) return {};
    if (store) stored.store = store;
  }
  if (!stored.store || stored.store->getBlock() != loop.getBody()) return {};
  return stored;
}

bool DequantizeCandidate::findOperands() {
  std::optional<StoredOperand> left = storedIn(mma.getA()), right = storedIn(mma.getB());
  if (!left || !right || left->alloc == right->alloc || right->isCopied()) return false;
  first = *left;
  second = *right;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<ttg::StoreSharedOp>(op) && &op != first.store && &op != second.store) return false;
    if (!isa<ttg::FenceAsyncOp>(op)) continue;
    if (fence) return false;
    fence = &op;
  }
  return fence && first.store->isBeforeInBlock(fence) && second.store->isBeforeInBlock(fence) && fence->isBeforeInBlock(mma);
}

/// True if the MMA is waited for in its iteration, and adds to what the loop carries.
bool DequantizeCandidate::accumulatesInIteration() {
  ttg::MmaAsyncWaitOp wait = waitFor(mma.getD());
  auto sum = dyn_cast<BlockArgument>(mma.getC());
  return mma.getD().hasOneUse() && wait && wait.getTiles().size() == 1 && wait.getPending() == 0 && sum &&
         sum.getOwner() == loop.getBody() && sum.hasOneUse() && loop.getTiedLoopYieldedValue(sum)->get() == wait.getResults()[0];
}

/// True if nothing that the partition may load is stored before the loop's end, or by a loop over tiles around it: the partition does not
/// wait for the consumers' stores, and is ahead of them by a tile.
bool DequantizeCandidate::storesLater() {
  scf::ForOp tiles = topLevelLoopAround(loop), outermost = tiles ? tiles : loop;
  if (!isa<tt::FuncOp>(outermost->getParentOp())) return false;
  for (Operation &op : *outermost->getBlock()) {
    if (&op == outermost) break;
    if (!isMemoryEffectFree(&op) && !isa<tt::LoadOp>(op)) return false;
  }
  if (!tiles) return true;
  if (tiles.getUnsignedCmp()) return false;
  WalkResult walk = tiles.walk([&](Operation *op) {
    if (op->getNumRegions() != 0 && op != tiles && op != loop) return WalkResult::interrupt();
    auto load = dyn_cast<tt::LoadOp>(op);
    std::optional<LaunchGuards> unwritten = load ? noWriteGuards(load, tiles) : LaunchGuards();
    if (unwritten) llvm::append_range(guards, *unwritten);
    return unwritten ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

bool DequantizeCandidate::suits() {
  auto result = cast<RankedTensorType>(mma.getType());
  auto tile = cast<RankedTensorType>(second.store.getSrc().getType());
  bool hasTypes = tile.getElementTypeBitWidth() == 16 && result.getElementType().isF32();
  Dims shape = ttg::shapeOf(result);
  return hasTypes && suitsDequantizePartition(shape[0], shape[1], tile.getDimSize(dimOf(second, 0)), config.getWarps(), target);
}

Dims DequantizeCandidate::shapeOfFirst() const {
  Dims shape = ttg::shapeOf(ttg::StoreSharedOp(first.store).getSrc().getType());
  return {shape[static_cast<size_t>(first.order[0])], shape[static_cast<size_t>(first.order[1])]};
}

Layout rowsOfThreads(const Dims &shape, int64_t along) {
  Layout layout;
  layout.shape = shape;
  auto basis = [&](int64_t dim, int64_t step) {
    Dims at(2, 0);
    at[static_cast<size_t>(dim)] = step;
    return flatOf(shape, at);
  };
  for (int64_t step = 1; step < shape[static_cast<size_t>(along)]; step *= 2)
    layout.basesOf(Axis::reg).push_back(basis(along, step));
  for (int64_t step = 1; step < shape[static_cast<size_t>(1 - along)]; step *= 2) {
    Axis axis = step < int64_t(1) << laneBits ? Axis::lane : step < threadsOfGroup ? Axis::warp : Axis::reg;
    layout.basesOf(axis).push_back(basis(1 - along, step));
  }
  layout.basesOf(Axis::warp).push_back(0); // the second warp group holds copies
  return layout;
}

} // namespace tilewright::gpu
