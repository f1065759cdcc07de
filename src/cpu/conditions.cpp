// The run-time checks of a root's fast version.
//
//   %i = (%start + range) % %n          stride 1 while it does not wrap around
//   %w = extsi (%start + range)         stride 1 while the narrow sum does not overflow
//   store %y + i, load %x + i           vector by vector, if no stored element is loaded afterwards
//
//   if (%start % %n + 64 <= %n  and  %start <= 2147483647 - 63  and  the load's bytes end before the store's, or ...)
//     the fast version: vectors, unrolled, with loop bounds for masks
//   else
//     the slow path: loads to scratch, then stores; every index computed for itself
//
// Each check costs a few scalar instructions per program. If the analysis can prove an assumption, there is no check.

#include "cpu/conditions.h"

#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

Value logicalAnd(Context &ctx, Value first, Value second) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!first || !second) return first ? first : second;
  return arith::AndIOp::create(b, first, second);
}

static TileIndex originOf(Value tile, Value zero) {
  TileIndex origin;
  origin.at.assign(shapeOf(tile).size(), {zero, 0});
  return origin;
}

//===------------------------------------------------------------------------------------------------- conditional steps

static void collectConditions(Context &ctx, Value tile, llvm::ArrayRef<int64_t> dims, int64_t dim,
                              llvm::SmallVectorImpl<std::pair<Operation *, int64_t>> &found, TilesWithDims &seen) {
  if (!isTile(tile) || ctx.buffers.contains(tile) ||
      !seen.insert({tile.getAsOpaquePointer(), std::vector<int64_t>(dims.begin(), dims.end())}).second)
    return;
  Operation *op = tile.getDefiningOp();
  if (!op) return;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != dim) continue;
    Stride stride = ctx.analysis->strideOf(tile, d);
    bool wraps = isa<arith::RemSIOp, arith::RemUIOp>(op) && stride.wraps;
    bool extends = extendedFrom(op) && stride.extends && !ctx.analysis->extendsWithoutWrap(op, d);
    if (wraps || extends) found.push_back({op, shapeOf(tile)[d]});
  }
  llvm::SmallVector<int64_t> inner = operandDims(op, dims);
  for (Value operand : op->getOperands())
    collectConditions(ctx, operand, inner, dim, found, seen);
}

/// Returns whether (i1) (start + i) % n does not wrap around for the `size` indices.
static Value staysBelow(Context &ctx, Operation *remainder, int64_t size) {
  ImplicitLocOpBuilder &b = ctx.b;
  TileIndex origin = originOf(remainder->getResult(0), ctx.zeroIndex);
  Value start = scalarToIndex(ctx, evaluateScalar(ctx, remainder->getOperand(0), origin));
  Value count = scalarToIndex(ctx, evaluateScalar(ctx, remainder->getOperand(1), origin));
  Value safe = arith::MaxSIOp::create(b, count, constantIndex(b, 1));
  Value end = arith::AddIOp::create(b, arith::RemSIOp::create(b, start, safe), constantIndex(b, size));
  int64_t width = getElementTypeOrSelf(remainder->getResult(0)).getIntOrFloatBitWidth();
  Value last = constantIndex(b, APInt::getSignedMaxValue(width).getSExtValue() - (size - 1));
  Value holds = logicalAnd(ctx, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, count),
                           arith::CmpIOp::create(b, arith::CmpIPredicate::sge, start, constantIndex(b, 0)));
  return logicalAnd(ctx, holds, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, start, last));
}

/// Returns a tile's stride along `dim`; `first` is its element at index 0.
static Value strideAlong(Context &ctx, Value tile, int64_t dim, Value first) {
  ImplicitLocOpBuilder &b = ctx.b;
  Stride stride = ctx.analysis->strideOf(tile, dim);
  if (stride.kind == Stride::constant) return constantIndex(b, stride.amount);
  TileIndex second = originOf(tile, ctx.zeroIndex);
  second.at[dim] = {indexConstant(ctx, 1), 0};
  return scalarToIndex(ctx, arith::SubIOp::create(b, evaluateScalar(ctx, tile, second), first));
}

/// Returns whether (i1) no narrow integer of the tile overflows: the first one and the strides, as 64-bit numbers, stay within the type.
static Value extendsWithoutWrap(Context &ctx, Operation *op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value in = extendedFrom(op);
  bool isSigned = !isa<arith::ExtUIOp>(op);
  Value narrow = evaluateScalar(ctx, in, originOf(in, ctx.zeroIndex));
  Value first = isSigned ? scalarToIndex(ctx, narrow) : Value(arith::ExtUIOp::create(b, b.getI64Type(), narrow));
  Value low = first, high = first;
  auto shape = shapeOf(in);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 || ctx.analysis->strideOf(in, d).isZero()) continue;
    Value span = arith::MulIOp::create(b, strideAlong(ctx, in, d, narrow), constantIndex(b, shape[d] - 1));
    high = arith::AddIOp::create(b, high, arith::MaxSIOp::create(b, span, ctx.zeroIndex));
    low = arith::AddIOp::create(b, low, arith::MinSIOp::create(b, span, ctx.zeroIndex));
  }
  int64_t width = getElementTypeOrSelf(in).getIntOrFloatBitWidth();
  Value min = constantIndex(b, isSigned ? APInt::getSignedMinValue(width).getSExtValue() : 0);
  Value max = constantIndex(b, isSigned ? APInt::getSignedMaxValue(width).getSExtValue() : int64_t(llvm::maxUIntN(width)));
  return logicalAnd(ctx, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, low, min),
                    arith::CmpIOp::create(b, arith::CmpIPredicate::sle, high, max));
}

Value conditions(Context &ctx, ValueRange tiles, int64_t dim) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (dim < 0 || ctx.fallback) return {};
  llvm::SmallVector<std::pair<Operation *, int64_t>> found;
  TilesWithDims seen;
  for (Value tile : tiles) {
    llvm::SmallVector<int64_t> identity;
    for (size_t d = 0; d < shapeOf(tile).size(); ++d)
      identity.push_back(d);
    collectConditions(ctx, tile, identity, dim, found, seen);
  }
  // A remainder of an index that varies along two dimensions starts again in every row.
  for (auto [op, size] : found) {
    if (!isa<arith::RemSIOp, arith::RemUIOp>(op)) continue;
    int64_t moving = 0;
    for (size_t d = 0; d < shapeOf(op->getResult(0)).size(); ++d)
      moving += !ctx.analysis->strideOf(op->getOperand(0), d).isZero();
    if (moving > 1) return constantInt(b, b.getI1Type(), 0);
  }
  Value holds;
  for (auto [op, size] : found)
    holds = logicalAnd(ctx, holds, isa<arith::RemSIOp, arith::RemUIOp>(op) ? staysBelow(ctx, op, size) : extendsWithoutWrap(ctx, op));
  return holds;
}

void withConditions(Context &ctx, ValueRange tiles, int64_t dim, llvm::function_ref<void()> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value holds = conditions(ctx, tiles, dim);
  if (!holds || matchPattern(holds, m_Zero())) return body();
  ctx.notes.versions.insert(ctx.root);
  auto branch = scf::IfOp::create(b, TypeRange{}, holds, true);
  OpBuilder::InsertionGuard guard(b);
  bool before = ctx.assumeConditions;
  b.setInsertionPointToStart(branch.thenBlock());
  ctx.assumeConditions = true;
  body();
  b.setInsertionPointToStart(branch.elseBlock());
  ctx.assumeConditions = false;
  body();
  ctx.assumeConditions = before;
}

Value reachesExactly(Context &ctx, ValueRange pointers) {
  Value holds;
  llvm::SmallVector<Value> work(pointers.begin(), pointers.end());
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value tile = work.pop_back_val();
    Operation *op = tile.getDefiningOp();
    if (!op || !isTile(tile) || isa<LoadOp>(op) || !seen.insert(tile).second) continue;
    llvm::append_range(work, op->getOperands());
    if (!extendedFrom(op)) continue;
    bool certain = true;
    for (int64_t d = 0, rank = shapeOf(tile).size(); d < rank; ++d)
      certain &= !ctx.analysis->strideOf(tile, d).extends || ctx.analysis->extendsWithoutWrap(op, d);
    if (!certain) holds = logicalAnd(ctx, holds, extendsWithoutWrap(ctx, op));
  }
  return holds;
}

Value masksExactly(Context &ctx, Value mask, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<BoxTerm> terms;
  if (!mask || !ctx.analysis->box(mask, terms)) return {};
  Value holds;
  for (const BoxTerm &term : terms)
    if (term.mayWrap && !term.lower) holds = logicalAnd(ctx, holds, boxCount(ctx, term, shape[term.dim]).noWrap);
  return holds;
}

std::optional<llvm::SmallVector<BoxTerm>> upperBounds(Context &ctx, Value mask) {
  llvm::SmallVector<BoxTerm> terms;
  if (mask && !ctx.analysis->box(mask, terms)) return std::nullopt;
  if (llvm::any_of(terms, [](const BoxTerm &term) { return term.lower; })) return std::nullopt;
  return terms;
}

Value boundsHold(Context &ctx, llvm::ArrayRef<BoxTerm> terms, llvm::ArrayRef<int64_t> shape,
                 llvm::function_ref<Value(int64_t dim)> needed) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value holds;
  for (const BoxTerm &term : terms) {
    BoxCount box = boxCount(ctx, term, term.dim < 0 ? 1 : shape[term.dim]);
    Value min = term.dim < 0 ? constantIndex(b, 1) : needed(term.dim);
    holds = logicalAnd(ctx, holds, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, box.count, min));
    holds = logicalAnd(ctx, holds, box.noWrap);
  }
  return holds;
}

std::pair<Value, Value> rowsOf(Context &ctx, Value pointer) {
  TileIndex first{{{ctx.zeroIndex, 0}, {ctx.zeroIndex, 0}}}, second{{{indexConstant(ctx, 1), 0}, {ctx.zeroIndex, 0}}};
  Value base = evaluateScalar(ctx, pointer, first), next = evaluateScalar(ctx, pointer, second);
  return {base, arith::SubIOp::create(ctx.b, next, base)};
}

//===-------------------------------------------------------------------------------------------- loads and a store

/// The bytes from `low` up to `high` (i64).
struct Reach {
  Value low, high;
};

llvm::SmallVector<Hazard> hazardsOf(Context &ctx, StoreOp op) {
  Value to = address::baseArgument(op.getPtr());
  llvm::SmallVector<Hazard> hazards;
  llvm::SmallVector<std::pair<Value, bool>> work = {{op.getPtr(), true}, {op.getValue(), true}};
  if (op.getMask()) work.push_back({op.getMask(), true});
  llvm::DenseSet<std::pair<Value, int>> seen;
  while (!work.empty()) {
    auto [tile, direct] = work.pop_back_val();
    Operation *part = tile.getDefiningOp();
    if (!part || !isTile(tile) || ctx.buffers.contains(tile) || !seen.insert({tile, direct}).second) continue;
    bool moves = isa<BroadcastOp, ExpandDimsOp, TransOp>(part);
    for (Value operand : part->getOperands())
      work.push_back({operand, direct && !moves});
    auto load = dyn_cast<LoadOp>(part);
    if (!load) continue;
    bool same = direct && ctx.analysis->distinctAddresses(op.getPtr()) &&
                (load.getPtr() == op.getPtr() || haveSameOffsets(load.getPtr(), op.getPtr()));
    auto before = llvm::find_if(hazards, [&](const Hazard &hazard) { return hazard.load == load; });
    if (before != hazards.end())
      before->sameElement &= same;
    else
      hazards.push_back({load, same});
  }
  // Accesses to the same tensor read the element that is stored: the analysis stores all other tiles.
  llvm::erase_if(hazards, [&](Hazard hazard) {
    Value from = address::baseArgument(hazard.load.getPtr());
    return (!from || !to || from == to) && !hazard.sameElement;
  });
  return hazards;
}

/// Returns the last index along `dim` that an access under `mask` may touch.
static Value lastIndex(Context &ctx, Value mask, llvm::ArrayRef<int64_t> shape, int64_t dim) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value all = constantIndex(b, shape[dim]), extent;
  llvm::SmallVector<BoxTerm> terms;
  if (mask && ctx.analysis->box(mask, terms))
    for (const BoxTerm &term : terms) {
      if (term.dim != dim || term.lower) continue;
      BoxCount box = boxCount(ctx, term, shape[dim]);
      Value count = box.noWrap ? Value(arith::SelectOp::create(b, box.noWrap, box.count, all)) : box.count;
      extent = extent ? Value(arith::MinSIOp::create(b, extent, count)) : count;
    }
  if (!extent) return constantIndex(b, shape[dim] - 1);
  return arith::SubIOp::create(b, arith::MaxSIOp::create(b, extent, constantIndex(b, 1)), constantIndex(b, 1));
}

namespace {
/// Computes lower and upper bounds of a tile's elements, if TileAnalysis::boundsAreKnown.
class Bounds {
public:
  explicit Bounds(Context &ctx) : ctx(ctx) {}
  Reach of(Value tile);

private:
  Context &ctx;
  llvm::DenseMap<Value, Reach> known;

  Reach compute(Value tile);
  Reach both(const Reach &reach, llvm::function_ref<Value(Value)> map) { return {map(reach.low), map(reach.high)}; }
};
} // namespace

Reach Bounds::of(Value tile) {
  if (auto found = known.find(tile); found != known.end()) return found->second;
  Reach reach = compute(tile);
  return known[tile] = reach;
}

Reach Bounds::compute(Value tile) {
  ImplicitLocOpBuilder &b = ctx.b;
  return llvm::TypeSwitch<Operation *, Reach>(tile.getDefiningOp())
      .Case<arith::DivSIOp, arith::DivUIOp>([&](Operation *quotient) {
        Value divisor = constantIndex(b, *constantOf(quotient->getOperand(1)));
        return both(of(quotient->getOperand(0)), [&](Value end) { return arith::DivUIOp::create(b, end, divisor); });
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](Operation *remainder) {
        Value last = constantIndex(b, *constantOf(remainder->getOperand(1)) - 1);
        return Reach{ctx.zeroIndex, arith::MinUIOp::create(b, of(remainder->getOperand(0)).high, last)};
      })
      .Case([&](arith::AddIOp sum) {
        Reach first = of(sum.getLhs()), second = of(sum.getRhs());
        return Reach{arith::AddIOp::create(b, first.low, second.low), arith::AddIOp::create(b, first.high, second.high)};
      })
      .Case([&](arith::MulIOp mul) {
        Value factor = constantIndex(b, *constantOf(mul.getRhs()));
        return both(of(mul.getLhs()), [&](Value end) { return arith::MulIOp::create(b, end, factor); });
      })
      .Case([&](AddPtrOp add) {
        Value bytes = constantIndex(b, elementBytes(cast<PointerType>(getElementTypeOrSelf(tile)).getPointeeType()));
        Reach pointer = of(add.getPtr());
        Reach offset = both(of(add.getOffset()), [&](Value end) { return arith::MulIOp::create(b, end, bytes); });
        return Reach{arith::AddIOp::create(b, pointer.low, offset.low), arith::AddIOp::create(b, pointer.high, offset.high)};
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp, ExpandDimsOp, BroadcastOp, TransOp>([&](Operation *other) { return of(other->getOperand(0)); })
      .Default([&](Operation *) { // constants, ranges and splats
        TileIndex last = originOf(tile, ctx.zeroIndex);
        for (size_t d = 0; d < last.at.size(); ++d)
          last.at[d] = {indexConstant(ctx, shapeOf(tile)[d] - 1), 0};
        auto wide = [&](Value element) { return isa<PointerType>(getElementTypeOrSelf(tile)) ? element : scalarToIndex(ctx, element); };
        return Reach{wide(evaluateScalar(ctx, tile, originOf(tile, ctx.zeroIndex))), wide(evaluateScalar(ctx, tile, last))};
      });
}

static Reach reachOf(Context &ctx, Value pointer, Value mask) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(cast<PointerType>(getElementTypeOrSelf(pointer)).getPointeeType());
  if (!ctx.analysis->reachIsKnown(pointer)) {
    Reach bounds = Bounds(ctx).of(pointer);
    return {bounds.low, arith::AddIOp::create(b, bounds.high, constantIndex(b, bytes))};
  }
  Value first = evaluateScalar(ctx, pointer, originOf(pointer, ctx.zeroIndex));
  Reach reach{first, first};
  auto shape = shapeOf(pointer);
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    Stride stride = ctx.analysis->strideOf(pointer, d);
    if (shape[d] == 1 || stride.isZero()) continue;
    Value span = arith::MulIOp::create(b, lastIndex(ctx, mask, shape, d), strideAlong(ctx, pointer, d, first));
    bool known = stride.kind == Stride::constant;
    if (!known || stride.amount > 0)
      reach.high = arith::AddIOp::create(b, reach.high, known ? span : Value(arith::MaxSIOp::create(b, span, ctx.zeroIndex)));
    if (!known || stride.amount < 0)
      reach.low = arith::AddIOp::create(b, reach.low, known ? span : Value(arith::MinSIOp::create(b, span, ctx.zeroIndex)));
  }
  reach.high = arith::AddIOp::create(b, reach.high, constantIndex(b, bytes));
  return reach;
}

/// Returns whether (i1) no two elements have the same address: in the order of their strides, each dimension's stride exceeds the range of
/// the dimensions before it. Strides known only at run time are assumed to be the largest; two of those may come in either order.
static Value isInjective(Context &ctx, Value pointer, Value mask) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(pointer);
  llvm::SmallVector<std::pair<int64_t, int64_t>> constants; // stride and dimension
  llvm::SmallVector<int64_t> others;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    if (shape[d] == 1) continue;
    Stride stride = ctx.analysis->strideOf(pointer, d);
    if (stride.kind == Stride::constant)
      constants.push_back({std::abs(stride.amount), d});
    else
      others.push_back(d);
  }
  llvm::sort(constants);
  int64_t bytes = elementBytes(cast<PointerType>(getElementTypeOrSelf(pointer)).getPointeeType()), reached = bytes;
  bool certain = true;
  for (auto [stride, d] : constants) {
    certain &= stride >= reached;
    reached += stride * (shape[d] - 1);
  }
  if (certain && others.empty()) return {};
  if (others.size() > 2) return constantInt(b, b.getI1Type(), 0);
  using enum arith::CmpIPredicate;
  auto atLeast = [&](Value stride, Value bound) -> Value { return arith::CmpIOp::create(b, sge, stride, bound); };
  Value holds, width = constantIndex(b, bytes);
  for (auto [stride, d] : constants) {
    if (!certain) holds = logicalAnd(ctx, holds, atLeast(constantIndex(b, stride), width));
    Value span = arith::MulIOp::create(b, lastIndex(ctx, mask, shape, d), constantIndex(b, stride));
    width = arith::AddIOp::create(b, width, span);
  }
  Value first = evaluateScalar(ctx, pointer, originOf(pointer, ctx.zeroIndex));
  llvm::SmallVector<Value, 2> strides, spans;
  for (int64_t d : others) {
    Value stride = strideAlong(ctx, pointer, d, first);
    strides.push_back(arith::MaxSIOp::create(b, stride, arith::SubIOp::create(b, ctx.zeroIndex, stride)));
    spans.push_back(arith::MulIOp::create(b, lastIndex(ctx, mask, shape, d), strides.back()));
  }
  if (others.empty()) return holds;
  if (others.size() == 1) return logicalAnd(ctx, holds, atLeast(strides[0], width));
  auto inOrder = [&](int64_t small, int64_t large) {
    return logicalAnd(ctx, atLeast(strides[small], width), atLeast(strides[large], arith::AddIOp::create(b, width, spans[small])));
  };
  return logicalAnd(ctx, holds, arith::OrIOp::create(b, inOrder(0, 1), inOrder(1, 0)));
}

static Value areDisjointRanges(ImplicitLocOpBuilder &b, const Reach &first, const Reach &second) {
  using enum arith::CmpIPredicate;
  return arith::OrIOp::create(b, arith::CmpIOp::create(b, ule, first.high, second.low),
                              arith::CmpIOp::create(b, ule, second.high, first.low));
}

Value areDisjointRanges(Context &ctx, Value first, Value firstMask, Value bytesBefore, Value second, Value secondMask) {
  Reach reach = reachOf(ctx, first, firstMask);
  if (bytesBefore) reach.low = arith::SubIOp::create(ctx.b, reach.low, bytesBefore);
  return areDisjointRanges(ctx.b, reach, reachOf(ctx, second, secondMask));
}

Value isDisjointFromStores(Context &ctx, StoreOp op, llvm::ArrayRef<Hazard> hazards) {
  ImplicitLocOpBuilder &b = ctx.b;
  using enum arith::CmpIPredicate;
  if (hazards.empty()) return {};
  Value to = address::baseArgument(op.getPtr()), injective, holds;
  if (llvm::any_of(hazards, [](const Hazard &hazard) { return hazard.sameElement; }))
    injective = isInjective(ctx, op.getPtr(), op.getMask());
  std::optional<Reach> written;
  for (Hazard hazard : hazards) {
    Value pointer = hazard.load.getPtr(), from = address::baseArgument(pointer);
    if (!from || !to || from == to) { // the same tensor
      holds = logicalAnd(ctx, holds, injective);
      continue;
    }
    if (!written) written = reachOf(ctx, op.getPtr(), op.getMask());
    Value disjoint = areDisjointRanges(b, reachOf(ctx, pointer, hazard.load.getMask()), *written);
    if (hazard.sameElement) {
      Value start = evaluateScalar(ctx, pointer, originOf(pointer, ctx.zeroIndex));
      Value goal = evaluateScalar(ctx, op.getPtr(), originOf(op.getPtr(), ctx.zeroIndex));
      disjoint = arith::OrIOp::create(b, disjoint, logicalAnd(ctx, arith::CmpIOp::create(b, eq, start, goal), injective));
    }
    holds = logicalAnd(ctx, holds, disjoint);
  }
  return holds;
}

} // namespace tilewright::cpu
