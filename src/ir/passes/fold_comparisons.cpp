// A block that divides its tensor needs no mask, but kernels are written for every size:
//   before: for %i = 0 to 128 step 8 { %mask = (splat %i + range 8) < 128    %x = load %p, %mask ... }
//   after:  for %i = 0 to 128 step 8 { %x = load %p ... }
// Intervals prove the comparison (ir/address). Nothing is assumed about a launch.
#include "ir/address/indices.h"
#include "ir/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright {

static void foldComparisons(tt::FuncOp function) {
  address::FailedGuards noAssumptions;
  noAssumptions.insert(everyGuard);
  address::Indices indices(function, noAssumptions);
  SmallVector<arith::CmpIOp> known; // the analysis holds as long as the function does not change
  function.walk([&](arith::CmpIOp comparison) {
    if (isa<RankedTensorType>(comparison.getType()) && indices.isProven(comparison.getResult())) known.push_back(comparison);
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
