// MMAs are waited for where they stand, so that the next one starts only when the threads have nothing to do, and they compute while
// tensor cores idle. Attention backward, an iteration:
//   before: s = QK    wait s    p = exp2(s)    dv += pG    wait dv    dp = GV    wait dp    ds = p * dp    dk += ds Q    wait dk
//   after:  s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dp    ds = p * dp    dk += ds Q    wait dv, dk
// An MMA whose operands lie in shared memory starts after the first MMA that nothing keeps it from; a wait stands before the first use of
// what it lets through. MMAs end in the order in which they start, so that a wait counts those that may still run. Neither moves past
// a store or copy to shared memory, or an arrival at the producer's barrier. There are two exceptions. If the last MMA of an iteration
// stays in flight across the back edge, the stages of the previous iteration are refilled after the first wait, and MMAs of this
// iteration's stages may start before that. If a producer alone fills what an MMA reads, its wait may move past stores.
#include "gpu/passes.h"
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/tiles/tile_equivalence.h"
#include "ir/volatile_load.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Whether an MMA may be started, and waited for, on either side of the operation: it says nothing about buffers.
bool mayPass(Operation *op) {
  if (op->hasAttr(ttg::producerName)) return true; // another warp's
  return isMemoryEffectFree(op) || isa<ttg::WgmmaOp, ttg::WgmmaWaitOp, ttg::BarrierWaitOp, ttg::LoadSharedOp, tt::LoadOp>(op);
}

class MmaOverlap {
public:
  /// `registers` are there next to all accumulators. `warpSpecialized`: a producer fills circular buffers.
  MmaOverlap(Block &block, int64_t registers, bool warpSpecialized) : block(block), registers(registers), warpSpecialized(warpSpecialized) {
    for (auto wait : block.getOps<ttg::WgmmaWaitOp>())
      refillsBefore |= llvm::any_of(wait.getTiles(), [](Value tile) { return isa<BlockArgument>(tile); });
  }

  /// What starts early is held for longer, and what is waited for late keeps the registers of its first operand.
  void run() {
    SmallVector<ttg::WgmmaOp> mmas(block.getOps<ttg::WgmmaOp>());
    if (mmas.size() < 2 || registers < 0) return;
    for (auto load : llvm::make_early_inc_range(block.getOps<tt::LoadOp>()))
      hoistLoad(load);
    for (ttg::WgmmaOp mma : mmas)
      issueEarly(mma);
    SmallVector<ttg::WgmmaWaitOp> waits(block.getOps<ttg::WgmmaWaitOp>());
    for (ttg::WgmmaWaitOp wait : llvm::reverse(waits))
      if (operandsOf(wait) <= registers) sinkWait(wait);
  }

private:
  /// Moves a load to registers before the first MMA that it does not depend on, with what computes its address: it is on its way
  /// while that one runs.
  void hoistLoad(tt::LoadOp load) {
    auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
    int64_t held = isa<RankedTensorType>(load.getType()) ? registersOf(load.getType()) : 1;
    if (!loop || held > registers || tt::isVolatileLoad(load) || mayLearnOfWrites(loop)) return;
    std::optional<LaunchGuards> guards = noWriteGuards(load, loop);
    if (!guards) return;
    llvm::SmallPtrSet<Operation *, 8> needed;
    need(load, needed);
    SmallVector<Operation *> moved = {load};
    for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
      if (!needed.contains(op)) continue;
      if (!isMemoryEffectFree(op)) return;
      need(op, needed);
      moved.push_back(op);
    }
    // The block has an MMA, so there is such an operation.
    Operation *first =
        &*llvm::find_if(block, [](Operation &op) { return isa<ttg::WgmmaOp, ttg::BarrierWaitOp>(op) && !op.hasAttr(ttg::producerName); });
    registers -= held;
    ttg::relyOn(loop->getParentOfType<tt::FuncOp>(), *guards);
    for (Operation *op : llvm::reverse(moved))
      if (first->isBeforeInBlock(op)) op->moveBefore(first);
  }

  /// Moves the MMA, with the operations that compute its operands, after the first MMA before it that it may follow.
  void issueEarly(ttg::WgmmaOp mma) {
    if (isa<RankedTensorType>(mma.getA().getType())) return;
    llvm::SmallPtrSet<Operation *, 8> needed;
    need(mma, needed);
    SmallVector<Operation *> moved = {mma};
    ttg::WgmmaOp before;
    SmallVector<Operation *> along; // what `moved` was when `before` was found
    bool readsStages = refillsBefore && isInCircularBuffer(mma.getA()) && isInCircularBuffer(mma.getB());
    for (Operation *op = mma->getPrevNode(); op; op = op->getPrevNode()) {
      if (!mayPass(op) && !(readsStages && isRefill(op))) break;
      if (auto earlier = dyn_cast<ttg::WgmmaOp>(op)) {
        if (needed.contains(op)) break;
        before = earlier;
        along = moved;
      } else if (needed.contains(op) || (isa<ttg::BarrierWaitOp>(op) && !op->hasAttr(ttg::producerName))) {
        if (!isa<ttg::BarrierWaitOp>(op) && !isMemoryEffectFree(op)) break;
        need(op, needed);
        moved.push_back(op);
      }
    }
    for (Operation *op : along)
      op->moveAfter(before);
  }

  /// Whether an operation refills stages of the iteration before, or makes sure that they have been read. What has one stage is no circular
  /// buffer.
  static bool isRefill(Operation *op) {
    if (auto copy = dyn_cast<ttg::TmaLoadOp>(op)) return copy.getBarriers().getType().getCount() > 1;
    if (auto expect = dyn_cast<ttg::BarrierExpectOp>(op)) return expect.getBarriers().getType().getCount() > 1;
    return isa<ttg::FenceAsyncOp, ttg::BarrierArriveOp>(op);
  }

  /// Whether TMA alone writes the operand in the loop, as a stage of a circular buffer.
  bool isInCircularBuffer(Value operand) {
    ttg::AllocOp alloc = allocOf(operand);
    return alloc && llvm::all_of(accessesOf(alloc), [&](Operation *access) {
             if (!block.findAncestorOpInBlock(*access) || isa<ttg::WgmmaOp, ttg::LoadSharedOp>(access)) return true;
             return isa<ttg::TmaLoadOp>(access) && isRefill(access);
           });
  }

  /// What the operation uses, inside of its regions as well.
  void need(Operation *op, llvm::SmallPtrSet<Operation *, 8> &needed) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == &block) needed.insert(from);
    });
  }

  /// Registers that the MMAs which the wait lets through read their first operands from.
  static int64_t operandsOf(ttg::WgmmaWaitOp wait) {
    int64_t registers = 0;
    for (Value tile : wait.getTiles())
      if (auto mma = tile.getDefiningOp<ttg::WgmmaOp>(); mma && isa<RankedTensorType>(mma.getA().getType()))
        registers += registersOf(mma.getA().getType());
    return registers;
  }

  /// True if only a producer learns from threads that the MMAs which the wait lets through have read their buffers: threads do not store
  /// there.
  bool readsForProducer(ttg::WgmmaWaitOp wait) {
    auto isWrittenByThreads = [&](Value operand) {
      ttg::AllocOp alloc = allocOf(operand);
      return alloc && llvm::any_of(accessesOf(alloc), [&](Operation *access) {
               return block.findAncestorOpInBlock(*access) && !isa<ttg::WgmmaOp, ttg::LoadSharedOp>(access) &&
                      !access->hasAttr(ttg::producerName);
             });
    };
    return warpSpecialized && llvm::none_of(wait.getTiles(), [&](Value tile) {
             auto mma = tile.getDefiningOp<ttg::WgmmaOp>();
             return !mma || isWrittenByThreads(mma.getA()) || isWrittenByThreads(mma.getB());
           });
  }

  /// Moves the wait down to the first use of its tiles, or into a wait on the way that lets them through as well.
  void sinkWait(ttg::WgmmaWaitOp wait) {
    bool ownMmas = !wait.getTiles().empty() && llvm::all_of(wait.getTiles(), [&](Value tile) {
      if (auto carried = dyn_cast<BlockArgument>(tile)) return carried.getOwner() == &block; // of the iteration before
      auto mma = tile.getDefiningOp<ttg::WgmmaOp>();
      return mma && mma->getBlock() == &block;
    });
    if (wait.getPending() != 0 || !ownMmas) return;
    auto reads = [&](Operation *op) {
      return llvm::any_of(wait->getUsers(), [&](Operation *user) { return block.findAncestorOpInBlock(*user) == op; });
    };
    bool passesStores = readsForProducer(wait);
    auto passes = [&](Operation *op) {
      return mayPass(op) || (passesStores && isa<ttg::AllocOp, ttg::FenceAsyncOp, ttg::StoreSharedOp, ttg::TmaStoreWaitOp>(op));
    };
    Operation *position = wait->getNextNode();
    for (; !position->hasTrait<OpTrait::IsTerminator>() && passes(position) && !reads(position); position = position->getNextNode())
      if (auto other = dyn_cast<ttg::WgmmaWaitOp>(position); other && endsMma(other, pendingAt(wait, other))) return merge(wait, other);
    wait->moveBefore(position);
    wait.setPending(static_cast<uint32_t>(pendingAt(wait, position)));
    if (Operation *computed = lastComputedTile(wait)) passThrough(wait, computed->getResult(0));
  }

  /// What is computed under the MMAs that the wait lets through, and used after it: the last such tile of numbers; null if there is
  /// none.
  Operation *lastComputedTile(ttg::WgmmaWaitOp wait) {
    for (Operation *op = wait->getPrevNode(); op && !isa<ttg::WgmmaOp, ttg::WgmmaWaitOp>(op); op = op->getPrevNode()) {
      auto tile = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
      if (!tile || !tile.getElementType().isF32() || !isElementwiseOnTiles(op)) continue;
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return wait->isBeforeInBlock(block.findAncestorOpInBlock(*user)); }))
        return op;
    }
    return nullptr;
  }

  /// The value goes through the wait, so that ptxas does not move the wait above what computes it. Nothing adds its elements up there, and
  /// ptxas computes them in an order of its own.
  static void passThrough(ttg::WgmmaWaitOp wait, Value computed) {
    ttg::WgmmaWaitOp both = extendWait(wait, computed);
    both->setAttr(ptx::nameEveryValueName, UnitAttr::get(both.getContext()));
    computed.replaceUsesWithIf(both.getResults().back(), [&](OpOperand &use) {
      return both->isBeforeInBlock(both->getBlock()->findAncestorOpInBlock(*use.getOwner()));
    });
  }

  static void merge(ttg::WgmmaWaitOp wait, ttg::WgmmaWaitOp next) {
    ttg::WgmmaWaitOp both = extendWait(next, wait.getTiles());
    wait->replaceAllUsesWith(both.getResults().take_back(wait.getTiles().size()));
    wait.erase();
  }

  Block &block;
  int64_t registers;
  bool warpSpecialized;
  bool refillsBefore = false; ///< refills fill stages of the iteration before: its last MMA stays in flight until a wait of this one
};

} // namespace

LogicalResult overlapMmas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool warpSpecialized = function->hasAttr(ttg::warpSpecializedName);
    int64_t available = registersForTiles(config, target, warpSpecialized);
    for (scf::ForOp loop : loops)
      if (!isDequantizing(loop)) // its order is chosen
        MmaOverlap(*loop.getBody(), available - accumulatorsOf(loop), warpSpecialized).run();
    return success();
  });
}

} // namespace tilewright::gpu
