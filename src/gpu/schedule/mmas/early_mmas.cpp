// Issues MMAs earlier in an iteration, and loads to registers before them.
//   before: s = QK    wait s    p = exp2(s)    dv += pG    wait dv    x = load row    dp = GV
//   after:  x = load row    s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dv
// An MMA whose operands lie in shared memory follows the first MMA that nothing keeps it from. It does not move past a store or copy to
// shared memory, or an arrival at the producer's barrier. There is one exception: if the loop's schedule has an MMA in flight until a wait
// of the next iteration, the stages of the previous iteration are refilled after that wait, and MMAs of this iteration's stages may be
// issued before.
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mmas/mma_order.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/written_memory.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

bool mayPass(Operation *op) {
  if (ttg::partitionOf(op) == ttg::Partition::producer) return true; // another warp's
  return isMemoryEffectFree(op) || isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::BarrierWaitOp, ttg::LoadSharedOp, tt::LoadOp>(op);
}

namespace {
class EarlyMmas {
public:
  EarlyMmas(scf::ForOp loop, BlockOrder &order, int64_t registers)
      : loop(loop), block(*loop.getBody()), order(order), registers(registers) {
    auto schedule = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
    refillsBefore = schedule && schedule.drainsAtWait();
  }

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

} // namespace

int64_t issueEarly(scf::ForOp loop, BlockOrder &order, int64_t registers) {
  return EarlyMmas(loop, order, registers).run();
}

} // namespace tilewright::gpu
