// Reductions, scans, histograms and gathers.
//
// A reduction along the vector dimension has up to four vectors of partial results. At the end they are combined in pairs, and then in
// halves, lane by lane. Along another dimension it has one vector per output chunk and processes the axis in order. Both orders depend only
// on shapes and the target, so results have the same bits for any number of threads. Combine functions are assumed to be associative and
// commutative, as in Triton. Scans keep the order; they assume associativity if the axis lies in vectors.

#include "cpu/evaluate.h"
#include "cpu/fast_path.h"
#include "cpu/interleave.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/masked_tail.h"
#include "cpu/math.h"
#include "cpu/operations.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

constexpr int64_t accumulators = 4; // an addition has a latency of 3 to 4 and two ports: four vectors keep them busy along with the loads

/// True if a reduction that follows soon is the first to need a stored tile: then one loop computes, stores and combines it.
///   %e = math.exp ...          no loop here
///   %s = tt.reduce %e          for j: e = exp ...; store e; s += e
/// The reduction may also combine an elementwise function of the tile: the sum of e * e.
bool isStoredByReduction(Context &ctx, Value tile) {
  Operation *op = tile.getDefiningOp();
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    if (auto reduce = dyn_cast<ReduceOp>(next)) {
      if (reduce.getSrcs().size() != 1) return false;
      if (shapeOf(reduce.getSrcs()[0]) == shapeOf(tile) && ctx.analysis->isFirstReader(reduce, tile)) return true;
      continue; // other reductions write nothing that this tile depends on
    }
    if (next->getNumRegions() != 0 || !isMemoryEffectFree(next) || isa<DotOp, ScanOp>(next)) return false;
    // A tile that is written in place into a loop's buffer may overwrite inputs of this one.
    for (Value result : next->getResults())
      if (isTile(result) && ctx.analysis->isStored(result) &&
          llvm::any_of(result.getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); }))
        return false;
  }
  return false;
}

/// Returns the comparison of a combine region that takes the larger (smaller) number and ignores NaN, and does nothing else.
static std::optional<arith::CmpFPredicate> extremeOf(ReduceOp op) {
  Type element = getElementTypeOrSelf(op.getSrcs()[0]);
  if (op.getSrcs().size() != 1 || !(element.isF32() || element.isF64())) return std::nullopt;
  Block &block = op.getCombineOp().front();
  Operation *last = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MaxNumFOp, arith::MinNumFOp>(last) || &block.front() != last) return std::nullopt;
  if (last->getOperand(0) == last->getOperand(1)) return std::nullopt;
  for (Value operand : last->getOperands())
    if (!isa<BlockArgument>(operand)) return std::nullopt;
  return isa<arith::MaxNumFOp>(last) ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
}

/// Stores loads with conditional strides to scratch, in one of two versions, so that the reduction itself needs only one version.
static void storeConditionalLoads(Context &ctx, ValueRange sources) {
  llvm::SmallVector<Value> work(sources.begin(), sources.end());
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value tile = work.pop_back_val();
    Operation *op = tile.getDefiningOp();
    if (!op || !isTile(tile) || ctx.buffers.contains(tile) || !seen.insert(tile).second) continue;
    bool conditional = false;
    if (auto load = dyn_cast<LoadOp>(op))
      for (size_t d = 0; d < shapeOf(tile).size(); ++d)
        conditional |= ctx.analysis->strideOf(load.getPtr(), d).isConditional();
    if (conditional)
      ctx.buffers[tile] = buffered(ctx, tile);
    else
      llvm::append_range(work, op->getOperands());
  }
}

namespace {
using Values = llvm::SmallVector<Value>;
using Combine = llvm::function_ref<Values(ValueRange)>;

/// The plan of one reduction.
struct Reduction {
  Context &ctx;
  ReduceOp op;
  int64_t axis, size;                                      // the reduced dimension and its size
  int64_t vectorDim = -1, chunk = 1;                       // -1 and 1: element by element
  bool along = false;                                      // vectors lie along the axis
  int64_t width = 1, chains = 1;                           // indices of the axis per step; partial results per result
  LoopSpec spec = {};                                      // over the other dimensions
  Value axisFull = {};                                     // below this index of the axis all of the spec's masks hold; null: no masks
  llvm::SmallVector<std::pair<Value, Buffer>> stores = {}; // tiles that are stored while they are read: the source or its inputs
  std::optional<arith::CmpFPredicate> extreme = {};        // the result is found by comparisons alone, see below
  std::optional<MaskedTail> tail = {};                     // elements at the end of the axis that are all equal
  llvm::SmallVector<Buffer> results = {};                  // empty: scalars
};
} // namespace

//===------------------------------------------------------------------------------------- maximum and minimum, without NaN
// The instruction for `x > best ? x : best` returns `best` if x is NaN: it ignores NaN if `best` starts as a number. That is one
// instruction; maxnum takes three. But if all elements are NaN, the result must be NaN: if the result is -inf, the elements are reduced
// again.

static double worstOf(const Reduction &r) {
  return r.extreme == arith::CmpFPredicate::OGT ? -INFINITY : INFINITY;
}

static Value better(const Reduction &r, Value x, Value best) {
  ImplicitLocOpBuilder &b = r.ctx.b;
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, *r.extreme, x, best), x, best);
}

//===---------------------------------------------------------------------------------------------------- partial results

static Values combine(Reduction &r, ValueRange both) {
  if (r.extreme) return Values{better(r, both[1], both[0])};
  return emitRegion(r.ctx, r.op.getCombineOp(), both);
}

static Value elementsOf(Reduction &r, Value tile, const TileIndex &tileIndex) {
  if (tileIndex.vector < 0) return evaluateScalar(r.ctx, tile, tileIndex);
  return asVector(r.ctx, evaluate(r.ctx, tile, tileIndex), getElementTypeOrSelf(tile), tileIndex);
}

/// Returns the sources' elements at an index.
static Values elements(Reduction &r, const TileIndex &tileIndex) {
  Values values;
  for (Value source : r.op.getSrcs())
    values.push_back(elementsOf(r, source, tileIndex));
  return values;
}

static Values storedElements(Reduction &r, const TileIndex &tileIndex) {
  Values values = elements(r, tileIndex);
  for (auto [tile, buffer] : r.stores)
    storeChunk(r.ctx, buffer, elementsOf(r, tile, tileIndex), tileIndex);
  return values;
}

/// Returns the index of a chain's elements at position `index` of the axis.
static TileIndex indexAt(Reduction &r, const TileIndex &base, Value index, int64_t level, int64_t chain) {
  ImplicitLocOpBuilder &b = r.ctx.b;
  TileIndex tileIndex = base;
  int64_t more = chain * r.width;
  if (auto constant = getConstantIntValue(index)) // a loop of one iteration
    tileIndex.at[r.axis] = {indexConstant(r.ctx, *constant + more), 0};
  else
    tileIndex.at[r.axis] = {chain == 0 ? index : Value(arith::AddIOp::create(b, index, constantIndex(b, more))), level};
  tileIndex.vector = r.vectorDim;
  tileIndex.lanes = r.vectorDim < 0 ? 1 : r.chunk;
  return tileIndex;
}

/// Runs `inner` without the assumption that masks hold.
static void withoutMasks(Reduction &r, llvm::function_ref<void()> inner) {
  if (!r.axisFull) return inner();
  auto saved = r.ctx.trueMasks;
  for (Value mask : r.spec.fullMasks)
    r.ctx.trueMasks.erase(mask);
  inner();
  r.ctx.trueMasks = saved;
}

/// Returns the first elements of each chain of partial results.
static Values firstPartials(Reduction &r, llvm::ArrayRef<TileIndex> tileIndices) {
  ImplicitLocOpBuilder &b = r.ctx.b;
  Values partial;
  for (const TileIndex &tileIndex : tileIndices)
    for (int64_t chain = 0; chain < r.chains; ++chain) {
      llvm::append_range(partial, storedElements(r, indexAt(r, tileIndex, r.ctx.zeroIndex, 0, chain)));
      if (r.extreme) partial.back() = better(r, partial.back(), constantFloat(b, partial.back().getType(), worstOf(r)));
    }
  return partial;
}

static Values nextPartials(Reduction &r, llvm::ArrayRef<TileIndex> tileIndices, Value index, ValueRange carried) {
  Values next;
  int64_t level = r.ctx.levels.size() - 1, count = r.op.getSrcs().size();
  llvm::SmallVector<TileIndex> all;
  for (const TileIndex &tileIndex : tileIndices)
    for (int64_t chain = 0; chain < r.chains; ++chain)
      all.push_back(indexAt(r, tileIndex, index, level, chain));
  // If masks are not known to hold, few elements are left.
  bool isWhole = !r.axisFull || llvm::all_of(r.spec.fullMasks, [&](Value mask) { return r.ctx.trueMasks.contains(mask); });
  for (Value source : r.op.getSrcs())
    if (isWhole) evaluateFastPaths(r.ctx, source, all);
  emitInterleaved(r.ctx.b, all.size(), [&](int64_t i) {
    Values both(carried.slice(i * count, count));
    llvm::append_range(both, storedElements(r, all[i]));
    llvm::append_range(next, combine(r, both));
  });
  return next;
}

/// Emits `then` for the case that the condition holds, else `otherwise`. Values computed inside are not memoized afterwards.
static Values either(Context &ctx, Value condition, llvm::ArrayRef<Type> types, llvm::function_ref<Values()> then,
                     llvm::function_ref<Values()> otherwise) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto branch = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto known = ctx.levels.back().memo;
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  ctx.levels.back().memo = known;
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  ctx.levels.back().memo = std::move(known);
  return Values(branch.getResults());
}

/// Loads the first elements of a row, which fill all chains, without masks; a shorter row is processed with masks.
static Values firstUnmasked(Reduction &r, llvm::ArrayRef<TileIndex> tileIndices, int64_t stride) {
  Context &ctx = r.ctx;
  ImplicitLocOpBuilder &b = ctx.b;
  constexpr int64_t maxCost = 60; // above this cost, a second copy of the code costs more than the masks
  bool isExpensive = llvm::any_of(r.op.getSrcs(), [&](Value source) { return ctx.analysis->cost(source) > maxCost; });
  if (!r.along || isExpensive || !llvm::any_of(r.spec.fullMasks, [&](Value mask) { return ctx.trueMasks.contains(mask); })) {
    Values partial;
    withoutMasks(r, [&] { partial = firstPartials(r, tileIndices); });
    return partial;
  }
  Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, r.axisFull, constantIndex(b, stride));
  llvm::SmallVector<Type> types;
  for (int64_t i = 0, count = tileIndices.size() * r.chains; i < count; ++i)
    for (Value source : r.op.getSrcs())
      types.push_back(vectorOf(getElementTypeOrSelf(source), r.vectorDim < 0 ? 1 : r.chunk));
  auto masked = [&] {
    Values partial;
    withoutMasks(r, [&] { partial = firstPartials(r, tileIndices); });
    return partial;
  };
  auto unmasked = [&] {
    ctx.guarded = true;
    Values partial = firstPartials(r, tileIndices);
    ctx.guarded = false;
    return partial;
  };
  return either(ctx, whole, types, unmasked, masked);
}

/// Whether combining a number twice equals combining it once; for a sum this needs a zero.
enum class Repeats { never, always, ifZero };

static Repeats repeatsOf(ReduceOp op) {
  if (op.getSrcs().size() != 1) return Repeats::never;
  Block &block = op.getCombineOp().front();
  Operation *last = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!last || &block.front() != last || last->getNumOperands() != 2 || last->getOperand(0) == last->getOperand(1)) return Repeats::never;
  if (!llvm::all_of(last->getOperands(), [](Value operand) { return isa<BlockArgument>(operand); })) return Repeats::never;
  if (isa<arith::AddFOp, arith::AddIOp>(last)) return Repeats::ifZero;
  bool idempotent = isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
                        arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(last);
  return idempotent ? Repeats::always : Repeats::never;
}

/// Returns the end of the loop along the axis; then, for each tile that is stored on the way, the value of its elements from there on. The
/// loop runs one iteration beyond the masks, so that every partial result includes an element of the tail.
static Values endOfWalk(Reduction &r, const TileIndex &tileIndex, int64_t stride) {
  Context &ctx = r.ctx;
  ImplicitLocOpBuilder &b = ctx.b;
  Value source = r.op.getSrcs()[0], all = constantIndex(b, r.size);
  auto zeroOf = [&](Type type) { return isa<FloatType>(type) ? constantFloat(b, type, 0) : constantInt(b, type, 0); };
  llvm::SmallVector<Type> types = {b.getI64Type()};
  for (auto &[tile, buffer] : r.stores)
    types.push_back(isa<PointerType>(getElementTypeOrSelf(tile)) ? b.getI64Type() : getElementTypeOrSelf(tile));
  Value begin = beginOfTail(ctx, *r.tail, r.axis, r.size);
  Value walkEnd = arith::AndIOp::create(b, arith::AddIOp::create(b, begin, constantIndex(b, 2 * stride - 1)), constantIndex(b, -stride));
  Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, walkEnd, all);
  auto shorten = [&]() -> Values {
    Values lasts = {walkEnd};
    TileIndex end = indexAt(r, tileIndex, constantIndex(b, r.size - 1), 0, 0);
    withoutMasks(r, [&] {
      if (repeatsOf(r.op) == Repeats::ifZero) {
        Value last = evaluateScalar(ctx, source, end);
        if (isa<FloatType>(last.getType()) && last.getType().getIntOrFloatBitWidth() < 32) // LLVM compares no 8-bit floats
          last = convertFloat(b, ctx.target, last, b.getF32Type(), /*truncate=*/false);
        Value zero = zeroOf(last.getType());
        Value isZero = isa<FloatType>(last.getType()) ? Value(arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, last, zero))
                                                      : Value(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, last, zero));
        lasts[0] = arith::SelectOp::create(b, isZero, walkEnd, all);
      }
      for (auto &[tile, buffer] : r.stores)
        lasts.push_back(evaluateScalar(ctx, tile, end));
    });
    return lasts;
  };
  auto walkAll = [&]() -> Values {
    Values none = {all};
    for (Type type : llvm::drop_begin(types))
      none.push_back(zeroOf(type));
    return none;
  };
  return either(ctx, isShort, types, shorten, walkAll);
}

/// Fills the rest of the tiles that are stored on the way: beyond all masks of the source, its inputs are constant, too. `tail`: the result
/// of endOfWalk.
static void storeTails(Reduction &r, const TileIndex &tileIndex, ValueRange tail) {
  Context &ctx = r.ctx;
  for (auto [store, last] : llvm::zip(r.stores, tail.drop_front())) {
    Value lanes = splat(ctx.b, last, r.chunk);
    forLoop(ctx, tail[0], constantIndex(ctx.b, r.size), r.width,
            [&](Value index) { storeChunk(ctx, store.second, lanes, indexAt(r, tileIndex, index, ctx.levels.size() - 1, 0)); });
  }
}

static Values walkAxis(Reduction &r, llvm::ArrayRef<TileIndex> tileIndices) {
  ImplicitLocOpBuilder &b = r.ctx.b;
  int64_t stride = r.width * r.chains;
  auto step = [&](Value index, ValueRange carried) { return nextPartials(r, tileIndices, index, carried); };
  Value start = constantIndex(b, stride), end = constantIndex(b, r.size);
  if (!r.axisFull) {
    Values first = firstPartials(r, tileIndices);
    if (r.tail) end = endOfWalk(r, tileIndices.front(), stride)[0];
    return forLoop(r.ctx, start, end, stride, first, step);
  }
  Values partial = firstUnmasked(r, tileIndices, stride);
  Value full = arith::AndIOp::create(b, r.axisFull, constantIndex(b, -stride));
  full = arith::MaxSIOp::create(b, full, start);
  partial = forLoop(r.ctx, start, full, stride, partial, step);
  Values tail;
  if (r.tail) tail = endOfWalk(r, tileIndices.front(), stride);
  if (r.tail) end = tail[0];
  withoutMasks(r, [&] { partial = forLoop(r.ctx, full, end, stride, partial, step); });
  if (r.tail) storeTails(r, tileIndices.front(), tail);
  return partial;
}

//===------------------------------------------------------------------------------------------------------- one result

/// Combines pairs of chains until one is left.
static Values acrossChains(Reduction &r, ValueRange partial) {
  size_t count = r.op.getSrcs().size();
  llvm::SmallVector<Values> values;
  for (int64_t chain = 0; chain < r.chains; ++chain)
    values.push_back(Values(partial.slice(chain * count, count)));
  while (values.size() > 1) {
    llvm::SmallVector<Values> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      Values both = values[i];
      llvm::append_range(both, values[i + 1]);
      next.push_back(combine(r, both));
    }
    values = next;
  }
  return values.front();
}

/// Combines halves of the vector until one lane is left.
static Values acrossLanes(Reduction &r, Values values, Combine by) {
  ImplicitLocOpBuilder &b = r.ctx.b;
  for (int64_t lanes = r.along ? r.width : 1; lanes > 1; lanes /= 2) {
    Values both;
    for (int64_t half = 0; half < 2; ++half)
      for (Value value : values) {
        if (lanes == 2) {
          both.push_back(extractLane(b, value, half));
          continue;
        }
        llvm::SmallVector<int32_t> mask;
        for (int64_t lane = 0; lane < lanes / 2; ++lane)
          mask.push_back(half * lanes / 2 + lane);
        both.push_back(shuffle(b, value, value, mask));
      }
    values = by(both);
  }
  return values;
}

/// Returns `found`, unless it is the initial value: then the elements are reduced again with the combine region, which may return NaN.
static Value orNan(Reduction &r, const TileIndex &tileIndex, Value found) {
  Context &ctx = r.ctx;
  ImplicitLocOpBuilder &b = ctx.b;
  Value nothing = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, found, constantFloat(b, found.getType(), worstOf(r)));
  auto again = scf::IfOp::create(b, TypeRange{found.getType()}, nothing, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(again.elseBlock());
  scf::YieldOp::create(b, found);
  b.setInsertionPointToStart(again.thenBlock());
  auto known = ctx.levels.back().memo; // values computed inside are not memoized afterwards
  auto exactly = [&](ValueRange both) { return emitRegion(ctx, r.op.getCombineOp(), both); };
  withoutMasks(r, [&] {
    Values values = elements(r, indexAt(r, tileIndex, ctx.zeroIndex, 0, 0));
    values = forLoop(ctx, constantIndex(b, r.width), constantIndex(b, r.size), r.width, values, [&](Value index, ValueRange carried) {
      Values both(carried);
      llvm::append_range(both, elements(r, indexAt(r, tileIndex, index, ctx.levels.size() - 1, 0)));
      return exactly(both);
    });
    scf::YieldOp::create(b, acrossLanes(r, values, exactly));
  });
  ctx.levels.back().memo = std::move(known);
  return again.getResult(0);
}

static void storeResults(Reduction &r, const TileIndex &tileIndex, ValueRange values) {
  TileIndex to = tileIndex;
  to.at.erase(to.at.begin() + r.axis);
  if (r.along)
    to.vector = -1, to.lanes = 1;
  else if (to.vector > r.axis)
    --to.vector;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (r.results.empty())
      r.ctx.scalars[r.op->getResult(i)] = value;
    else
      storeChunk(r.ctx, r.results[i], value, to);
  }
}

static void reduceAt(Reduction &r, llvm::ArrayRef<TileIndex> tileIndices) {
  Values partial = walkAxis(r, tileIndices);
  size_t count = r.chains * r.op.getSrcs().size();
  auto by = [&](ValueRange both) { return combine(r, both); };
  for (auto [i, tileIndex] : llvm::enumerate(tileIndices)) {
    Values values = acrossLanes(r, acrossChains(r, ValueRange(partial).slice(i * count, count)), by);
    if (r.extreme) values = {orNan(r, tileIndex, values.front())};
    storeResults(r, tileIndex, values);
  }
}

static Reduction planReduction(Context &ctx, ReduceOp op) {
  auto sources = op.getSrcs();
  auto shape = shapeOf(sources[0]);
  int64_t rank = shape.size();
  Reduction r{.ctx = ctx, .op = op, .axis = op.getAxis(), .size = shape[op.getAxis()]};
  r.vectorDim = chooseVectorDim(ctx, shape, sources, {});
  r.chunk = chunkFor(ctx, shape, r.vectorDim, sources);
  r.along = r.vectorDim == r.axis;
  r.width = r.along ? r.chunk : 1;
  r.chains = r.along ? std::min(accumulators, r.size / r.width) : 1;
  for (Value result : op.getResults())
    if (isTile(result)) r.results.push_back(allocateFor(ctx, result));
  r.spec.shape = shape;
  r.spec.chunk.assign(rank, 1);
  if (r.vectorDim >= 0) r.spec.chunk[r.vectorDim] = r.chunk;
  for (int64_t d = 0; d < rank; ++d)
    if (d != r.axis && d != r.vectorDim && shape[d] > 1) r.spec.order.push_back(d);
  if (!r.along && r.vectorDim >= 0) r.spec.order.push_back(r.vectorDim);
  r.spec.unroll = r.along ? 1 : accumulators;
  applyMasks(ctx, r.spec, sources, {});
  r.axisFull = r.spec.full.empty() ? Value() : r.spec.full[r.axis];
  if (r.axisFull) r.spec.full[r.axis] = {};
  for (auto &[tile, buffer] : ctx.pending)
    if (ctx.analysis->isFirstReader(op, tile)) r.stores.push_back({tile, buffer});
  if (r.along && r.size / r.width >= 4) r.extreme = extremeOf(op);
  bool walksFar = r.along && r.size > 2 * r.width * r.chains;
  if (walksFar && (r.axisFull || r.stores.empty()) && repeatsOf(op) != Repeats::never) r.tail = maskedTail(ctx, sources[0], r.axis);
  return r;
}

void lowerReduce(Context &ctx, ReduceOp op) {
  storeConditionalLoads(ctx, op.getSrcs());
  Reduction r = planReduction(ctx, op);
  emitLoops(ctx, r.spec, [&](llvm::ArrayRef<TileIndex> tileIndices) { reduceAt(r, tileIndices); }, r.along ? -1 : r.vectorDim);
  for (auto &[tile, buffer] : r.stores) {
    ctx.buffers[tile] = buffer;
    ctx.pending.erase(tile);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (isTile(result)) ctx.buffers[result] = r.results[i];
}

//===---------------------------------------------------------------------------------------------------------------- scans

namespace {
/// One scan; the buffers of its results first hold the sources, and are updated in place.
struct Scan {
  Context &ctx;
  ScanOp op;
  int64_t axis, size;
  llvm::SmallVector<Buffer> results = {};
  int64_t lanes = 1; // of a vector along the axis; 1: the axis is processed element by element

  /// Returns the index of step number `step`: a reverse scan begins with the last index.
  Value indexOf(Value step) {
    return op.getReverse() ? Value(arith::SubIOp::create(ctx.b, constantIndex(ctx.b, size - lanes), step)) : step;
  }
  TileIndex indexAt(const TileIndex &base, Value step) {
    TileIndex here = base;
    here.at[axis] = {indexOf(step), int64_t(ctx.levels.size()) - 1};
    if (lanes > 1) here.vector = axis, here.lanes = lanes;
    return here;
  }
  Values read(const TileIndex &tileIndex) {
    Values values;
    for (auto [buffer, result] : llvm::zip(results, op.getResults()))
      values.push_back(readBuffer(ctx, buffer, getElementTypeOrSelf(result), tileIndex).value);
    return values;
  }
  void write(const TileIndex &tileIndex, ValueRange values) {
    for (auto [buffer, value] : llvm::zip(results, values))
      storeChunk(ctx, buffer, value, tileIndex);
  }
  Values combine(ValueRange before, ValueRange after) {
    Values both(before);
    llvm::append_range(both, after);
    return emitRegion(ctx, op.getCombineOp(), both);
  }
};
} // namespace

/// Replaces each lane by the combination of all lanes up to it: of two lanes, of four, of eight ...
///   a  b   c   d     ->    a  ab  bc  cd    ->    a  ab  abc  abcd
static Values scanLanes(Scan &scan, Values values) {
  ImplicitLocOpBuilder &b = scan.ctx.b;
  for (int64_t distance = 1; distance < scan.lanes; distance *= 2) {
    llvm::SmallVector<int32_t> order;
    llvm::SmallVector<int64_t> hasBefore;
    for (int64_t lane = 0; lane < scan.lanes; ++lane) {
      int64_t from = scan.op.getReverse() ? lane + distance : lane - distance;
      hasBefore.push_back(from >= 0 && from < scan.lanes);
      order.push_back(static_cast<int32_t>(hasBefore.back() ? from : lane));
    }
    Values before;
    for (Value value : values)
      before.push_back(shuffle(b, value, value, order));
    Value mask = constantVector(b, b.getI1Type(), hasBefore);
    for (auto [value, combined] : llvm::zip(values, scan.combine(before, values)))
      value = arith::SelectOp::create(b, mask, combined, value);
  }
  return values;
}

/// Scans an axis that lies in vectors: each vector is scanned by itself and combined with the total before it.
static void scanAlong(Scan &scan, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = scan.ctx.b;
  llvm::SmallVector<int32_t> last(scan.lanes, scan.op.getReverse() ? 0 : static_cast<int32_t>(scan.lanes - 1));
  auto totals = [&](ValueRange values) {
    Values all;
    for (Value value : values)
      all.push_back(shuffle(b, value, value, last));
    return all;
  };
  TileIndex first = scan.indexAt(tileIndex, constantIndex(b, 0));
  Values start = scanLanes(scan, scan.read(first));
  scan.write(first, start);
  forLoop(scan.ctx, constantIndex(b, scan.lanes), constantIndex(b, scan.size), scan.lanes, totals(start),
          [&](Value step, ValueRange before) {
            TileIndex here = scan.indexAt(tileIndex, step);
            Values own = scanLanes(scan, scan.read(here));
            scan.write(here, scan.combine(before, own));
            return scan.combine(before, totals(own)); // the same as the last lane, but available earlier
          });
}

/// Scans the axis element by element; another dimension may lie in vectors.
static void scanAcross(Scan &scan, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = scan.ctx.b;
  Values first = scan.read(scan.indexAt(tileIndex, constantIndex(b, 0)));
  forLoop(scan.ctx, constantIndex(b, 1), constantIndex(b, scan.size), 1, first, [&](Value step, ValueRange before) {
    TileIndex here = scan.indexAt(tileIndex, step);
    Values values = scan.combine(before, scan.read(here));
    scan.write(here, values);
    return values;
  });
}

void lowerScan(Context &ctx, ScanOp op) {
  auto shape = shapeOf(op.getSrcs()[0]);
  int64_t rank = shape.size(), axis = op.getAxis(), widest = 1;
  Scan scan{ctx, op, axis, shape[axis]};
  for (auto [source, result] : llvm::zip(op.getSrcs(), op.getResults())) {
    scan.results.push_back(allocateFor(ctx, result));
    materialize(ctx, source, scan.results.back());
    widest = std::max(widest, elementBytes(scan.results.back().element));
  }
  int64_t chunk = std::max<int64_t>(2, ctx.target.vectorBytes / widest);
  int64_t vectorDim = rank > 1 && axis != rank - 1 && shape[rank - 1] > 1 ? rank - 1 : -1;
  constexpr int64_t minLanes = 4; // with two lanes, a vector takes as many steps as it has elements
  if (axis == rank - 1 && std::min(chunk, scan.size) >= minLanes) scan.lanes = std::min(chunk, scan.size);
  LoopSpec spec;
  spec.shape = shape;
  spec.chunk.assign(rank, 1);
  if (vectorDim >= 0) spec.chunk[vectorDim] = std::min(shape[vectorDim], chunk);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis && shape[d] > 1) spec.order.push_back(d);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) { scan.lanes > 1 ? scanAlong(scan, tileIndices[0]) : scanAcross(scan, tileIndices[0]); },
      vectorDim);
  for (auto [result, buffer] : llvm::zip(op.getResults(), scan.results))
    ctx.buffers[result] = buffer;
}

//===------------------------------------------------------------------------------------------- histograms, gathers, maps

void lowerHistogram(Context &ctx, HistogramOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Buffer result = allocateFor(ctx, op.getResult());
  int64_t bins = shapeOf(op.getResult())[0], bytes = elementBytes(result.element);
  Value zero = constantInt(b, result.element, 0), one = constantInt(b, result.element, 1);
  TileIndex bin;
  bin.at.push_back({ctx.zeroIndex, 0});
  forLoop(ctx, constantIndex(b, 0), constantIndex(b, bins), 1, [&](Value index) {
    bin.at[0].value = index;
    storeChunk(ctx, result, zero, bin);
  });
  LoopSpec spec = loopsOver(shapeOf(op.getSrc()), -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Value value = evaluateScalar(ctx, op.getSrc(), tileIndices[0]);
        Value index = value.getType().isInteger(64) ? value : Value(arith::ExtUIOp::create(b, b.getI64Type(), value));
        Value counted = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, constantIndex(b, bins));
        if (op.getMask()) counted = arith::AndIOp::create(b, counted, evaluateScalar(ctx, op.getMask(), tileIndices[0]));
        auto branch = scf::IfOp::create(b, TypeRange{}, counted, false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        Value address = pointerAt(b, result.base, index, bytes);
        cpu::store(b, arith::AddIOp::create(b, cpu::load(b, result.element, address, bytes), one), address, bytes, false);
      },
      -1);
  ctx.buffers[op.getResult()] = result;
}

void lowerGather(Context &ctx, GatherOp op) {
  Buffer source = buffered(ctx, op.getSrc());
  Buffer result = allocateFor(ctx, op.getResult());
  auto shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis();
  LoopSpec spec = loopsOver(shape, -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        TileIndex from = tileIndices[0];
        Value index = scalarToIndex(ctx, evaluateScalar(ctx, op.getIndices(), tileIndices[0]));
        from.at[axis] = {index, int64_t(ctx.levels.size()) - 1};
        storeChunk(ctx, result, readBuffer(ctx, source, getElementTypeOrSelf(op.getSrc()), from).value, tileIndices[0]);
      },
      -1);
  ctx.buffers[op.getResult()] = result;
}

/// Lowers a map. Its region's control flow may differ between elements, so elements are processed one by one, `pack` adjacent ones at a
/// time.
void lowerMap(Context &ctx, MapElementwiseOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallVector<int64_t> groups(shapeOf(op.getSrcs()[0]));
  int64_t pack = op.getPack(), last = int64_t(groups.size()) - 1;
  if (!llvm::hasSingleElement(op.getScalarOp()) || groups[last] % pack != 0) {
    refuse(ctx, op, Diag::cpuOperation, op->getName().getStringRef().str());
    return;
  }
  groups[last] /= pack;
  llvm::SmallVector<Buffer> results;
  for (Value result : op->getResults())
    results.push_back(allocateFor(ctx, result));
  Block &block = op.getScalarOp().front();
  emitLoops(
      ctx, loopsOver(groups, -1, 1),
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Index group = tileIndices[0].at[last];
        llvm::SmallVector<TileIndex> elements(pack, tileIndices[0]);
        for (int64_t i = 0; pack > 1 && i < pack; ++i) {
          Value first = arith::MulIOp::create(b, group.value, constantIndex(b, pack));
          elements[i].at[last] = {arith::AddIOp::create(b, first, constantIndex(b, i)), int64_t(ctx.levels.size()) - 1};
        }
        unsigned argument = 0;
        for (Value source : op.getSrcs())
          for (const TileIndex &element : elements) {
            BlockArgument parameter = block.getArgument(argument++);
            Value value = evaluateScalar(ctx, source, element);
            ctx.scalars[parameter] = isa<PointerType>(parameter.getType()) ? intToPointer(b, value) : value;
          }
        if (failed(lowerBlock(ctx, block))) return;
        b.setLoc(op.getLoc());
        for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
          Value made = scalar(ctx, value);
          storeChunk(ctx, results[i / pack], isa<PointerType>(value.getType()) ? pointerToInt(b, made) : made, elements[i % pack]);
        }
      },
      -1);
  for (auto [result, buffer] : llvm::zip(op->getResults(), results))
    ctx.buffers[result] = buffer;
}

} // namespace tilewright::cpu
