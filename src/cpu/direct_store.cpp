// See direct_store.h.
#include "cpu/direct_store.h"

#include "cpu/conditions.h"
#include "cpu/control_flow.h"
#include "cpu/debug_variables.h"
#include "cpu/evaluate.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/operand_padding.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// True if a store may move before the operation: it has no loop nest, which might read memory, and no side effect.
static bool mayMoveStoreOver(Context &ctx, Operation &op) {
  if (!isMemoryEffectFree(&op) || op.getNumRegions() != 0) return false;
  if (llvm::any_of(op.getResults(), [&](Value value) { return ctx.analysis->isStored(value); })) return false;
  bool hasTiles = llvm::any_of(op.getOperands(), [](Value value) { return isTile(value); });
  return !hasTiles || isElementwise(&op) || isa<BroadcastOp, ExpandDimsOp>(op);
}

static bool mayMoveStoreBefore(Context &ctx, Operation *begin, Operation *end) {
  for (Operation *op = begin->getNextNode(); op && op != end; op = op->getNextNode())
    if (!mayMoveStoreOver(ctx, *op)) return false;
  return true;
}

/// True if the tiles that the loop carries, other than the sum, are computed without reading memory: that happens after the dot.
static bool carriesNoLoads(Context &ctx, scf::ForOp loop, size_t sum) {
  llvm::SmallVector<Value> work;
  for (auto [slot, value] : llvm::enumerate(loop.getYieldedValues()))
    if (slot != sum && isTile(value)) work.push_back(value);
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second) continue;
    if (!mayMoveStoreOver(ctx, *op)) return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// Returns the loop's result if it is the sum of the dots of all iterations; else null.
static Value sumOfIterations(Context &ctx, DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !dot.getD().hasOneUse()) return {};
  OpOperand &use = *dot.getD().use_begin();
  auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
  if (!yield || yield->getParentOp() != loop) return {};
  size_t slot = use.getOperandNumber();
  Value carried = loop.getRegionIterArg(slot);
  bool isSum = dot.getC() == carried && carried.hasOneUse() && mayMoveStoreBefore(ctx, dot, yield) && carriesNoLoads(ctx, loop, slot);
  return isSum ? loop.getResult(slot) : Value();
}

StoreOp storeOfResults(Context &ctx, DotOp dot) {
  if (namesVariables(ctx)) return {}; // a debugger reads the sum from scratch
  Value result = sumOfIterations(ctx, dot);
  if (!result) result = dot.getD();
  if (!result.hasOneUse() || shapeOf(result).size() != 2) return {};
  Operation *maker = result.getDefiningOp();
  auto store = dyn_cast<StoreOp>(*result.user_begin());
  if (!store || store.getValue() != result || store->getBlock() != maker->getBlock() || !mayMoveStoreBefore(ctx, maker, store)) return {};
  return store;
}

StoreOp storeOfLoop(Context &ctx, scf::ForOp loop) {
  for (DotOp dot : loop.getBody()->getOps<DotOp>())
    if (StoreOp store = storeOfResults(ctx, dot); store && store->getBlock() != loop.getBody()) return store;
  return {};
}

/// Decides on non-temporal stores without counting the iterations of the loop before the store.
static Value nonTemporalIf(Context &ctx, DotOp dot, StoreOp store, const DotPlan &plan) {
  auto trips = ctx.enclosingTrips;
  if (dot->getBlock() != store->getBlock()) ctx.enclosingTrips.pop_back();
  Value isNonTemporal = usesNonTemporalStores(ctx, store, 1, ctx.target.vectorBytes / elementBytes(plan.result));
  ctx.enclosingTrips = std::move(trips);
  return isNonTemporal;
}

std::optional<DirectStore> directStore(Context &ctx, DotOp dot, StoreOp store, const DotPlan &plan, Value readBefore) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value pointer = store.getPtr(), mask = store.getMask();
  Stride along = ctx.analysis->strideOf(pointer, 1);
  bool isContiguous = along.kind == Stride::constant && along.amount == elementBytes(plan.result);
  if (!llvm::isPowerOf2_64(plan.m) || !llvm::isPowerOf2_64(plan.n))
    return std::nullopt; // else register blocks would extend beyond the tile
  if (getElementTypeOrSelf(store.getValue()) != plan.result || !isContiguous || !ctx.analysis->reachIsKnown(pointer)) return std::nullopt;
  auto terms = upperBounds(ctx, mask);
  if (!terms) return std::nullopt;
  llvm::SmallVector<Value> needed = {pointer};
  for (const BoxTerm &term : *terms)
    llvm::append_range(needed, term.compare->getOperands());
  DirectStore direct;
  bool isKnown = withScalarsOf(ctx, needed, [&] {
    Value holds = logicalAnd(ctx, conditions(ctx, {pointer}, 0), conditions(ctx, {pointer}, 1));
    holds = logicalAnd(ctx, holds, reachesExactly(ctx, {pointer}));
    auto shape = shapeOf(pointer);
    holds = logicalAnd(ctx, holds, boundsHold(ctx, *terms, shape, [&](int64_t dim) { return constantIndex(b, shape[dim]); }));
    if (auto a = dot.getA().getDefiningOp<LoadOp>(); a && !ctx.buffers.contains(a)) {
      if (!ctx.analysis->reachIsKnown(a.getPtr())) return;
      holds = logicalAnd(ctx, holds, reachesExactly(ctx, {a.getPtr()}));
      holds = logicalAnd(ctx, holds, areDisjointRanges(ctx, a.getPtr(), a.getMask(), readBefore, pointer, mask));
    }
    if (dot->getBlock() != store->getBlock()) holds = logicalAnd(ctx, holds, isLastIteration(ctx, cast<scf::ForOp>(dot->getParentOp())));
    std::tie(direct.base, direct.rowBytes) = rowsOf(ctx, pointer);
    direct.nonTemporal = nonTemporalIf(ctx, dot, store, plan);
    direct.holds = holds ? holds : constantInt(b, b.getI1Type(), 1);
  });
  return isKnown && direct.holds ? std::optional(direct) : std::nullopt;
}

} // namespace tilewright::cpu
