#include "driver/strict_rounding.h"

#include "gpu/ttg/ttg_attributes.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright {

static Type withElement(Type type, Type element) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type(tile.clone(element)) : element;
}

static Value one(ImplicitLocOpBuilder &b, Type type) {
  Attribute number = b.getF32FloatAttr(1);
  if (auto tile = dyn_cast<RankedTensorType>(type)) number = DenseElementsAttr::get(tile, number);
  return arith::ConstantOp::create(b, cast<TypedAttr>(number));
}

static void replace(Operation *op) {
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 32 || element.getIntOrFloatBitWidth() < 16) return;
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type wide = withElement(type, b.getF32Type());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(element.isF32() ? operand : Value(arith::ExtFOp::create(b, wide, operand)));
  Value result;
  if (isa<arith::DivFOp>(op))
    result = tt::PreciseDivFOp::create(b, operands[0], operands[1]);
  else
    result = tt::PreciseSqrtOp::create(b, operands[0]);
  if (isa<math::RsqrtOp>(op)) result = tt::PreciseDivFOp::create(b, one(b, wide), result);
  if (!element.isF32()) result = arith::TruncFOp::create(b, type, result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void setStrictRounding(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op)) found.push_back(op);
  });
  for (Operation *op : found)
    replace(op);
  for (auto kernel : module.getOps<tt::FuncOp>())
    kernel->setAttr(ttg::strictNumericsName, UnitAttr::get(module.getContext()));
}

} // namespace tilewright
