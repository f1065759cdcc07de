// A block that divides its tensor needs no mask, but kernels are written for every size:
//   before: for %i = 0 to 128 step 8 { %mask = (splat %i + range 8) < 128    %x = load %p, %mask ... }
//   after:  for %i = 0 to 128 step 8 { %x = load %p ... }
// Intervals prove the comparison (ir/address). Nothing is assumed about a launch: only ranges, constants, and induction variables of loops
// with constant bounds are compared, in sums and products.
#include "ir/address/indices.h"
#include "ir/passes.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright {

static bool hasConstantBounds(scf::ForOp loop) {
  return llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                      [](Value bound) { return matchPattern(bound, m_Constant()); });
}

/// True if the elements depend on nothing that only a launch knows.
static bool isKnown(arith::CmpIOp comparison) {
  return !tt::dependsOn(comparison->getOperands(), [](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      bool isInduction = loop && argument == loop.getInductionVar() && hasConstantBounds(loop);
      return isInduction ? tt::Search::skip : tt::Search::found;
    }
    bool passes = isa<arith::ConstantOp, tt::MakeRangeOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::TransOp, arith::AddIOp,
                      arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp>(value.getDefiningOp());
    return passes ? tt::Search::follow : tt::Search::found;
  });
}

static void foldComparisons(tt::FuncOp function) {
  address::FailedGuards noAssumptions;
  noAssumptions.insert(everyGuard);
  address::Indices indices(function, noAssumptions, gridLimits);
  SmallVector<arith::CmpIOp> known; // the analysis holds as long as the function does not change
  function.walk([&](arith::CmpIOp comparison) {
    bool isTile = isa<RankedTensorType>(comparison.getType());
    if (isTile && isKnown(comparison) && indices.isProven(comparison.getResult())) known.push_back(comparison);
  });
  for (arith::CmpIOp comparison : known) {
    OpBuilder b(comparison);
    auto everywhere = DenseElementsAttr::get(cast<RankedTensorType>(comparison.getType()), true);
    comparison.replaceAllUsesWith(arith::ConstantOp::create(b, comparison.getLoc(), everywhere).getResult());
    comparison.erase();
  }
}

LogicalResult foldComparisons(ModuleOp module) {
  module.walk([](tt::FuncOp function) { foldComparisons(function); });
  return success();
}

} // namespace tilewright
