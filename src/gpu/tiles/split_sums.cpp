// See split_sums.h.
#include "gpu/tiles/split_sums.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t minBytesOfAll = 64; // of a row of A in each block: what the copy engine brings in less is slow

std::optional<OpResult> sumOf(tt::DotOp dot) {
  auto sum = dyn_cast<BlockArgument>(dot.getC());
  auto loop = sum ? dyn_cast<scf::ForOp>(sum.getOwner()->getParentOp()) : nullptr;
  if (!loop || loop != dot->getParentOp() || !sum.hasOneUse() || !dot.getD().hasOneUse()) return {};
  OpResult result = loop.getTiedLoopResult(sum);
  OpOperand *yielded = loop.getTiedLoopYieldedValue(sum);
  if (!result || !yielded || yielded->get() != dot.getD()) return {};
  Value start = loop.getTiedLoopInit(sum)->get();
  if (!matchPattern(start, m_AnyZeroFloat()) && !matchPattern(start, m_Zero())) return {};
  return result;
}

/// The sum of an fp8 product may have to leave the tensor cores within a step of K: parts of a step would be too short for that.
static bool isExactWithinStep(tt::DotOp dot) {
  auto a = cast<RankedTensorType>(dot.getA().getType());
  return isa<FloatType>(a.getElementType()) && a.getElementTypeBitWidth() == 8 && dot.getMaxNumImpreciseAcc() <= a.getDimSize(1);
}

static bool isBestAlongK(tt::DotOp dot, int64_t blocks) {
  auto a = cast<RankedTensorType>(dot.getA().getType()), sum = cast<RankedTensorType>(dot.getD().getType());
  if (isExactWithinStep(dot)) return false;
  if (sum.getRank() != 2 || sum.getDimSize(0) / blocks >= warpgroupRows || sum.getDimSize(1) < blocks) return false;
  int64_t rowBytes = a.getDimSize(1) / blocks * a.getElementTypeBitWidth() / 8;
  return rowBytes >= minBytesOfAll && sumOf(dot).has_value();
}

static SmallVector<tt::DotOp> productsOf(tt::FuncOp function) {
  SmallVector<tt::DotOp> products;
  function.walk([&](tt::DotOp dot) { products.push_back(dot); });
  return products;
}

bool areSumsSplit(tt::FuncOp function, int64_t blocks) {
  SmallVector<tt::DotOp> products = productsOf(function);
  return blocks > 1 && !products.empty() && llvm::all_of(products, [&](tt::DotOp dot) { return isBestAlongK(dot, blocks); });
}

void splitSums(tt::FuncOp function, int64_t blocks) {
  if (!areSumsSplit(function, blocks)) return;
  OpBuilder b(function.getContext());
  for (tt::DotOp dot : productsOf(function)) {
    OpResult parts = *sumOf(dot);
    b.setInsertionPointAfter(parts.getOwner());
    auto sum = tt::ReshapeOp::create(b, dot.getLoc(), parts.getType(), parts);
    sum->setAttr(sumOfBlocksName, b.getUnitAttr());
    parts.replaceAllUsesExcept(sum, sum);
    dot->setAttr(partOfKName, b.getUnitAttr());
  }
}

} // namespace tilewright::gpu
