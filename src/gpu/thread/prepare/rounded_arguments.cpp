// Exponentials of f32 sums and products are not more exact than their arguments may be, unless numerics are strict:
//   before: math.exp (%y - %m)     after: math.exp (%y - %m) {ttg.rounded}
// docs/libdevice.md has the error.
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the numbers are f32 sums or products, so they are already rounded to half a unit in the last place. Such a unit of x changes
/// e^x by |x| 2^-24 of its value. A mask may have replaced numbers by zeros or infinities, whose exponentials are exact.
static bool areRounded(Value numbers, int64_t deepest = 4) {
  Operation *from = numbers.getDefiningOp();
  if (!from || deepest == 0) return false;
  if (auto choice = dyn_cast<arith::SelectOp>(from)) {
    auto isExact = [](Value value) {
      APFloat number(0.0f);
      return matchPattern(value, m_ConstantFloat(&number)) && (number.isZero() || !number.isFinite());
    };
    if (isExact(choice.getFalseValue())) return areRounded(choice.getTrueValue(), deepest - 1);
    return isExact(choice.getTrueValue()) && areRounded(choice.getFalseValue(), deepest - 1);
  }
  if (isa<ttg::ConvertLayoutOp>(from)) return areRounded(from->getOperand(0), deepest - 1);
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, math::FmaOp, tt::DotOp, ttg::MmaAsyncWaitOp>(from);
}

LogicalResult markRoundedArguments(tt::FuncOp kernel, ttg::ConfigAttr) {
  if (kernel->hasAttr(ttg::strictNumericsName)) return success();
  kernel.walk([](math::ExpOp exp) {
    bool isRounded = getElementTypeOrSelf(exp.getType()).isF32() && areRounded(exp.getOperand());
    if (isRounded) exp->setAttr(ttg::roundedName, UnitAttr::get(exp.getContext()));
  });
  return success();
}

} // namespace tilewright::gpu
