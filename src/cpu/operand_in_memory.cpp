// See operand_in_memory.h.
#include "cpu/operand_in_memory.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/lower_volatile_load.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static constexpr int64_t minPrefetchedBytes = 32 << 10; // bytes of a block of A

/// True if A is a load of rows in the layout that the micro-kernel reads.
static bool isLoadOfRows(Context &ctx, LoadOp load, const DotPlan &plan) {
  if (!load || ctx.buffers.contains(load) || ctx.fallback || isVolatileLoad(load)) return false;
  auto shape = shapeOf(load.getResult());
  if (shape.size() != 2 || shape[0] < 2 || shape[1] != plan.k) return false;
  if (getElementTypeOrSelf(load.getResult()) != plan.operand) return false;
  Stride along = ctx.analysis->strideOf(load.getPtr(), 1);
  bool isContiguous = along.kind == Stride::constant && along.amount == elementBytes(plan.operand);
  return isContiguous && ctx.analysis->reachIsKnown(load.getPtr()) && chooseVectorDim(ctx, shape, {load.getResult()}, {}) == 1;
}

/// Returns how much of A is read along a dimension (i64).
static Value extentRead(Context &ctx, const DotPlan &plan, const DotLimits &limits, int64_t dim) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (dim == 0) return rowsRead(b, ctx.target, plan, limits);
  if (!limits.length) return constantIndex(b, plan.k);
  int64_t unit = lengthUnit(plan);
  Value more = arith::AddIOp::create(b, limits.length, constantIndex(b, unit - 1));
  return arith::MinSIOp::create(b, arith::AndIOp::create(b, more, constantIndex(b, -unit)), constantIndex(b, plan.k));
}

std::optional<OperandInMemory> operandInMemory(Context &ctx, DotOp op, const DotPlan &plan, const DotLimits &limits) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto load = op.getA().getDefiningOp<LoadOp>();
  if (!isLoadOfRows(ctx, load, plan)) return std::nullopt;
  auto terms = upperBounds(ctx, load.getMask());
  if (!terms) return std::nullopt;

  Value holds = logicalAnd(ctx, conditions(ctx, {load}, 0), conditions(ctx, {load}, 1));
  holds = logicalAnd(ctx, holds, reachesExactly(ctx, {load.getPtr()}));
  auto read = [&](int64_t dim) { return extentRead(ctx, plan, limits, dim); };
  holds = logicalAnd(ctx, holds, boundsHold(ctx, *terms, shapeOf(load.getResult()), read));
  auto [base, rowBytes] = rowsOf(ctx, load.getPtr());
  if (plan.tiles) { // the sixteen rows of an AMX tile would map to one set of the L1 cache: a copy has a larger row distance
    Value within = arith::AndIOp::create(b, rowBytes, constantIndex(b, 4095));
    holds = logicalAnd(ctx, holds, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, within, ctx.zeroIndex));
  }
  // For small blocks, computing the distance does not pay off.
  Value distance =
      plan.m * plan.k * plan.iterations * elementBytes(plan.operand) >= minPrefetchedBytes ? distanceToNextReading(ctx, load) : Value();
  return OperandInMemory{holds, base, rowBytes, distance};
}

} // namespace tilewright::cpu
