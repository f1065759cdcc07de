// Attention backward, an iteration. Two tiles in f32 are live at the first dot, then no more than their 16-bit results:
//   before: p = exp2(s)    dv += p G    x = p * (y - delta)    dk += x Q
//   after:  p = exp2(s)    x = p * (y - delta)    dv += p G    dk += x Q
// Reads of operands move with the dot. Next to it, threads read them part by part, so they take few registers. Their buffers are in use for
// longer, so a dot stays if the kernel then needs more shared memory than there is.
#include "gpu/cost_model/accumulators.h"
#include "gpu/passes.h"
#include "gpu/schedule/decisions/shared_budget.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tile_equivalence.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class DelayedDot {
public:
  explicit DelayedDot(tt::DotOp dot) : dot(dot) {
    for (Value operand : {dot.getA(), dot.getB()})
      if (auto read = operand.getDefiningOp<ttg::LoadSharedOp>(); read && read->hasOneUse() && isNext(read)) reads.push_back(read);
  }

  /// Moves the dot to where the fewest registers are live. False if that is where it stands.
  bool move() {
    Operation *best = nullptr;
    int64_t least = liveAfter(dot);
    for (Operation *op = dot->getNextNode(); op && isPassed(op); op = op->getNextNode())
      if (int64_t live = liveAfter(op); live < least) best = op, least = live;
    if (!best) return false;
    SmallVector<Operation *> moved(reads);
    moved.push_back(dot);
    llvm::sort(moved, [](Operation *x, Operation *y) { return y->isBeforeInBlock(x); });
    for (Operation *op : moved)
      before.push_back({op, op->getNextNode()});
    dot->moveAfter(best);
    for (Operation *read : reads)
      read->moveBefore(dot);
    return true;
  }

  /// Moves the dot back.
  void undo() {
    for (auto [op, next] : before)
      op->moveBefore(next);
  }

private:
  /// True if only reads of shared memory stand between this one and the dot.
  bool isNext(ttg::LoadSharedOp read) const {
    Operation *op = read->getNextNode();
    while (isa_and_nonnull<ttg::LoadSharedOp>(op))
      op = op->getNextNode();
    return op == dot;
  }

  /// True if the dot and its reads may move past `op`.
  bool isPassed(Operation *op) const {
    if (auto store = dyn_cast<ttg::StoreSharedOp>(op))
      return llvm::none_of(reads, [&](Operation *read) { return allocOf(read->getOperand(0)) == allocOf(store.getBuffer()); });
    bool onlyReads = isa<ttg::LoadSharedOp, ttg::DescriptorLoadOp, tt::LoadOp, ttg::AllocOp, ttg::FenceAsyncOp>(op);
    return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() && !isa<tt::DotOp>(op) &&
           (onlyReads || isMemoryEffectFree(op));
  }

  /// Returns the registers of what is computed in the iteration up to `op`, and that operations after it use. The dot's own operands are
  /// live at it anyway.
  int64_t liveAfter(Operation *op) const {
    int64_t live = 0;
    for (Operation &from : *dot->getBlock()) {
      if (op->isBeforeInBlock(&from)) break;
      if (!isa<tt::DotOp, ttg::ConvertLayoutOp>(from) && !isElementwiseOnTiles(&from)) continue;
      auto isLater = [&](Operation *user) { return user != dot && isAfter(user, op); };
      if (&from != dot && llvm::any_of(from.getUsers(), isLater)) live += registersOf(from.getResult(0).getType());
    }
    return live;
  }

  bool isAfter(Operation *user, Operation *op) const {
    Operation *inBlock = dot->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && op->isBeforeInBlock(inBlock);
  }

  tt::DotOp dot;
  SmallVector<Operation *> reads;                          ///< of operands, for this dot alone
  SmallVector<std::pair<Operation *, Operation *>> before; ///< what has moved, the last one first, and what stood after it
};

} // namespace

/// Returns the bytes of shared memory that the kernel needs if the loop's circular buffers are as deep as it asks for.
static int64_t requestedBytes(scf::ForOp loop, tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  SharedBudget budget(function, target, /*later=*/0);
  int64_t stages = requestedStages(loop, config);
  return stages > 1 ? budget.bytesWith(buffersOf(LoopSchedule(findPrefetchableLoads(loop, target)), stages, loop)) : budget.bytes();
}

/// Delays the dots of a loop that only its next iteration needs, the last one first.
static void delayDots(scf::ForOp loop, tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (holdWholeOperands(loop, config, target)) return;
  auto isForNextIteration = [](tt::DotOp dot) { return dot->hasOneUse() && isa<scf::YieldOp>(*dot->user_begin()); };
  SmallVector<tt::DotOp> dots(llvm::make_filter_range(loop.getBody()->getOps<tt::DotOp>(), isForNextIteration));
  if (dots.empty()) return;
  int64_t allowed = std::max(requestedBytes(loop, function, config, target), target.sharedBytes);
  for (tt::DotOp dot : llvm::reverse(dots)) {
    DelayedDot delayed(dot);
    if (delayed.move() && requestedBytes(loop, function, config, target) > allowed) delayed.undo();
  }
}

LogicalResult delayDots(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    function.walk([&](scf::ForOp loop) { delayDots(loop, function, config, target); });
    return success();
  });
}

} // namespace tilewright::gpu
