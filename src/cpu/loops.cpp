// Emits loop nests over a tile's index space.
//
//   store %ptrs, %v, (%rows < %M) & (%cols < %N)
//   for i in [0, M')                    M': number of rows that the mask admits
//     for j in [0, N' & -8) step 8      all loads and the store without masks
//     for j in [N' & -8, N') step 8     the remainder with masks: at most one iteration
//
// If the root is not a store, elements outside the mask count as well (as `other`), so the second loop runs to the tile's end.

#include "cpu/loops.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/rows.h"
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static std::optional<int64_t> constantIndexValue(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue())) return integer.getInt();
  return std::nullopt;
}

llvm::SmallVector<Value> forLoop(Context &ctx, Value from, Value to, int64_t step, ValueRange carriedIn,
                                 llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto first = constantIndexValue(from), last = constantIndexValue(to);
  if (first && last) {
    if (*last <= *first) return llvm::SmallVector<Value>(carriedIn);
    if (*last - *first <= step) return body(from, carriedIn); // one iteration needs no loop
  }
  auto loop = scf::ForOp::create(b, from, to, constantIndex(b, step), carriedIn);
  OpBuilder::InsertionGuard guard(b);
  if (!ctx.levels.empty()) {
    ctx.levels.back().inner = loop;
    ctx.levels.emplace_back();
  }
  b.setInsertionPointToStart(loop.getBody());
  llvm::SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carriedIn.empty()) {
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, results);
  }
  if (!ctx.levels.empty()) {
    ctx.levels.pop_back();
    ctx.levels.back().inner = nullptr;
  }
  return llvm::SmallVector<Value>(loop.getResults());
}

void forLoop(Context &ctx, Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body) {
  forLoop(ctx, from, to, step, ValueRange(), [&](Value index, ValueRange) {
    body(index);
    return llvm::SmallVector<Value>();
  });
}

LoopSpec loopsOver(llvm::ArrayRef<int64_t> shape, int64_t vectorDim, int64_t chunk) {
  LoopSpec spec;
  spec.shape = shape;
  spec.chunk.assign(shape.size(), 1);
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != vectorDim && shape[d] > 1) spec.order.push_back(d);
  if (vectorDim >= 0) {
    spec.order.push_back(vectorDim);
    spec.chunk[vectorDim] = chunk;
  }
  return spec;
}

static void loopLevel(Context &ctx, const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body, size_t level, bool full,
                      Value whole, TileIndex tileIndex, int64_t vectorDim);

void emitLoops(Context &ctx, const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body, int64_t vectorDim) {
  auto outer = std::move(ctx.levels);
  ctx.levels.clear();
  ctx.levels.emplace_back();
  TileIndex tileIndex;
  tileIndex.at.assign(spec.shape.size(), {ctx.zeroIndex, 0});
  tileIndex.vector = vectorDim;
  tileIndex.lanes = vectorDim < 0 ? 1 : spec.chunk[vectorDim];
  loopLevel(ctx, spec, body, 0, true, {}, tileIndex, vectorDim);
  ctx.levels = std::move(outer);
}

/// Emits two versions of a loop.
static void emitVersions(Context &ctx, Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto branch = scf::IfOp::create(b, TypeRange{}, condition, true);
  OpBuilder::InsertionGuard guard(b);
  ctx.levels.back().inner = branch;
  for (bool way : {true, false}) {
    b.setInsertionPointToStart(way ? branch.thenBlock() : branch.elseBlock());
    ctx.levels.emplace_back();
    way ? then() : otherwise();
    ctx.levels.pop_back();
  }
  ctx.levels.back().inner = nullptr;
}

/// Emits an innermost loop in two versions if its stores may be non-temporal.
static void emitTemporalAndNonTemporal(Context &ctx, Value nonTemporal, llvm::function_ref<void()> emit) {
  if (!nonTemporal) return emit();
  auto way = [&](bool isNonTemporal) {
    ctx.storesNonTemporal = isNonTemporal;
    emit();
  };
  emitVersions(ctx, nonTemporal, [&] { way(true); }, [&] { way(false); });
}

/// Emits code for the case that all masks hold for `row`, the index of the enclosing loop. Values that depend on that index are computed
/// inside, not before, because this code may assume that the masks hold.
static void emitWhere(Context &ctx, Value whole, Index &row, llvm::function_ref<void()> emit) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto branch = scf::IfOp::create(b, TypeRange{}, whole, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  ctx.levels.back().inner = branch;
  ctx.levels.emplace_back();
  Index outside = row;
  row.level = static_cast<int64_t>(ctx.levels.size()) - 1;
  emit();
  row = outside;
  ctx.levels.pop_back();
  ctx.levels.back().inner = nullptr;
}

namespace {
/// The loops of one level. `whole` (i1): all masks hold along the outer dimensions; null: always.
struct LevelLoops {
  Context &ctx;
  const LoopSpec &spec;
  llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body;
  size_t level;
  Value whole;
  TileIndex &tileIndex;
  int64_t vectorDim;
  int64_t dim = spec.order[level], size = spec.shape[dim], chunk = spec.chunk[dim];
  bool innermost = level + 1 == spec.order.size();
  bool inRows = innermost && !ctx.fallback && ctx.rows && ctx.rows->dim == dim && chunk > 1;

  void bodies(Value index, bool sectionFull, int64_t unroll);
  void run(Value from, Value to, bool sectionFull, int64_t unroll, Value wholeBelow);
  void run(Value from, Value to, bool sectionFull, int64_t unroll) { run(from, to, sectionFull, unroll, Value()); }
  void runRows(Value to);
  void runUnrolled(Value to, bool constantEnd);
  void runVectors(Value to, bool constantEnd);
};
} // namespace

Index knownIndex(Context &ctx, Value index, int64_t level, int64_t more) {
  if (auto value = constantIndexValue(index)) return {indexConstant(ctx, *value + more), ctx.isRowOfVector ? level : 0};
  return {more == 0 ? index : Value(arith::AddIOp::create(ctx.b, index, constantIndex(ctx.b, more))), level};
}

/// Emits `unroll` bodies of the innermost loop, from `index` on.
void LevelLoops::bodies(Value index, bool sectionFull, int64_t unroll) {
  llvm::SmallVector<TileIndex> tileIndices;
  for (int64_t u = 0; u < unroll; ++u) {
    tileIndices.push_back(tileIndex);
    tileIndices.back().at[dim] = knownIndex(ctx, index, int64_t(ctx.levels.size()) - 1, u * chunk);
  }
  llvm::SmallVector<Value> added;
  if (sectionFull)
    for (Value mask : spec.fullMasks)
      if (ctx.trueMasks.insert(mask).second) added.push_back(mask);
  body(tileIndices);
  for (Value mask : added)
    ctx.trueMasks.erase(mask);
}

void LevelLoops::run(Value from, Value to, bool sectionFull, int64_t unroll, Value wholeBelow) {
  forLoop(ctx, from, to, chunk * unroll, [&](Value index) {
    if (innermost) return bodies(index, sectionFull, unroll);
    TileIndex inner = tileIndex;
    inner.at[dim] = knownIndex(ctx, index, int64_t(ctx.levels.size()) - 1, 0);
    Value isWhole = wholeBelow ? Value(arith::CmpIOp::create(ctx.b, arith::CmpIPredicate::slt, index, wholeBelow)) : whole;
    loopLevel(ctx, spec, body, level + 1, sectionFull, isWhole, inner, vectorDim);
  });
}

/// Runs row by row (rows.h). A short row that lies completely in the tile needs no loop.
void LevelLoops::runRows(Value to) {
  constexpr int64_t maxVectors = 8;
  ImplicitLocOpBuilder &b = ctx.b;
  std::optional<int64_t> length = ctx.rows->constant;
  int64_t unroll = std::max<int64_t>(1, std::min(spec.unroll, size / chunk));
  if (length) unroll = std::clamp(static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(*length / chunk))), int64_t(1), unroll);
  bool isShort = length && *length % chunk == 0 && *length <= maxVectors * chunk && *length <= size;
  forEachRow(ctx, tileIndex, to, spec.fullMasks, [&](Value from, Value end) {
    if (spec.onceInRow) {
      TileIndex vectors = tileIndex;
      tileIndex.vector = -1, tileIndex.lanes = 1;
      bodies(from, true, 1);
      tileIndex = vectors;
      return;
    }
    Value count = arith::SubIOp::create(b, end, from);
    auto inLoops = [&] {
      auto endOf = [&](int64_t step) { return arith::AddIOp::create(b, from, arith::AndIOp::create(b, count, constantIndex(b, -step))); };
      Value unrolledEnd = endOf(chunk * unroll), all = unroll > 1 ? Value(endOf(chunk)) : unrolledEnd;
      run(from, unrolledEnd, true, unroll);
      if (unroll > 1) run(unrolledEnd, all, true, 1);
      ctx.rowEnd = end;
      run(all, end, true, 1);
      ctx.rowEnd = {};
    };
    if (!isShort) return inLoops();
    Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, ctx.rows->length);
    emitVersions(ctx, isWhole, [&] { bodies(from, true, *length / chunk); }, inLoops);
  });
}

/// Unrolls as many iterations as possible by `unroll`, the rest by one.
void LevelLoops::runUnrolled(Value to, bool constantEnd) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!inRows) return runVectors(to, constantEnd);
  if (!ctx.rows->holds) return runRows(to);
  auto runRegularly = [&] {
    if (!ctx.rows->ofVectors) return runRows(to);
    inVectorRows(ctx, spec.fullMasks, [&] { runVectors(to, constantEnd); });
  };
  emitVersions(ctx, ctx.rows->holds, runRegularly, [&] { run(constantIndex(b, 0), to, true, 1); });
}

/// Runs vector by vector.
void LevelLoops::runVectors(Value to, bool constantEnd) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t unroll = innermost ? std::max<int64_t>(1, std::min(spec.unroll, size / chunk)) : 1;
  bool isWhole = unroll == 1 || constantEnd;
  Value unrolledEnd = isWhole ? to : Value(arith::AndIOp::create(b, to, constantIndex(b, -(chunk * unroll))));
  emitTemporalAndNonTemporal(ctx, innermost ? spec.nonTemporal : Value(), [&] { run(constantIndex(b, 0), unrolledEnd, true, unroll); });
  if (!isWhole) run(unrolledEnd, to, true, 1);
}

/// `full`: all masks hold below the levels' bounds if they hold along the outer dimensions, as `whole` tells (i1; null: always).
static void loopLevel(Context &ctx, const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body, size_t level, bool full,
                      Value whole, TileIndex tileIndex, int64_t vectorDim) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (level == spec.order.size()) {
    // All dimensions are done (for instance, the tile has one element).
    llvm::SmallVector<Value> added;
    if (full)
      for (Value mask : spec.fullMasks)
        if (ctx.trueMasks.insert(mask).second) added.push_back(mask);
    body({tileIndex});
    for (Value mask : added)
      ctx.trueMasks.erase(mask);
    return;
  }
  LevelLoops loops{ctx, spec, body, level, whole, tileIndex, vectorDim};
  int64_t dim = loops.dim, chunk = loops.chunk;
  bool hasExtent = !spec.extent.empty() && spec.extent[dim];
  Value end = hasExtent ? spec.extent[dim] : constantIndex(b, loops.size);
  Value bound = !full || spec.full.empty() ? Value() : spec.full[dim];
  if (!bound) {
    if (!full) return loops.run(constantIndex(b, 0), end, false, 1);
    if (!whole || !loops.innermost) return loops.runUnrolled(end, !hasExtent);
    emitWhere(ctx, whole, tileIndex.at[spec.order[level - 1]], [&] { loops.runUnrolled(end, !hasExtent); });
    return loops.run(arith::SelectOp::create(b, whole, end, constantIndex(b, 0)), end, false, 1);
  }
  // Rows end anywhere, but if vectors follow, they begin where they do in a tile.
  bool isExact = chunk == 1 || (loops.inRows && !ctx.rows->holds && bound == end);
  Value middle = isExact ? bound : Value(arith::AndIOp::create(b, bound, constantIndex(b, -chunk)));
  // One loop over rows copies operands of dots: if the row's mask fails, the whole row is filled like its remainder. That halves the code.
  std::optional<int64_t> rows = constantIndexValue(end);
  bool isLoop = !rows || *rows > chunk;
  if (ctx.packing && isLoop && level + 2 == spec.order.size()) return loops.run(constantIndex(b, 0), end, true, 1, middle);
  if (whole) {
    emitWhere(ctx, whole, tileIndex.at[spec.order[level - 1]], [&] { loops.runUnrolled(middle, false); });
    return loops.run(arith::SelectOp::create(b, whole, middle, constantIndex(b, 0)), end, false, 1);
  }
  loops.runUnrolled(middle, false);
  loops.run(middle, end, false, 1);
}

void forEachElement(Context &ctx, llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const TileIndex &, Value)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  LoopSpec spec = loopsOver(shape, -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Value element = constantIndex(b, 0);
        for (size_t d = 0; d < shape.size(); ++d)
          element = arith::AddIOp::create(b, arith::MulIOp::create(b, element, constantIndex(b, shape[d])), tileIndices[0].at[d].value);
        body(tileIndices[0], element);
      },
      -1);
}

//===------------------------------------------------------------------------------------------------------------ masks

BoxCount boxCount(Context &ctx, const BoxTerm &term, int64_t size) {
  ImplicitLocOpBuilder &b = ctx.b;
  using enum arith::CmpIPredicate;
  auto compare = cast<arith::CmpIOp>(term.compare);
  Value index = term.indexIsLhs ? compare.getLhs() : compare.getRhs();
  Value bound = term.indexIsLhs ? compare.getRhs() : compare.getLhs();
  TileIndex origin;
  origin.at.assign(shapeOf(index).size(), {ctx.zeroIndex, 0});
  auto predicate = compare.getPredicate();
  bool isUnsigned = predicate == ult || predicate == ule || predicate == ugt || predicate == uge;
  bool inclusive = predicate == sle || predicate == ule || predicate == sge || predicate == uge;
  Value first = evaluateScalar(ctx, index, origin), last = evaluateScalar(ctx, bound, origin);
  Type type = first.getType();
  Value any = arith::CmpIOp::create(b, isUnsigned ? (inclusive ? ule : ult) : (inclusive ? sle : slt), first, last);
  Value distance = arith::SubIOp::create(b, last, first); // if `any`, it is correct as an unsigned number
  if (!type.isInteger(64)) distance = arith::ExtUIOp::create(b, b.getI64Type(), distance);
  Value count = arith::MinUIOp::create(b, distance, constantIndex(b, inclusive ? size - 1 : size));
  if (inclusive) count = arith::AddIOp::create(b, count, constantIndex(b, 1));
  BoxCount result{arith::SelectOp::create(b, any, count, constantIndex(b, 0)), {}};
  if (!term.mayWrap) return result;
  int64_t width = type.getIntOrFloatBitWidth();
  APInt maxFirst = (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width)) - (size - 1);
  result.noWrap = arith::CmpIOp::create(b, isUnsigned ? ule : sle, first, constantInt(b, type, maxFirst.getSExtValue()));
  return result;
}

llvm::SmallVector<int64_t> operandDims(Operation *op, llvm::ArrayRef<int64_t> dims) {
  if (isa<ExpandDimsOp, TransOp>(op)) return *address::sourceDims(op, dims);
  return llvm::SmallVector<int64_t>(dims);
}

/// `dims` maps the tile's dimensions to the root's (-1: none). Masks come with the same mapping.
static void collectMasks(Context &ctx, Value tile, llvm::ArrayRef<int64_t> dims,
                         llvm::SmallVectorImpl<std::pair<Value, llvm::SmallVector<int64_t>>> &masks, TilesWithDims &seen) {
  Operation *op = tile.getDefiningOp();
  if (!op || !isTile(tile) || ctx.buffers.contains(tile) ||
      !seen.insert({tile.getAsOpaquePointer(), std::vector<int64_t>(dims.begin(), dims.end())}).second)
    return;
  if (auto load = dyn_cast<LoadOp>(op))
    if (load.getMask()) masks.push_back({load.getMask(), llvm::SmallVector<int64_t>(dims)});
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    llvm::SmallVector<int64_t> inner(dims);
    auto shape = shapeOf(broadcast.getSrc());
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] == 1) inner[d] = -1;
    return collectMasks(ctx, broadcast.getSrc(), inner, masks, seen);
  }
  llvm::SmallVector<int64_t> inner = operandDims(op, dims);
  for (Value operand : op->getOperands())
    collectMasks(ctx, operand, inner, masks, seen);
}

namespace {
using MaskWithDims = std::pair<Value, llvm::SmallVector<int64_t>>;

/// The bounds that masks set for an index space: the index up to which they hold, for each dimension.
struct MaskBounds {
  explicit MaskBounds(int64_t rank) : extent(rank), full(rank), onlyStore(rank, true) {}
  llvm::SmallVector<Value, 3> extent;   // of the store's mask
  llvm::SmallVector<Value, 3> full;     // of all masks
  llvm::SmallVector<bool, 3> onlyStore; // no other mask matters
  Value everywhere, storeEverywhere;    // i1: the terms that do not depend on an index; those of the store's mask
  // One comparison may apply to rows in one operand and to columns in another: m[:, None] & m[None, :].
  llvm::DenseMap<std::pair<Operation *, int64_t>, BoxCount> counts{};
  llvm::DenseSet<std::pair<Operation *, int64_t>> storeTerms{};
};
} // namespace

static Value smallerOf(Context &ctx, Value known, Value count) {
  return known && known != count ? Value(arith::MinSIOp::create(ctx.b, known, count)) : count;
}

static bool isSigned(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  return predicate == slt || predicate == sle || predicate == sgt || predicate == sge;
}

/// Adds a term that does not depend on the index, or that holds for all indices if it holds for the first.
static void addUniformTerm(Context &ctx, MaskBounds &bounds, const BoxTerm &term, Value mask, bool isStore) {
  Value compare = cast<arith::CmpIOp>(term.compare).getResult();
  TileIndex origin;
  origin.at.assign(shapeOf(compare).size(), {ctx.zeroIndex, 0});
  Value holds = evaluateScalar(ctx, compare, origin);
  if (term.lower && term.mayWrap) holds = logicalAnd(ctx, holds, boxCount(ctx, term, shapeOf(mask)[term.dim]).noWrap);
  bounds.everywhere = logicalAnd(ctx, bounds.everywhere, holds);
  if (isStore && !term.lower) bounds.storeEverywhere = logicalAnd(ctx, bounds.storeEverywhere, holds);
}

/// Adds `index < bound` along dimension `dim` of the root.
static void addTerm(Context &ctx, MaskBounds &bounds, const LoopSpec &spec, const BoxTerm &term, int64_t dim, bool isStore) {
  ImplicitLocOpBuilder &b = ctx.b;
  BoxCount &box = bounds.counts[{term.compare, dim}];
  if (!box.count) box = boxCount(ctx, term, spec.shape[dim]);
  if (isStore && isSigned(cast<arith::CmpIOp>(term.compare).getPredicate())) { // lowerStore has checked that the index does not overflow
    bounds.extent[dim] = smallerOf(ctx, bounds.extent[dim], box.count);
    bounds.storeTerms.insert({term.compare, dim});
  }
  bool ofStore = bounds.storeTerms.contains({term.compare, dim});
  if (!ofStore) bounds.onlyStore[dim] = false;
  Value count = ofStore || !box.noWrap ? box.count : Value(arith::SelectOp::create(b, box.noWrap, box.count, constantIndex(b, 0)));
  bounds.full[dim] = smallerOf(ctx, bounds.full[dim], count);
}

/// If a term that does not depend on an index is false, no index of the outermost loop satisfies all masks.
static void limitOutermost(Context &ctx, MaskBounds &bounds, const LoopSpec &spec, int64_t outermost) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value size = constantIndex(b, spec.shape[outermost]), none = constantIndex(b, 0);
  Value &extent = bounds.extent[outermost], &full = bounds.full[outermost];
  if (bounds.storeEverywhere) extent = arith::SelectOp::create(b, bounds.storeEverywhere, extent ? extent : size, none);
  Value bound = full ? full : (extent ? extent : size);
  full = arith::SelectOp::create(b, bounds.everywhere, bound, none);
}

/// A reduction processes its axis itself and uses full[axis]; a tile of one element has no loop to skip.
static int64_t outermostOf(const LoopSpec &spec) {
  if (!spec.order.empty()) return spec.order.front();
  for (size_t d = 0; d < spec.shape.size(); ++d)
    if (spec.shape[d] > 1) return d;
  return -1;
}

void applyMasks(Context &ctx, LoopSpec &spec, ValueRange tiles, Value storeMask) {
  if (ctx.fallback) return;
  int64_t rank = spec.shape.size();
  llvm::SmallVector<int64_t> identity;
  for (int64_t d = 0; d < rank; ++d)
    identity.push_back(d);
  llvm::SmallVector<MaskWithDims> masks;
  TilesWithDims seen;
  if (storeMask) masks.push_back({storeMask, identity});
  for (Value tile : tiles)
    collectMasks(ctx, tile, identity, masks, seen);

  MaskBounds bounds(rank);
  for (auto &[mask, dims] : masks) {
    llvm::SmallVector<BoxTerm> terms;
    if (!ctx.analysis->box(mask, terms)) continue;
    bool isStore = storeMask && mask == storeMask && &mask == &masks.front().first;
    // A term along a broadcast dimension, which the root lacks, holds only for index 0: such masks are tested lane by lane.
    bool usable = llvm::all_of(terms, [&](const BoxTerm &t) { return t.dim < 0 || dims[t.dim] >= 0; });
    if (!usable) continue;
    for (const BoxTerm &term : terms)
      if (term.dim < 0 || term.lower)
        addUniformTerm(ctx, bounds, term, mask, isStore);
      else
        addTerm(ctx, bounds, spec, term, dims[term.dim], isStore);
    spec.fullMasks.push_back(mask);
  }
  // Within the store's own extent its masks hold for every index, so those dimensions need no second loop.
  for (int64_t d = 0; d < rank; ++d)
    if (bounds.full[d] && bounds.onlyStore[d] && spec.chunk[d] == 1) bounds.full[d] = {};
  int64_t outermost = outermostOf(spec);
  if (bounds.everywhere && outermost < 0) spec.fullMasks.clear();
  if (bounds.everywhere && outermost >= 0) limitOutermost(ctx, bounds, spec, outermost);
  spec.extent = bounds.extent;
  spec.full = bounds.full;
}

void limitExtent(Context &ctx, LoopSpec &spec, int64_t dim, Value end) {
  if (spec.extent.empty()) spec.extent.resize(spec.shape.size());
  spec.extent[dim] = smallerOf(ctx, spec.extent[dim], end);
  if (!spec.full.empty() && spec.full[dim]) spec.full[dim] = smallerOf(ctx, spec.full[dim], spec.extent[dim]);
}

//===-------------------------------------------------------------------------------------------------- vector dimension

static void scoreDims(Context &ctx, Value tile, llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<int64_t> &scores,
                      llvm::DenseSet<Value> &seen) {
  if (!isTile(tile) || !seen.insert(tile).second) return;
  if (auto found = ctx.buffers.find(tile); found != ctx.buffers.end()) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] >= 0 && shapeOf(tile)[d] > 1) scores[dims[d]] += found->second.strides[d] == 1 ? 2 : -2;
    return;
  }
  Operation *op = tile.getDefiningOp();
  if (!op || !(isElementwise(op) || isa<ExpandDimsOp, BroadcastOp, TransOp, LoadOp>(op))) return;
  if (auto load = dyn_cast<LoadOp>(op)) {
    int64_t bytes = elementBytes(getElementTypeOrSelf(load.getResult()));
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] < 0 || shapeOf(tile)[d] == 1) continue;
      Stride s = ctx.analysis->strideOf(load.getPtr(), d);
      if (!s.isZero()) scores[dims[d]] += s.kind == Stride::constant && s.amount == bytes ? 4 : -4;
    }
    return;
  }
  llvm::SmallVector<int64_t> inner = operandDims(op, dims);
  for (Value operand : op->getOperands())
    scoreDims(ctx, operand, inner, scores, seen);
}

int64_t chooseVectorDim(Context &ctx, llvm::ArrayRef<int64_t> shape, ValueRange tiles, ValueRange pointers) {
  int64_t rank = shape.size();
  if (rank == 0) return -1;
  llvm::SmallVector<int64_t> scores(rank, 0), identity;
  for (int64_t d = 0; d < rank; ++d)
    identity.push_back(d);
  llvm::DenseSet<Value> seen;
  for (Value tile : tiles)
    scoreDims(ctx, tile, identity, scores, seen);
  for (Value pointer : pointers)
    for (int64_t d = 0; d < rank; ++d) {
      Stride s = ctx.analysis->strideOf(pointer, d);
      auto type = cast<PointerType>(getElementTypeOrSelf(pointer));
      if (!s.isZero()) scores[d] += s.kind == Stride::constant && s.amount == elementBytes(type.getPointeeType()) ? 5 : -5;
    }
  int64_t best = -1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (shape[d] < 4) scores[d] -= 3;
    if (best < 0 || scores[d] > scores[best]) best = d;
  }
  return best;
}

int64_t transposedDim(Context &ctx, Value tile, int64_t other) {
  int64_t rank = shapeOf(tile).size();
  llvm::SmallVector<int64_t> scores(rank, 0);
  llvm::DenseSet<Value> seen;
  scoreDims(ctx, tile, llvm::to_vector(llvm::seq<int64_t>(0, rank)), scores, seen);
  int64_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  return scores[best] > 0 && scores[other] < 0 ? best : -1;
}

static int64_t widestElement(Context &ctx, Value tile, llvm::DenseSet<Value> &seen) {
  if (!isTile(tile) || !seen.insert(tile).second) return 1;
  Type element = getElementTypeOrSelf(tile);
  Operation *op = tile.getDefiningOp();
  int64_t rank = shapeOf(tile).size();
  bool affine = true;
  for (int64_t d = 0; d < rank; ++d)
    affine &= ctx.analysis->strideOf(tile, d).kind != Stride::other;
  if (affine && op && !isa<LoadOp>(op)) return 1;
  int64_t own = elementBytes(element);
  if (isa<FloatType>(element) && own < 4) own = 4; // computed in fp32
  if (isa<PointerType>(element)) own = 1;
  if (!op || ctx.buffers.contains(tile) || isa<LoadOp>(op)) return own;
  for (Value operand : op->getOperands())
    own = std::max(own, widestElement(ctx, operand, seen));
  return own;
}

int64_t chunkFor(Context &ctx, llvm::ArrayRef<int64_t> shape, int64_t vectorDim, ValueRange tiles) {
  if (vectorDim < 0) return 1;
  llvm::DenseSet<Value> seen;
  int64_t widest = 1;
  for (Value tile : tiles)
    widest = std::max(widest, widestElement(ctx, tile, seen));
  return std::min(shape[vectorDim], std::max<int64_t>(2, ctx.target.vectorBytes / widest));
}

} // namespace tilewright::cpu
