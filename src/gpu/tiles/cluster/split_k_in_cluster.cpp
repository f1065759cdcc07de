// See split_k_in_cluster.h.
#include "gpu/tiles/cluster/split_k_in_cluster.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/zeros.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<OpResult> sumOf(tt::DotOp dot) {
  auto sum = dyn_cast<BlockArgument>(dot.getC());
  auto loop = sum ? dyn_cast<scf::ForOp>(sum.getOwner()->getParentOp()) : nullptr;
  if (!loop || loop != dot->getParentOp() || !sum.hasOneUse() || !dot.getD().hasOneUse()) return {};
  OpResult result = loop.getTiedLoopResult(sum);
  OpOperand *yielded = loop.getTiedLoopYieldedValue(sum);
  if (!result || !yielded || yielded->get() != dot.getD()) return {};
  Value start = loop.getTiedLoopInit(sum)->get();
  if (!tt::isZeros(start)) return {};
  return result;
}

static bool isBestAlongK(tt::DotOp dot, int64_t ctas) {
  auto a = cast<RankedTensorType>(dot.getA().getType()), sum = cast<RankedTensorType>(dot.getD().getType());
  if (isPromotedWithinIteration(dot)) return false; // a CTA's part of the iteration's K would be too short
  if (sum.getRank() != 2 || sum.getDimSize(0) / ctas >= wgmmaRows || sum.getDimSize(1) < ctas) return false;
  int64_t rowBytes = a.getDimSize(1) / ctas * ttg::elementBits(a) / 8;
  return rowBytes >= minSplitKRowBytes && sumOf(dot).has_value();
}

static SmallVector<tt::DotOp> dotsOf(tt::FuncOp function) {
  SmallVector<tt::DotOp> dots;
  function.walk([&](tt::DotOp dot) { dots.push_back(dot); });
  return dots;
}

SplitK splitKOf(tt::FuncOp function, int64_t ctas, const GpuTarget &target) {
  SmallVector<tt::DotOp> dots = dotsOf(function);
  if (ctas == 1 || !llvm::all_of(dots, [&](tt::DotOp dot) { return isBestAlongK(dot, ctas); })) return {};
  if (!accumulatorsFit(function, target, tileAccumulatorBits)) return {};
  SplitK split;
  split.dots.insert(dots.begin(), dots.end());
  return split;
}

SplitK splitK(tt::FuncOp function, int64_t ctas, const GpuTarget &target) {
  SplitK split = splitKOf(function, ctas, target);
  OpBuilder b(function.getContext());
  for (tt::DotOp dot : dotsOf(function)) {
    if (!split.dots.contains(dot)) continue;
    OpResult parts = *sumOf(dot);
    b.setInsertionPointAfter(parts.getOwner());
    auto sum = tt::ReshapeOp::create(b, dot.getLoc(), parts.getType(), parts);
    parts.replaceAllUsesExcept(sum, sum);
    split.sums.insert(sum);
  }
  return split;
}

} // namespace tilewright::gpu
