#include "gpu/schedule/tensor_memory/first_warp/mma_numbers.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class MmaNumbering {
public:
  MmaNumbering(Value barriers, Value zero, const ScaleColumns &scales)
      : barriers(barriers), zero(zero), scales(scales), b(zero.getContext()) {}

  void run(Block &kernel) {
    int64_t barrierCount = 1;
    countInFlight(kernel, 0, barrierCount);
    barriers.setType(ttg::BarriersType::get(b.getContext(), int64_t(llvm::PowerOf2Ceil(uint64_t(barrierCount)))));
    numberMmas(kernel, zero);
  }

private:
  /// Inserts waits before an operation, so that of `count` MMAs all but `pending` have been waited for.
  void waitBefore(Operation *op, int64_t count, int64_t pending) {
    b.setInsertionPoint(op);
    for (int64_t left = count - 1; left >= pending; --left)
      ttg::Tcgen05WaitOp::create(b, op->getLoc(), barriers, zero, left);
  }

  /// Follows for how many MMAs no wait has come yet, from `count` at the block's start. Returns their number at its end. Inserts waits, so
  /// that each wait is for the oldest of them, and where too many would be in flight. A wait tells two phases of a barrier apart if the
  /// barriers outnumber the MMAs from its own on: `barrierCount` becomes enough.
  int64_t countInFlight(Block &block, int64_t count, int64_t &barrierCount) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op)) {
        int64_t pending = wait.getPending();
        barrierCount = std::max({barrierCount, count, pending + 1});
        waitBefore(wait, count, pending + 1);
        count = std::min(count, pending);
      }
      if (isa<ttg::Tcgen05MmaOp>(op) && ++count > maxMmasInFlight) {
        waitBefore(&op, count - 1, 0);
        barrierCount = std::max(barrierCount, count - 1);
        count = 1;
      }
      for (bool again = true; again;) {
        int64_t before = count;
        for (Region &region : op.getRegions())
          if (!region.empty()) count = std::max(count, countInFlight(region.front(), before, barrierCount));
        again = isa<scf::ForOp, scf::WhileOp>(op) && count > before;
      }
    }
    return count;
  }

  static bool multiplies(Operation *op) {
    return op->walk([](ttg::Tcgen05MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Numbers the MMAs of a block from `count` on. Returns the number of the next one.
  Value numberMmas(Block &block, Value count) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op))
        wait.getIssuedMutable().set(count);
      else if (auto mma = dyn_cast<ttg::Tcgen05MmaOp>(op))
        count = number(mma, count);
      else if (!multiplies(&op))
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            numberMmas(inner, count);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        count = numberMmasOf(withMoreCarried(loop, count));
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        count = numberMmasOf(withMoreResults(branch, count.getType()), count);
      else
        count = numberMmasOf(withMoreCarried(cast<scf::WhileOp>(op), count));
    }
    return count;
  }

  Value number(ttg::Tcgen05MmaOp mma, Value count) {
    mma.getIssuedMutable().assign(count);
    b.setInsertionPoint(mma);
    if (mma.getScales()) mma.getScaleColumnsMutable().assign(scaleSetOf(b, mma.getLoc(), count, scales));
    b.setInsertionPointAfter(mma);
    return b.createOrFold<arith::AddIOp>(mma.getLoc(), count, i32Constant(b, mma.getLoc(), 1));
  }

  Value numberMmasOf(scf::ForOp loop) {
    Value after = numberMmas(*loop.getBody(), loop.getRegionIterArgs().back());
    appendYielded(loop, after);
    return loop.getResults().back();
  }

  Value numberMmasOf(scf::IfOp branch, Value count) {
    for (Region &region : branch->getRegions())
      cast<scf::YieldOp>(region.front().getTerminator()).getResultsMutable().append(numberMmas(region.front(), count));
    return branch.getResults().back();
  }

  Value numberMmasOf(scf::WhileOp loop) {
    Value before = numberMmas(*loop.getBeforeBody(), loop.getBeforeArguments().back());
    loop.getConditionOp()->setOperand(loop.getConditionOp()->getNumOperands() - 1, before);
    loop.getYieldOp().getResultsMutable().append(numberMmas(*loop.getAfterBody(), loop.getAfterArguments().back()));
    return loop.getResults().back();
  }

  Value barriers, zero;
  const ScaleColumns &scales;
  OpBuilder b;
};

} // namespace

void numberMmas(tt::FuncOp function, Value barriers, Value zero, const ScaleColumns &scales) {
  MmaNumbering(barriers, zero, scales).run(function.getBody().front());
}

} // namespace tilewright::gpu
