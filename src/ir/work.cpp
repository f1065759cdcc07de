#include "ir/work.h"

#include "ir/scaled_dot.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {

static double elements(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? static_cast<double>(tile.getNumElements()) : 1;
}

static bool isArithmetic(Operation *op) {
  if (op->getNumResults() != 1 || !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()))) return false;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, tt::ExternElementwiseOp, tt::PreciseSqrtOp, tt::PreciseDivFOp>(op) ||
         isa<math::MathDialect>(op->getDialect());
}

/// Returns the operations of a reduction, scan or map: those of its region, times the number of applications.
static double combined(Operation *op) {
  double inside = 0;
  op->getRegion(0).walk([&](Operation *inner) { inside += isArithmetic(inner); });
  double all = elements(op->getOperand(0).getType());
  return inside * (isa<tt::ReduceOp>(op) ? all - elements(op->getResult(0).getType()) : all);
}

double arithmeticOf(Operation *op) {
  if (isa_and_nonnull<tt::ReduceOp, tt::ScanOp, tt::MapElementwiseOp>(op->getParentOp())) return 0;
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<tt::DotOp>([](tt::DotOp dot) {
        return 2 * elements(dot.getType()) * static_cast<double>(cast<RankedTensorType>(dot.getA().getType()).getShape().back());
      })
      .Case<tt::DotScaledOp>([](tt::DotScaledOp dot) { return 2 * elements(dot.getType()) * static_cast<double>(leftOf(dot).depth()); })
      .Case<tt::ReduceOp, tt::ScanOp>([](Operation *combine) { return combined(combine); })
      .Case<tt::MapElementwiseOp>([](Operation *map) { return combined(map); })
      .Case<math::FmaOp>([](math::FmaOp fma) { return 2 * elements(fma.getType()); })
      .Default([](Operation *other) { return isArithmetic(other) ? elements(other->getResult(0).getType()) : 0; });
}

} // namespace tilewright
