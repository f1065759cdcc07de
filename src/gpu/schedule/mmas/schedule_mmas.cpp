// MMAs are waited for where they stand, so that the next one starts only when the threads have nothing to do, and they compute while
// tensor cores idle. This step decides another order. Attention backward, an iteration:
//   before: s = QK    wait s    p = exp2(s)    dv += pG    wait dv    dp = GV    wait dp    ds = p * dp    dk += ds Q    wait dk
//   after:  s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dp    ds = p * dp    dk += ds Q    wait dv, dk
// An MMA whose operands lie in shared memory is issued after the first MMA that nothing keeps it from; a wait stands before the first use
// of what it lets through. Neither moves past a store or copy to shared memory, or an arrival at the producer's barrier. There are two
// exceptions. If the loop's schedule has an MMA in flight until a wait of the next iteration, the stages of the previous iteration are
// refilled after that wait, and MMAs of this iteration's stages may be issued before. If a producer alone fills what an MMA reads, its
// wait may move past stores. Nothing moves yet: the decision is the attribute `ttg.mma_schedule`, and overlap-mmas carries it out.
#include "gpu/cost_model/accumulators.h"
#include "gpu/passes.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/mmas/block_order.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/written_memory.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// True if an MMA may be issued, and waited for, on either side of the operation: it says nothing about buffers.
bool mayPass(Operation *op) {
  if (ttg::partitionOf(op) == ttg::Partition::producer) return true; // another warp's
  return isMemoryEffectFree(op) || isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::BarrierWaitOp, ttg::LoadSharedOp, tt::LoadOp>(op);
}

/// Issues MMAs, and loads to registers, earlier. What is issued early is held for longer.
class EarlyMmas {
public:
  /// `registers` are there next to all accumulators.
  EarlyMmas(scf::ForOp loop, BlockOrder &order, int64_t registers)
      : loop(loop), block(*loop.getBody()), order(order), registers(registers) {
    auto schedule = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
    refillsBefore = schedule && schedule.drainsAtWait();
  }

  /// Returns the registers that the loads leave.
  int64_t run() {
    if (!contains(loop, ProgramOrder::learnsWrites))
      for (auto load : block.getOps<tt::LoadOp>())
        hoistLoad(load);
    for (auto mma : block.getOps<ttg::MmaAsyncOp>())
      issueEarly(mma);
    return registers;
  }

private:
  /// Moves a load to registers before the first MMA that it does not depend on, with what computes its address: it is on its way
  /// while that one runs.
  void hoistLoad(tt::LoadOp load) {
    int64_t held = isa<RankedTensorType>(load.getType()) ? registersOf(load.getType()) : 1;
    if (held > registers || !ttg::unwrittenGuards(load, loop)) return;
    llvm::SmallPtrSet<Operation *, 8> needed;
    need(load, needed);
    SmallVector<Operation *> moved = {load};
    for (Operation *op = order.previous(load); op; op = order.previous(op)) {
      if (!needed.contains(op)) continue;
      if (!isMemoryEffectFree(op)) return;
      need(op, needed);
      moved.push_back(op);
    }
    // The block has an MMA, so there is such an operation.
    Operation *first = *llvm::find_if(order.all(), [](Operation *op) {
      return isa<ttg::MmaAsyncOp, ttg::BarrierWaitOp>(op) && ttg::partitionOf(op) != ttg::Partition::producer;
    });
    registers -= held;
    for (Operation *op : llvm::reverse(moved))
      if (order.isBefore(first, op)) order.moveBefore(op, first);
  }

  /// Moves the MMA, with the operations that compute its operands, after the first MMA before it that it may follow.
  void issueEarly(ttg::MmaAsyncOp mma) {
    if (isa<RankedTensorType>(mma.getA().getType())) return;
    llvm::SmallPtrSet<Operation *, 8> needed;
    need(mma, needed);
    SmallVector<Operation *> moved = {mma};
    Operation *before = nullptr;
    SmallVector<Operation *> along; // what `moved` was when `before` was found
    bool readsStages = refillsBefore && llvm::all_of(mma.buffers(), [&](Value buffer) { return isInCircularBuffer(buffer); });
    for (Operation *op = order.previous(mma); op; op = order.previous(op)) {
      if (!mayPass(op) && !(readsStages && isRefill(op))) break;
      if (isa<ttg::MmaAsyncOp>(op)) {
        if (needed.contains(op)) break;
        before = op;
        along = moved;
      } else if (needed.contains(op) || (isa<ttg::BarrierWaitOp>(op) && ttg::partitionOf(op) != ttg::Partition::producer)) {
        if (!isa<ttg::BarrierWaitOp>(op) && !isMemoryEffectFree(op)) break;
        need(op, needed);
        moved.push_back(op);
      }
    }
    for (Operation *op : along)
      order.moveAfter(op, before);
  }

  /// True if an operation refills stages of the iteration before, or makes sure that they have been read. What has one stage is no circular
  /// buffer.
  static bool isRefill(Operation *op) {
    if (auto copy = dyn_cast<ttg::TmaLoadOp>(op)) return copy.getBarriers().getType().getCount() > 1;
    if (auto expect = dyn_cast<ttg::BarrierExpectOp>(op)) return expect.getBarriers().getType().getCount() > 1;
    return isa<ttg::FenceAsyncOp, ttg::BarrierArriveOp>(op);
  }

  /// True if TMA alone writes the operand in the loop, as a stage of a circular buffer.
  bool isInCircularBuffer(Value operand) {
    ttg::AllocOp alloc = allocOf(operand);
    auto refills = [](Operation *writer) { return isa<ttg::TmaLoadOp>(writer) && isRefill(writer); };
    return alloc && llvm::all_of(writersIn(loop, alloc), refills);
  }

  /// What the operation uses, inside of its regions as well.
  void need(Operation *op, llvm::SmallPtrSet<Operation *, 8> &needed) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == &block) needed.insert(from);
    });
  }

  scf::ForOp loop;
  Block &block;
  BlockOrder &order;
  int64_t registers;
  bool refillsBefore = false; ///< refills fill stages of the iteration before: its last MMA stays in flight until a wait of this one
};

/// Waits for MMAs later. What is waited for late keeps the registers of its first operand.
class LateWaits {
public:
  /// `warpSpecialized`: a producer fills circular buffers.
  LateWaits(scf::ForOp loop, BlockOrder &order, int64_t registers, bool warpSpecialized)
      : loop(loop), block(*loop.getBody()), order(order), registers(registers), warpSpecialized(warpSpecialized) {}

  /// Returns the edges from MMAs, and from arithmetic between them, to the waits at which they end.
  SmallVector<MmaEdge> run() {
    SmallVector<ttg::MmaAsyncWaitOp> waits(block.getOps<ttg::MmaAsyncWaitOp>());
    for (ttg::MmaAsyncWaitOp wait : llvm::reverse(waits))
      if (operandsOf(wait) <= registers) sinkWait(wait);
    return std::move(edges);
  }

private:
  /// Registers that the MMAs which the wait lets through read their first operands from.
  static int64_t operandsOf(ttg::MmaAsyncWaitOp wait) {
    int64_t operands = 0;
    for (Value tile : wait.getTiles())
      if (auto mma = tile.getDefiningOp<ttg::MmaAsyncOp>(); mma && isa<RankedTensorType>(mma.getA().getType()))
        operands += registersOf(mma.getA().getType());
    return operands;
  }

  /// True if only a producer learns from threads that the MMAs which the wait lets through have read their buffers: threads do not store
  /// there.
  bool readsForProducer(ttg::MmaAsyncWaitOp wait) {
    auto isWrittenByThreads = [&](Value operand) {
      ttg::AllocOp alloc = allocOf(operand);
      return alloc && llvm::any_of(accessesOf(alloc), [&](Operation *access) {
               return block.findAncestorOpInBlock(*access) && !isa<ttg::MmaAsyncOp, ttg::LoadSharedOp>(access) &&
                      ttg::partitionOf(access) != ttg::Partition::producer;
             });
    };
    return warpSpecialized && llvm::none_of(wait.getTiles(), [&](Value tile) {
             auto mma = tile.getDefiningOp<ttg::MmaAsyncOp>();
             return !mma || llvm::any_of(mma.buffers(), isWrittenByThreads);
           });
  }

  /// The MMA of the block that a wait lets through: its own, or that of the iteration before. Null if there is none.
  std::optional<MmaEdge> edgeOf(Value tile, ttg::MmaAsyncWaitOp until) {
    auto carried = dyn_cast<BlockArgument>(tile);
    if (carried && (carried.getOwner() != &block || carried == loop.getInductionVar())) return {};
    Value made = carried ? loop.getTiedLoopYieldedValue(carried)->get() : tile;
    auto mma = made.getDefiningOp<ttg::MmaAsyncOp>();
    return mma && mma->getBlock() == &block ? std::optional(MmaEdge{mma, until, carried ? 1 : 0}) : std::nullopt;
  }

  /// Moves the wait down to the first use of its tiles, or into a wait on the way that lets them through as well.
  void sinkWait(ttg::MmaAsyncWaitOp wait) {
    auto hasEdge = [&](Value tile) { return edgeOf(tile, wait).has_value(); };
    if (wait.getPending() != 0 || wait.getTiles().empty() || !llvm::all_of(wait.getTiles(), hasEdge)) return;
    auto reads = [&](Operation *op) {
      return llvm::any_of(wait->getUsers(), [&](Operation *user) { return block.findAncestorOpInBlock(*user) == op; });
    };
    bool passesStores = readsForProducer(wait);
    auto passes = [&](Operation *op) {
      return mayPass(op) || (passesStores && isa<ttg::AllocOp, ttg::FenceAsyncOp, ttg::StoreSharedOp, ttg::TmaStoreWaitOp>(op));
    };
    Operation *position = order.next(wait);
    for (; !position->hasTrait<OpTrait::IsTerminator>() && passes(position) && !reads(position); position = order.next(position))
      if (auto other = dyn_cast<ttg::MmaAsyncWaitOp>(position);
          other && !merged.contains(other) && pendingOf(other) <= pendingAt(wait, other))
        return end(wait, other);
    order.moveBefore(wait, position);
    pending[wait] = pendingAt(wait, position);
    end(wait, wait);
    if (Operation *computed = lastComputedTile(wait)) edges.push_back({computed, wait, 0});
  }

  /// The MMAs that `wait` lets through end at `until`.
  void end(ttg::MmaAsyncWaitOp wait, ttg::MmaAsyncWaitOp until) {
    for (Value tile : wait.getTiles())
      edges.push_back(*edgeOf(tile, until));
    if (wait != until) merged.insert(wait);
  }

  int64_t pendingOf(ttg::MmaAsyncWaitOp wait) const {
    auto known = pending.find(wait);
    return known == pending.end() ? int64_t(wait.getPending()) : known->second;
  }

  /// In the new order.
  int64_t pendingAt(ttg::MmaAsyncWaitOp wait, Operation *position) const {
    return gpu::pendingAt(wait, position, [&](Operation *op) { return order.previous(op); });
  }

  /// What is computed under the MMAs that the wait lets through, and used after it: the last such tile of numbers; null if there is
  /// none.
  Operation *lastComputedTile(ttg::MmaAsyncWaitOp wait) {
    for (Operation *op = order.previous(wait); op && !isa<ttg::MmaAsyncOp>(op); op = order.previous(op)) {
      if (isa<ttg::MmaAsyncWaitOp>(op) && !merged.contains(op)) return nullptr;
      auto tile = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
      if (!tile || !tile.getElementType().isF32() || !isElementwiseOnTiles(op)) continue;
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return order.isBefore(wait, block.findAncestorOpInBlock(*user)); }))
        return op;
    }
    return nullptr;
  }

  scf::ForOp loop;
  Block &block;
  BlockOrder &order;
  const int64_t registers;
  const bool warpSpecialized;
  DenseMap<Operation *, int64_t> pending;
  llvm::SmallPtrSet<Operation *, 4> merged;
  SmallVector<MmaEdge> edges;
};

/// Names what moves, what it stands after, and the ends of edges.
MmaSchedule scheduleOf(scf::ForOp loop, const BlockOrder &order, SmallVector<MmaEdge> edges) {
  llvm::SmallPtrSet<Operation *, 8> named;
  for (Operation *op : order.all())
    if (order.hasMoved(op)) {
      named.insert(op);
      if (Operation *before = order.previous(op)) named.insert(before);
    }
  for (const MmaEdge &edge : edges)
    named.insert({edge.op, edge.until});
  MmaSchedule schedule{loop, {}, std::move(edges)};
  for (Operation *op : order.all())
    if (named.contains(op)) schedule.ops.push_back({op, order.hasMoved(op)});
  return schedule;
}

void scheduleLoop(scf::ForOp loop, int64_t registers, bool warpSpecialized) {
  auto mmas = loop.getBody()->getOps<ttg::MmaAsyncOp>();
  if (std::distance(mmas.begin(), mmas.end()) < 2 || registers < 0) return;
  BlockOrder order(*loop.getBody());
  int64_t left = EarlyMmas(loop, order, registers).run();
  MmaSchedule schedule = scheduleOf(loop, order, LateWaits(loop, order, left, warpSpecialized).run());
  if (!schedule.ops.empty()) writeMmaSchedule(schedule);
}

} // namespace

LogicalResult scheduleMmas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    bool warpSpecialized = function->hasAttr(ttg::warpSpecializedName);
    int64_t available = registersForTiles(config, target, warpSpecialized);
    function.walk([&](scf::ForOp loop) {
      if (!hasOperandPartition(loop)) // its order is chosen
        scheduleLoop(loop, available - accumulatorsOf(loop), warpSpecialized);
    });
    return success();
  });
}

} // namespace tilewright::gpu
