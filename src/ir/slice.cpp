#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::tt {

static SmallVector<Value> sourcesOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      if (argument.getOwner() == loop.getAfterBody()) return {loop.getConditionOp().getArgs()[number]};
      return {loop.getInits()[number], loop.getYieldOp().getOperand(number)};
    }
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop) return {};
    if (argument == loop.getInductionVar()) return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    return {loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()};
  }
  unsigned number = cast<OpResult>(value).getResultNumber();
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) return {loop.getInitArgs()[number], loop.getYieldedValues()[number]};
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return {loop.getConditionOp().getArgs()[number]};
  if (auto branch = dyn_cast<scf::IfOp>(op)) return {branch.thenYield().getOperand(number), branch.elseYield().getOperand(number)};
  return SmallVector<Value>(op->getOperands());
}

bool dependsOn(ValueRange values, function_ref<Search(Value)> visit) {
  llvm::SetVector<Value> seen(values.begin(), values.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    Search result = visit(seen[i]);
    if (result == Search::found) return true;
    if (result == Search::follow) seen.insert_range(sourcesOf(seen[i]));
  }
  return false;
}

bool reaches(Value value, function_ref<Search(OpOperand &)> visit) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i)
    for (OpOperand &use : seen[i].getUses()) {
      Search result = visit(use);
      if (result == Search::found) return true;
      if (result == Search::follow) seen.insert_range(use.getOwner()->getResults());
    }
  return false;
}

SmallVector<Value> receiversOf(OpOperand &operand) {
  Operation *op = operand.getOwner(), *parent = op->getParentOp();
  unsigned number = operand.getOperandNumber();
  auto carriedBy = [](scf::ForOp loop, unsigned index) -> SmallVector<Value> {
    return {loop.getRegionIterArg(index), loop.getResult(index)};
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned bounds = loop.getNumControlOperands();
    return number < bounds ? SmallVector<Value>() : carriedBy(loop, number - bounds);
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return {loop.getBeforeArguments()[number]};
  if (isa<scf::ConditionOp>(op)) {
    auto loop = cast<scf::WhileOp>(parent);
    if (number == 0) return {};
    return {loop.getAfterArguments()[number - 1], loop.getResult(number - 1)};
  }
  if (!isa<scf::YieldOp>(op)) return {};
  if (auto loop = dyn_cast<scf::ForOp>(parent)) return carriedBy(loop, number);
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) return {loop.getBeforeArguments()[number]};
  return {parent->getResult(number)};
}

Value cloneAs(OpBuilder &b, Operation *op, ValueRange operands, Type type) {
  Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  auto constant = dyn_cast<arith::ConstantOp>(copy);
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  auto shaped = dyn_cast<ShapedType>(type);
  if (dense) constant.setValueAttr(dense.isSplat() ? dense.resizeSplat(shaped) : dense.reshape(shaped));
  return copy->getResult(0);
}

Value rematerialize(OpBuilder &b, Operation *op, Type type, llvm::function_ref<Value(Value)> operandOf) {
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), operandOf);
  return cloneAs(b, op, operands, type);
}

} // namespace tilewright::tt
