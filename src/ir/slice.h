// Backward and forward slices: the values that a value is computed from, and those that are computed from it.
#pragma once

#include "mlir/IR/Builders.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::tt {

/// What a search does after a value: it ends with success, leaves out what follows from this value alone, or goes on.
enum class Search { found, skip, follow };

/// Searches the values that `values` are computed from, themselves first, each once. Follows the operands of operations, the bounds of
/// induction variables, the initial and the next values of what loops carry, and what both sides of an scf.if yield. Not conditions.
bool dependsOn(mlir::ValueRange values, llvm::function_ref<Search(mlir::Value)> visit);

/// Searches the uses of the value, and those of the results of operations that it follows. A yield has no results.
bool reaches(mlir::Value value, llvm::function_ref<Search(mlir::OpOperand &)> visit);

/// Returns the value before all operations of these kinds, of which it is the first operand.
template <typename... Ops> mlir::Value lookThrough(mlir::Value value) {
  for (mlir::Operation *op = value.getDefiningOp(); llvm::isa_and_nonnull<Ops...>(op); op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

/// Returns the values that get this operand of a loop, a branch or their terminators: what an scf.for or scf.while carries, and results.
/// None get a condition or a bound.
mlir::SmallVector<mlir::Value> receiversOf(mlir::OpOperand &operand);

/// Clones an operation with one result, for other operands and another type of its result. A constant has the type's shape.
mlir::Value cloneAs(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands, mlir::Type type);
/// Computes an operation again as `type`, at `b`. `operandOf` returns each operand as the result needs it, and may rematerialize it, too:
/// in another layout, as a slice, or from what shared memory holds. An operand that it makes may stand anywhere before `b`.
mlir::Value rematerialize(mlir::OpBuilder &b, mlir::Operation *op, mlir::Type type, llvm::function_ref<mlir::Value(mlir::Value)> operandOf);

} // namespace tilewright::tt
