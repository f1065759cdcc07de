#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/cost_model/dequantize_partition.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/written_memory.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"
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

/// True for a branch or loop: it has regions, other than those that combine or compute elements.
static bool isControlFlow(Operation *op) {
  return op->getNumRegions() != 0 && !isa<tt::ReduceOp, tt::ScanOp, tt::MapElementwiseOp>(op);
}

namespace {
class Matcher {
public:
  Matcher(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) : config(config), target(target) { c.loop = loop; }

  Result<DequantizeCandidate> run() {
    for (auto check : {&Matcher::findMma, &Matcher::findOperands, &Matcher::accumulates, &Matcher::storesLater, &Matcher::suits})
      if (Result<void> passed = (this->*check)(); !passed) return Failure{passed.error()};
    return std::move(c);
  }

private:
  /// Finds the only MMA of a body of known operations, whose copies can run ahead.
  Result<void> findMma() {
    if (requestedStages(c.loop, config) < 2) return Failure{"num_stages permits no prefetching"};
    for (Operation &op : c.loop.getBody()->without_terminator()) {
      if (isControlFlow(&op)) return Failure{"its loop has a branch or another loop"};
      if (!isKnown(&op) || op.getNumRegions() != 0) return Failure{"its loop has '" + op.getName().getStringRef().str() + "'"};
      if (isa<ttg::DescriptorLoadOp>(op)) {
        if (Result<void> prefetch = checkPrefetch(&op, {}, c.loop, /*mayCopyAsync=*/false); !prefetch)
          return Failure{"a copy cannot be prefetched: " + prefetch.error()};
        if (!LoopIterations(c.loop).loads(op.getOperands()).empty()) return Failure{"the address of a copy is loaded"};
      }
      auto found = dyn_cast<ttg::MmaAsyncOp>(op);
      if (found && c.mma) return Failure{"its loop has several dots"};
      if (found) c.mma = found;
    }
    if (!c.mma) return Failure{"its loop has no dot by wgmma"};
    if (c.mma.getPromotionInterval()) return Failure{"its sums are promoted"};
    return c.mma.getUseC() ? Failure{"its sums begin with 0 in some iterations"} : Result<void>();
  }

  /// Finds the store to the operand's buffer.
  std::optional<StoredOperand> storedIn(Value buffer) {
    StoredOperand stored{{}, {}, {0, 1}};
    if (auto view = buffer.getDefiningOp<ttg::ViewOp>()) {
      stored.order = SmallVector<int32_t>(view.getOrder());
      auto from = dyn_cast<ttg::BufferType>(view.getBuffer().getType());
      if (from.getElementType() != cast<ttg::BufferType>(view.getType()).getElementType()) return {};
      buffer = view.getBuffer();
    }
    stored.alloc = buffer.getDefiningOp<ttg::AllocOp>();
    if (!stored.alloc || stored.alloc->getBlock() != c.loop.getBody() || stored.order.size() != 2) return {};
    for (Operation *access : accessesOf(stored.alloc)) {
      auto store = dyn_cast<ttg::StoreSharedOp>(access);
      if ((store && stored.store) || (!store && access != c.mma)) return {};
      if (store) stored.store = store;
    }
    if (!stored.store || stored.store->getBlock() != c.loop.getBody()) return {};
    return stored;
  }

  Result<void> findOperands() {
    std::optional<StoredOperand> left = storedIn(c.mma.getA()), right = storedIn(c.mma.getB());
    if (!left || !right || left->alloc == right->alloc) return Failure{"its operands do not have a buffer each"};
    if (right->isCopied()) return Failure{"its second operand is copied as it is in memory"};
    c.first = *left, c.second = *right;
    for (Operation &op : c.loop.getBody()->without_terminator()) {
      if (isa<ttg::StoreSharedOp>(op) && &op != c.first.store && &op != c.second.store)
        return Failure{"its loop stores more than two operands to shared memory"};
      if (!isa<ttg::FenceAsyncOp>(op)) continue;
      if (c.fence) return Failure{"its loop stores to shared memory at several points"};
      c.fence = &op;
    }
    bool isOrdered =
        c.fence && c.first.store->isBeforeInBlock(c.fence) && c.second.store->isBeforeInBlock(c.fence) && c.fence->isBeforeInBlock(c.mma);
    return isOrdered ? Result<void>() : Failure{"its dot does not follow the stores of both operands"};
  }

  /// Checks that the MMA is waited for in its iteration, and adds to what the loop carries.
  Result<void> accumulates() {
    ttg::MmaAsyncWaitOp wait = waitFor(c.mma.getD());
    auto sum = dyn_cast<BlockArgument>(c.mma.getC());
    bool adds = c.mma.getD().hasOneUse() && wait && wait.getTiles().size() == 1 && wait.getPending() == 0 && sum &&
                sum.getOwner() == c.loop.getBody() && sum.hasOneUse() && c.loop.getTiedLoopYieldedValue(sum)->get() == wait.getResults()[0];
    return adds ? Result<void>() : Failure{"its loop uses the sums otherwise than to add to them"};
  }

  /// Checks that nothing that the partition may load is stored before the loop's end, or by a loop over tiles around it: the partition does
  /// not wait for the consumers' stores, and is ahead of them by a tile.
  Result<void> storesLater() {
    scf::ForOp tiles = topLevelLoopAround(c.loop), outermost = tiles ? tiles : c.loop;
    if (!isa<tt::FuncOp>(outermost->getParentOp())) return Failure{"its loop is in a branch"};
    for (Operation &op : *outermost->getBlock()) {
      if (&op == outermost) break;
      if (!isMemoryEffectFree(&op) && !isa<tt::LoadOp>(op)) return Failure{"the kernel stores before its loop"};
    }
    if (!tiles) return {};
    if (tiles.getUnsignedCmp()) return Failure{"the loop over tiles compares unsigned numbers"};
    Result<void> result;
    tiles.walk([&](Operation *op) {
      auto load = dyn_cast<tt::LoadOp>(op);
      Result<LaunchGuards> unwritten = load ? ttg::unwrittenGuards(load, tiles) : LaunchGuards();
      if (unwritten)
        llvm::append_range(c.guards, *unwritten);
      else
        result = Failure{"the loop over tiles may store what it loads"};
      if (isControlFlow(op) && op != tiles && op != c.loop) result = Failure{"the loop over tiles has a branch or another loop"};
      return result ? WalkResult::advance() : WalkResult::interrupt();
    });
    return result;
  }

  Result<void> suits() {
    auto result = cast<RankedTensorType>(c.mma.getType());
    auto tile = cast<RankedTensorType>(c.second.store.getSrc().getType());
    if (ttg::elementBits(tile) != 16 || !result.getElementType().isF32())
      return Failure{"its operands are not of 16 bits, or its sums not of 32"};
    Dims shape = ttg::shapeOf(result);
    bool suits = suitsDequantizePartition(shape[0], shape[1], tile.getDimSize(c.dimOf(c.second, 0)), config.getWarps(), target);
    return suits ? Result<void>()
                 : Failure{"its registers suit other tiles than " + std::to_string(shape[0]) + "x" + std::to_string(shape[1])};
  }

  DequantizeCandidate c;
  ttg::ConfigAttr config;
  const GpuTarget &target;
};
} // namespace

Result<DequantizeCandidate> matchDequantize(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  return Matcher(loop, config, target).run();
}

bool isComputedFrom(Value value, Block *body, function_ref<bool(Operation *)> isSuch) {
  return tt::dependsOn(value, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (!op || op->getBlock() != body) return tt::Search::skip;
    return isSuch(op) ? tt::Search::found : tt::Search::follow;
  });
}

/// True if the tile's numbers are those of a loaded tile with narrower ones. Masks and addresses are not among them.
static bool isUpcast(Value tile, Block *body) {
  int64_t bits = ttg::memoryBits(tile.getType());
  return tt::dependsOn(tile, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (!op || op->getBlock() != body || getElementTypeOrSelf(source).isInteger(1)) return tt::Search::skip;
    if (!isa<tt::LoadOp, ttg::DescriptorLoadOp>(op)) return tt::Search::follow;
    return isTile(source) && ttg::memoryBits(source.getType()) < bits ? tt::Search::found : tt::Search::skip;
  });
}

bool upcastsOperand(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<ttg::StoreSharedOp>(), [&](ttg::StoreSharedOp store) {
    ttg::AllocOp alloc = allocOf(store.getBuffer());
    bool forMma = alloc && llvm::any_of(accessesOf(alloc), llvm::IsaPred<ttg::MmaAsyncOp>);
    return forMma && isUpcast(store.getSrc(), loop.getBody());
  });
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
