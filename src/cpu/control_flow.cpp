// Lowers loops and branches. A tile that a loop carries lives in one buffer, and is updated in place if nothing reads the old value
// afterwards.

#include "cpu/control_flow.h"

#include "cpu/direct_store.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/masked_tail.h"
#include "cpu/operations.h"
#include "cpu/scratch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

namespace {
/// Tiles of one shape that are computed in one loop.
struct Together {
  llvm::SmallVector<Value> tiles;
  llvm::SmallVector<Buffer> targets;
  bool contains(Value tile) const { return llvm::is_contained(tiles, tile); }
};
} // namespace

/// Finds the yielded tiles that can be computed in one loop, directly into the buffers that carry them. None of them may read one of these
/// buffers at another index than it writes. Common subexpressions are then computed once (Welford's mean, sum of squares and weight).
static Together yieldedTogether(Context &ctx, ValueRange values, llvm::ArrayRef<Buffer> targets) {
  Together together;
  auto readsElsewhere = [&](Value tile, const Buffer &target) { return reads(ctx, tile, target, true); };
  for (auto [value, to] : llvm::zip(values, targets)) {
    auto shape = shapeOf(value);
    bool isShort = shape.size() == 1 && maskedTail(ctx, value, 0); // its tail is filled
    if (ctx.buffers.contains(value) || isShort || together.contains(value)) continue;
    if (!together.tiles.empty() && shape != shapeOf(together.tiles.front())) continue;
    if (readsElsewhere(value, to)) continue;
    if (llvm::any_of(together.targets, [&](const Buffer &target) { return readsElsewhere(value, target); })) continue;
    if (llvm::any_of(together.tiles, [&](Value tile) { return readsElsewhere(tile, to); })) continue;
    together.tiles.push_back(value);
    together.targets.push_back(to);
  }
  return together.tiles.size() > 1 ? together : Together();
}

/// Writes the tiles that a region yields to the buffers that carry them. A tile that is computed from carried ones goes through a temporary
/// buffer if another carried value still reads those.
static LogicalResult yieldTiles(Context &ctx, ValueRange values, llvm::ArrayRef<Buffer> targets, Operation *yield) {
  struct Pending {
    Value tile;
    Buffer from;
    Buffer to;
  };
  llvm::SmallVector<Pending> copies;
  bool alone = values.size() == 1;
  Together together = yieldedTogether(ctx, values, targets);
  for (auto [value, to] : llvm::zip(values, targets)) {
    if (llvm::any_of(together.targets, [&](const Buffer &target) { return target.base == to.base; })) continue;
    auto found = ctx.buffers.find(value);
    if (found != ctx.buffers.end() && found->second.base == to.base && found->second.strides == to.strides) continue; // already in place
    if (alone && !reads(ctx, value, to, true)) {
      materialize(ctx, value, to);
      continue;
    }
    // Evaluate all first, then write.
    bool ownBuffer = found != ctx.buffers.end() && llvm::none_of(targets, [&](const Buffer &t) { return t.base == found->second.base; });
    Buffer from = ownBuffer ? found->second : allocateFor(ctx, value);
    if (!ownBuffer) materialize(ctx, value, from);
    copies.push_back({value, from, to});
  }
  if (!together.tiles.empty()) materializeTogether(ctx, together.tiles, together.targets);
  for (Pending &copy : copies) {
    auto before = ctx.buffers.find(copy.tile);
    std::optional<Buffer> saved = before != ctx.buffers.end() ? std::optional<Buffer>(before->second) : std::nullopt;
    ctx.buffers[copy.tile] = copy.from;
    materialize(ctx, copy.tile, copy.to);
    if (saved)
      ctx.buffers[copy.tile] = *saved;
    else
      ctx.buffers.erase(copy.tile);
  }
  return success();
}

/// Binds the values that a loop or a branch carries for its body or its users: scalars to values of the new operation, tiles to their
/// buffers.
static void bindValues(Context &ctx, ValueRange carried, ValueRange scalars, llvm::ArrayRef<Buffer> tileBuffers) {
  size_t nextScalar = 0, nextTile = 0;
  for (Value value : carried) {
    if (isTile(value))
      ctx.buffers[value] = tileBuffers[nextTile++];
    else
      ctx.scalars[value] = scalars[nextScalar++];
  }
}

/// Ends a body: stores tiles to their buffers and appends scalars to `scalars` for the new terminator.
static LogicalResult leave(Context &ctx, Operation *terminator, ValueRange values, llvm::ArrayRef<Buffer> tileBuffers,
                           llvm::SmallVectorImpl<Value> &scalars) {
  llvm::SmallVector<Value> tiles;
  for (Value value : values)
    if (isTile(value))
      tiles.push_back(value);
    else
      scalars.push_back(scalar(ctx, value));
  return yieldTiles(ctx, tiles, tileBuffers, terminator);
}

/// True if the loop carries zeros to a dot and to nothing else. Then the zeros need not be written, which saves 5 % of the time of small
/// dots.
static bool isZeroForDot(Context &ctx, scf::ForOp op, size_t slot) {
  Value argument = op.getRegionIterArg(slot);
  if (!isZeroTile(op.getInitArgs()[slot]) || !argument.hasOneUse()) return false;
  auto dot = dyn_cast<DotOp>(*argument.user_begin());
  return dot && dot.getC() == argument && dot->getBlock() == op.getBody();
}

/// Writes the zeros if the loop has no iterations.
static void writeWithoutIterations(Context &ctx, Value lower, Value upper, bool isUnsigned, Value zeros, const Buffer &buffer) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value isEmpty = arith::CmpIOp::create(b, isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge, lower, upper);
  auto branch = scf::IfOp::create(b, TypeRange{}, isEmpty, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  materialize(ctx, zeros, buffer);
}

static Value asIndex(Context &ctx, Value value) {
  return scalarToIndex(ctx, scalar(ctx, value));
}

Value iterationNumber(Context &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value done = arith::SubIOp::create(b, asIndex(ctx, loop.getInductionVar()), asIndex(ctx, loop.getLowerBound()));
  return arith::DivSIOp::create(b, done, constantIndex(b, *getConstantIntValue(loop.getStep())));
}

Value isLastIteration(Context &ctx, scf::ForOp loop) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value left =
      arith::SubIOp::create(b, asIndex(ctx, loop.getUpperBound()), asIndex(ctx, loop.getInductionVar())); // positive, as an unsigned number
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, left, asIndex(ctx, loop.getStep()));
}

/// Returns the dimension that should be contiguous in a carried tile: the last one, unless the loop adds a tile that is contiguous along
/// another one, as in a sum over rows. Accumulators of dots stay row-major.
static int64_t innerDim(Context &ctx, scf::ForOp op, size_t slot) {
  constexpr int64_t minSize = 8;
  auto shape = shapeOf(op.getInitArgs()[slot]);
  int64_t last = int64_t(shape.size()) - 1;
  Value yielded = op.getYieldedValues()[slot];
  auto takesAnyOrder = [](Operation *user) {
    return isElementwise(user) || isa<ExpandDimsOp, BroadcastOp, TransOp, ReduceOp, StoreOp, scf::YieldOp>(user);
  };
  bool isInAnyOrder = yielded.getDefiningOp() && isElementwise(yielded.getDefiningOp()) &&
                      llvm::all_of(op.getRegionIterArg(slot).getUsers(), takesAnyOrder) &&
                      llvm::all_of(op.getResult(slot).getUsers(), takesAnyOrder);
  if (last < 1 || !isInAnyOrder || isa<BlockArgument>(op.getInitArgs()[slot])) return last;
  int64_t transposed = transposedDim(ctx, yielded, last);
  return transposed >= 0 && shape[transposed] >= minSize ? transposed : last;
}

LogicalResult lowerFor(Context &ctx, scf::ForOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value lower = scalar(ctx, op.getLowerBound()), upper = scalar(ctx, op.getUpperBound()), step = scalar(ctx, op.getStep());
  llvm::SmallVector<Value> inits;
  llvm::SmallVector<Buffer> tileBuffers;
  llvm::SmallVector<size_t> late; // indices of zeros that a dot accumulates to
  for (auto [slot, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isTile(init)) {
      inits.push_back(scalar(ctx, init));
      continue;
    }
    int64_t inner = innerDim(ctx, op, slot);
    Buffer buffer = inner < 0 ? allocateFor(ctx, init) : allocateAlong(ctx, init, inner);
    if (isZeroForDot(ctx, op, slot)) {
      writeWithoutIterations(ctx, lower, upper, op.getUnsignedCmp(), init, buffer);
      late.push_back(slot);
    } else {
      materialize(ctx, init, buffer);
    }
    tileBuffers.push_back(buffer);
  }
  int64_t mark = ctx.arenaUsed;
  // The trip count, to estimate the size of the loop's stores.
  Value span = scalarToIndex(ctx, arith::SubIOp::create(b, upper, lower));
  Value stride = arith::MaxSIOp::create(b, scalarToIndex(ctx, step), constantIndex(b, 1));
  Value trips = arith::MaxSIOp::create(b, arith::DivSIOp::create(b, span, stride), constantIndex(b, 1));
  StoreOp direct = storeOfLoop(ctx, op); // an additional carried scalar: whether the last iteration has run the store
  if (direct) inits.push_back(constantInt(b, b.getI1Type(), 0));
  auto loop = scf::ForOp::create(b, lower, upper, step, inits, nullptr, op.getUnsignedCmp());
  loop->setAttr(kernelLoopName, b.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ctx.enclosingTrips.push_back(trips);
    ctx.scalars[op.getInductionVar()] = loop.getInductionVar();
    bindValues(ctx, op.getRegionIterArgs(), loop.getRegionIterArgs(), tileBuffers);
    Value isFirst = late.empty() ? Value() : arith::CmpIOp::create(b, arith::CmpIPredicate::eq, loop.getInductionVar(), lower);
    for (size_t slot : late)
      ctx.firstIterations[op.getRegionIterArg(slot)] = {isFirst, op.getInitArgs()[slot]};
    if (failed(lowerBlock(ctx, *op.getBody()))) return failure();
    Operation *yield = op.getBody()->getTerminator();
    b.setLoc(yield->getLoc());
    llvm::SmallVector<Value> results;
    if (failed(leave(ctx, yield, yield->getOperands(), tileBuffers, results))) return failure();
    if (direct) results.push_back(ctx.storedDirectly.lookup(direct));
    if (direct && !results.back()) results.back() = constantInt(b, b.getI1Type(), 0);
    if (!results.empty()) scf::YieldOp::create(b, results);
    ctx.enclosingTrips.pop_back();
  }
  ctx.arenaUsed = mark;
  if (direct) ctx.storedDirectly[direct] = loop.getResults().back();
  bindValues(ctx, op.getResults(), loop.getResults(), tileBuffers);
  return success();
}

LogicalResult lowerIf(Context &ctx, scf::IfOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallVector<Type> types;
  llvm::SmallVector<Buffer> tileBuffers;
  for (Value result : op.getResults()) {
    if (isTile(result))
      tileBuffers.push_back(allocateFor(ctx, result));
    else
      types.push_back(lowered(ctx, result.getType()));
  }
  int64_t mark = ctx.arenaUsed;
  auto branch = scf::IfOp::create(b, types, scalar(ctx, op.getCondition()), !op.getElseRegion().empty());
  auto side = [&](Region &region, Block *block) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPoint(&block->back());
    else
      b.setInsertionPointToEnd(block);
    if (failed(lowerBlock(ctx, region.front()))) return failure();
    Operation *yield = region.front().getTerminator();
    llvm::SmallVector<Value> results;
    if (failed(leave(ctx, yield, yield->getOperands(), tileBuffers, results))) return failure();
    if (!types.empty()) scf::YieldOp::create(b, results);
    ctx.arenaUsed = mark;
    return success();
  };
  if (failed(side(op.getThenRegion(), branch.thenBlock()))) return failure();
  if (!op.getElseRegion().empty() && failed(side(op.getElseRegion(), branch.elseBlock()))) return failure();
  bindValues(ctx, op.getResults(), branch.getResults(), tileBuffers);
  return success();
}

LogicalResult lowerWhile(Context &ctx, scf::WhileOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallVector<Value> inits;
  llvm::SmallVector<Buffer> beforeBuffers, afterBuffers;
  llvm::SmallVector<Type> types;
  for (Value init : op.getInits()) {
    if (!isTile(init)) {
      inits.push_back(scalar(ctx, init));
      continue;
    }
    Buffer buffer = allocateFor(ctx, init);
    materialize(ctx, init, buffer);
    beforeBuffers.push_back(buffer);
  }
  for (Value result : op.getResults()) {
    if (isTile(result))
      afterBuffers.push_back(allocateFor(ctx, result));
    else
      types.push_back(lowered(ctx, result.getType()));
  }
  int64_t mark = ctx.arenaUsed;
  auto loop = scf::WhileOp::create(b, types, inits);
  llvm::SmallVector<Type> beforeTypes;
  for (Value init : inits)
    beforeTypes.push_back(init.getType());
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Block &source, Region &region, llvm::ArrayRef<Type> argumentTypes, llvm::ArrayRef<Buffer> tileBuffers) {
    llvm::SmallVector<Location> locs(argumentTypes.size(), b.getLoc());
    Block *block = b.createBlock(&region, region.end(), argumentTypes, locs);
    bindValues(ctx, source.getArguments(), block->getArguments(), tileBuffers);
    b.setInsertionPointToEnd(block);
  };
  enter(*op.getBeforeBody(), loop.getBefore(), beforeTypes, beforeBuffers);
  if (failed(lowerBlock(ctx, *op.getBeforeBody()))) return failure();
  auto condition = cast<scf::ConditionOp>(op.getBeforeBody()->getTerminator());
  llvm::SmallVector<Value> forwarded, carriedOn;
  if (failed(leave(ctx, condition, condition.getArgs(), afterBuffers, forwarded))) return failure();
  scf::ConditionOp::create(b, scalar(ctx, condition.getCondition()), forwarded);
  ctx.arenaUsed = mark;
  enter(*op.getAfterBody(), loop.getAfter(), types, afterBuffers);
  if (failed(lowerBlock(ctx, *op.getAfterBody()))) return failure();
  Operation *yield = op.getAfterBody()->getTerminator();
  if (failed(leave(ctx, yield, yield->getOperands(), beforeBuffers, carriedOn))) return failure();
  scf::YieldOp::create(b, carriedOn);
  ctx.arenaUsed = mark;
  b.setInsertionPointAfter(loop);
  bindValues(ctx, op.getResults(), loop.getResults(), afterBuffers);
  return success();
}

} // namespace tilewright::cpu
