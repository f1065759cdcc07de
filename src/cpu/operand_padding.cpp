// See operand_padding.h.
#include "cpu/operand_padding.h"

#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/masked_tail.h"
#include "cpu/operations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

//===---------------------------------------------------------------------------------------------------- rows and columns

static bool isElementwiseUse(Operation *user, Value tile) {
  return user->getNumResults() == 1 && isElementwise(user) && shapeOf(user->getResult(0)) == shapeOf(tile);
}

/// Finds the stores that `tile` reaches through elementwise operations. False if anything else reads it.
static bool findStores(Value tile, llvm::SmallSetVector<Operation *, 4> &stores, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(tile).second) return true;
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    if (auto store = dyn_cast<StoreOp>(user)) {
      if (store.getValue() != tile || store.getMask() == tile) return false;
      stores.insert(store);
    } else if (auto dot = dyn_cast<DotOp>(user)) {
      if (dot.getA() == tile || dot.getB() == tile || !findStores(dot.getD(), stores, seen)) return false;
    } else if (isa<scf::YieldOp>(user) && isa<scf::ForOp>(user->getParentOp())) {
      auto loop = cast<scf::ForOp>(user->getParentOp());
      unsigned slot = use.getOperandNumber();
      if (!findStores(loop.getRegionIterArg(slot), stores, seen) || !findStores(loop.getResult(slot), stores, seen)) return false;
    } else if (!isElementwiseUse(user, tile) || !findStores(user->getResult(0), stores, seen)) {
      return false;
    }
  }
  return true;
}

/// True if a value can be computed here; appends the scalars that are still missing, in order.
static bool isComputable(Context &ctx, Value value, llvm::SmallSetVector<Operation *, 8> &scalars) {
  if (ctx.scalars.contains(value) || matchPattern(value, m_Constant())) return true;
  Operation *op = value.getDefiningOp();
  if (!op || ctx.buffers.contains(value) || op->getNumRegions() != 0 || op->getNumResults() != 1 || isa<LoadOp>(op)) return false;
  if (!isMemoryEffectFree(op) || isa<ReduceOp, DotOp>(op)) return false;
  if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isComputable(ctx, operand, scalars); })) return false;
  if (!isTile(value)) scalars.insert(op);
  return true;
}

bool withScalarsOf(Context &ctx, ValueRange values, llvm::function_ref<void()> body) {
  llvm::SmallSetVector<Operation *, 8> scalars;
  if (!llvm::all_of(values, [&](Value value) { return isComputable(ctx, value, scalars); })) return false;
  auto known = ctx.scalars;
  bool areLowered = llvm::all_of(scalars, [&](Operation *op) { return succeeded(lowerOp(ctx, op)); });
  if (areLowered) body();
  ctx.scalars = std::move(known);
  return areLowered;
}

/// Returns how many indices of a dimension the mask admits (i64).
static Value countOf(Context &ctx, llvm::ArrayRef<BoxTerm> terms, int64_t dim, int64_t size) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value count = constantIndex(b, size);
  for (const BoxTerm &term : terms) {
    if (term.dim != dim || term.lower) continue;
    BoxCount box = boxCount(ctx, term, size);
    Value holding = box.noWrap ? Value(arith::SelectOp::create(b, box.noWrap, box.count, constantIndex(b, size))) : box.count;
    count = arith::MinSIOp::create(b, count, holding);
  }
  return count;
}

/// True if a mask may admit one index of a dimension after a multiple of `size`, in a launch like this one. If an argument bounds the last
/// tile, its remainder decides. A versioning request prefers the other case: a launch of 129 rows gets a version with code for a single
/// row.
static bool mayLetOneThrough(Context &ctx, llvm::ArrayRef<BoxTerm> terms, int64_t dim, int64_t size) {
  using enum arith::CmpIPredicate;
  return llvm::any_of(terms, [&](const BoxTerm &term) {
    if (term.dim != dim || term.lower) return false;
    auto compare = cast<arith::CmpIOp>(term.compare);
    Value bound = term.indexIsLhs ? compare.getRhs() : compare.getLhs();
    if (auto splat = bound.getDefiningOp<SplatOp>()) bound = splat.getSrc();
    int64_t one = llvm::is_contained({sle, ule, sge, uge}, compare.getPredicate()) ? 0 : 1; // the remainder that leaves one index
    APInt constant;
    if (matchPattern(bound, m_ConstantInt(&constant))) return constant.getSExtValue() % size == one;
    auto argument = dyn_cast<BlockArgument>(bound);
    if (!argument || argument.getOwner()->getParentOp() != ctx.kernel) return true;
    LaunchGuard guard;
    guard.name = address::nameOf(argument) + " % " + std::to_string(size) + " is not " + std::to_string(one);
    guard.nodes = {
        {BoundNode::Kind::slot, argument.getArgNumber()}, {BoundNode::Kind::range, size, size}, {BoundNode::Kind::remainder, 0, 1}};
    guard.min = guard.max = one;
    guard.isVersioningRequest = true;
    return !ctx.analysis->prefers(guard);
  });
}

/// True if the last row (column) of the result may be multiplied on its own; the other operand is then loaded twice.
static bool takesLastAlone(Context &ctx, DotOp dot, int64_t dim) {
  Value matrix = dim == 0 ? dot.getB() : dot.getA();
  auto load = matrix.getDefiningOp<LoadOp>();
  return load && !isVolatileLoad(load) && !ctx.buffers.contains(matrix) && isa<FloatType>(getElementTypeOrSelf(matrix));
}

static void limitToStores(Context &ctx, DotOp dot, DotLimits &limits) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallSetVector<Operation *, 4> stores;
  llvm::DenseSet<Value> seen;
  if (!findStores(dot.getD(), stores, seen) || stores.empty()) return;
  llvm::SmallVector<Value> needed;
  llvm::SmallVector<llvm::SmallVector<BoxTerm>> boxes;
  for (Operation *op : stores) {
    Value mask = cast<StoreOp>(op).getMask();
    if (!mask || !ctx.analysis->box(mask, boxes.emplace_back())) return;
    for (const BoxTerm &term : boxes.back())
      llvm::append_range(needed, term.compare->getOperands());
  }
  auto shape = shapeOf(dot.getD());
  auto mayLeaveOne = [&](int64_t unit, llvm::ArrayRef<BoxTerm> terms, int64_t dim) {
    return takesLastAlone(ctx, dot, dim) && unit > 0 && shape[dim] > unit && shape[dim] % unit == 0 &&
           mayLetOneThrough(ctx, terms, dim, unit);
  };
  auto limit = [&](llvm::ArrayRef<BoxTerm> terms) {
    Value rows = countOf(ctx, terms, 0, shape[0]), columns = countOf(ctx, terms, 1, shape[1]);
    limits.rows = limits.rows ? Value(arith::MaxSIOp::create(b, limits.rows, rows)) : rows;
    limits.columns = limits.columns ? Value(arith::MaxSIOp::create(b, limits.columns, columns)) : columns;
    limits.mayBeOneRow |= mayLetOneThrough(ctx, terms, 0, shape[0]);
    limits.mayBeOneColumn |= mayLetOneThrough(ctx, terms, 1, shape[1]);
    limits.mayLeaveOneRow |= mayLeaveOne(rowUnit(ctx.target), terms, 0);
    limits.mayLeaveOneColumn |= mayLeaveOne(ctx.target.vectorBytes / elementBytes(getElementTypeOrSelf(dot.getD())), terms, 1);
  };
  withScalarsOf(ctx, needed, [&] { llvm::for_each(boxes, limit); });
}

//===---------------------------------------------------------------------------------------------------------- along k

static bool isZero(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>()) tile = splat.getSrc();
  return matchPattern(tile, m_AnyZeroFloat()) || matchPattern(tile, m_Zero());
}

/// Returns the index along `axis` from which on a masked operand is zero (i64); null if it is not masked that way.
static Value beginOfZeros(Context &ctx, Value operand, int64_t axis) {
  Value tile = operand;
  while (Operation *op = tile.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp, FpToFpOp>(op)) break;
    if (ctx.buffers.contains(tile)) return {};
    tile = op->getOperand(0);
  }
  auto load = tile.getDefiningOp<LoadOp>();
  if (!load || ctx.buffers.contains(tile) || (load.getOther() && !isZero(load.getOther()))) return {};
  std::optional<MaskedTail> tail = maskedTail(ctx, tile, axis);
  return tail ? beginOfTail(ctx, *tail, axis, shapeOf(tile)[axis]) : Value();
}

DotLimits limitsOf(Context &ctx, DotOp dot) {
  DotLimits limits;
  if (shapeOf(dot.getD()).size() != 2) return limits;
  limitToStores(ctx, dot, limits);
  Value ofA = beginOfZeros(ctx, dot.getA(), 1), ofB = beginOfZeros(ctx, dot.getB(), 0);
  if (ofA && ofB) limits.length = arith::MaxSIOp::create(ctx.b, ofA, ofB);
  return limits;
}

} // namespace tilewright::cpu
