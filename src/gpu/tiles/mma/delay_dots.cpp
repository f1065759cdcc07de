// Attention backward, an iteration. Two tiles in f32 are live at the first dot, then no more than their 16-bit results:
//   before: p = exp2(s)    dv += p G    x = p * (y - delta)    dk += x Q
//   after:  p = exp2(s)    x = p * (y - delta)    dv += p G    dk += x Q
// Reads of operands move with the dot. Next to it, threads read them part by part, so they take few registers.
#include "gpu/tiles/mma/delay_dots.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tile_equivalence.h"
#include "ir/slice.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
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

  void move() {
    Operation *best = nullptr;
    int64_t least = liveAfter(dot);
    for (Operation *op = dot->getNextNode(); op && isPassed(op); op = op->getNextNode())
      if (int64_t live = liveAfter(op); live < least) best = op, least = live;
    if (!best) return;
    dot->moveAfter(best);
    for (ttg::LoadSharedOp read : reads)
      read->moveBefore(dot);
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
      return llvm::none_of(reads, [&](ttg::LoadSharedOp read) { return allocOf(read.getBuffer()) == allocOf(store.getBuffer()); });
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
  SmallVector<ttg::LoadSharedOp> reads; ///< of operands, for this dot alone
};

} // namespace

void delayDots(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  function.walk([&](scf::ForOp loop) {
    if (holdWholeOperands(loop, config, target)) return;
    auto isForNextIteration = [](tt::DotOp dot) { return dot->hasOneUse() && isa<scf::YieldOp>(*dot->user_begin()); };
    SmallVector<tt::DotOp> dots(llvm::make_filter_range(loop.getBody()->getOps<tt::DotOp>(), isForNextIteration));
    for (tt::DotOp dot : llvm::reverse(dots))
      DelayedDot(dot).move();
  });
}

} // namespace tilewright::gpu
