// See fast_path.h.
#include "cpu/fast_path.h"

#include "cpu/evaluate.h"
#include "cpu/interleave.h"
#include "cpu/math.h"
#include "support/cpu.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

using Values = llvm::SmallVector<Value>;
using Operations = llvm::SetVector<Operation *>;

/// True for exp and exp2 of numbers that are known to be at most 0 or NaN.
static bool isExp(Context &ctx, Value tile) {
  Operation *op = tile.getDefiningOp();
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(op) && isNotPositive(op->getOperand(0), ctx.fpFusion);
}

static bool hasFastPath(Context &ctx, Operation *op, const TileIndex &tileIndex) {
  if (!getElementTypeOrSelf(op->getResult(0)).isF32()) return false;
  if (isExp(ctx, op->getResult(0))) return hasSlowSubnormals(ctx.target);
  return isa<arith::DivFOp, PreciseDivFOp>(op) && hasSlowDivision(ctx.target) &&
         evaluate(ctx, op->getOperand(1), tileIndex).kind == Lanes::uniform;
}

/// Adds the elementwise operations that compute `tile` and have a fast path, operands first.
static void addOperations(Context &ctx, Value tile, const TileIndex &tileIndex, Operations &found, int64_t depth = 6) {
  Operation *op = tile.getDefiningOp();
  if (!op || op->getNumResults() != 1 || ctx.buffers.contains(tile) || depth == 0) return;
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isa<PreciseDivFOp, FpToFpOp>(op)) return;
  for (Value operand : op->getOperands())
    addOperations(ctx, operand, tileIndex, found, depth - 1);
  if (hasFastPath(ctx, op, tileIndex)) found.insert(op);
}

/// True if every index is inside the innermost loop, which is the current insertion point.
static bool areInnermost(Context &ctx, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<TileIndex> tileIndices) {
  int64_t innermost = int64_t(ctx.levels.size()) - 1;
  return llvm::all_of(tileIndices, [&](const TileIndex &tileIndex) {
    bool isInnermost = false;
    for (auto [index, size] : llvm::zip(tileIndex.at, shape))
      isInnermost |= size > 1 && index.level == innermost;
    return tileIndex.vector >= 0 && shape[tileIndex.vector] > 1 && isInnermost;
  });
}

using Path = llvm::function_ref<Value(Value)>;

static Values either(ImplicitLocOpBuilder &b, Value isFast, ValueRange arguments, Path fastPath, Path slowPath) {
  auto emit = [&](Block *block, Path form) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    Values results;
    emitInterleaved(b, arguments.size(), [&](int64_t i) { results.push_back(form(arguments[i])); });
    scf::YieldOp::create(b, results);
  };
  isFast = LLVM::ExpectOp::create(b, isFast, constantInt(b, b.getI1Type(), 1)); // registers are spilled on the slow path
  auto branch = scf::IfOp::create(b, arguments.getTypes(), isFast, /*withElseRegion=*/true);
  emit(branch.thenBlock(), fastPath);
  emit(branch.elseBlock(), slowPath);
  return Values(branch.getResults());
}

static Values evaluateFastPath(Context &ctx, Operation *op, llvm::ArrayRef<TileIndex> tileIndices) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value argument = op->getOperand(0);
  Values arguments;
  emitInterleaved(b, tileIndices.size(), [&](int64_t i) {
    arguments.push_back(asVector(ctx, evaluate(ctx, argument, tileIndices[i]), getElementTypeOrSelf(argument), tileIndices[i]));
  });
  if (isExp(ctx, op->getResult(0))) {
    bool isBase2 = isa<math::Exp2Op>(op);
    auto fastPath = [&](Value x) { return emitMath(b, ctx.target, isBase2 ? MathFunction::exp2Normal : MathFunction::expNormal, x); };
    auto slowPath = [&](Value x) { return emitElementwise(ctx, op, x); };
    return either(b, hasNormalExp(b, isBase2 ? MathFunction::exp2 : MathFunction::exp, arguments), arguments, fastPath, slowPath);
  }
  Value divisor = evaluate(ctx, op->getOperand(1), tileIndices.front()).value;
  auto fastPath = [&](Value x) { return divideFast(b, x, divisor); };
  auto slowPath = [&](Value x) { return emitElementwise(ctx, op, {x, splat(b, divisor, lanesOf(x.getType()))}); };
  return either(b, canDivideFast(b, arguments, divisor, isExp(ctx, argument)), arguments, fastPath, slowPath);
}

void evaluateFastPaths(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices) {
  if (ctx.fallback || tileIndices.size() < 2 || !ctx.target.fma || ctx.target.vectorBytes < 32) return;
  if (!areInnermost(ctx, shapeOf(tile), tileIndices)) return;
  Operations operations;
  addOperations(ctx, tile, tileIndices.front(), operations);
  for (Operation *op : operations) {
    LocationGuard ofItsLine(ctx.b, op->getLoc());
    for (auto [tileIndex, value] : llvm::zip(tileIndices, evaluateFastPath(ctx, op, tileIndices)))
      remember(ctx, op->getResult(0), tileIndex, value);
  }
}

} // namespace tilewright::cpu
