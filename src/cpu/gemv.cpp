// The GEMV path: a matrix-vector multiplication reads each element of the matrix once. So the matrix is not packed into panels, and no rows
// are computed that are not needed.
//
//   vectors along the sums:     for p: sums[i..] += matrix(i.., p) * factor(p)            sums stay in the cache
//   vectors along the terms:    for i: sums[i] = add up (matrix(i, p..) * factor(p..))
//
// Only at run time is it known whether a tile needs just one row or one column; the tile itself is larger.
#include "cpu/gemv.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/scratch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

// Rows of the matrix per iteration: streams from memory, and chains of additions. Four if each row has its own chain. If one vector of sums
// takes all rows, two are as fast from memory (12.0 and 11.7 GFLOP/s of fp32, one row times 4096x4096, Zen 5). In the caches two are 10 %
// slower, but they save 5 % of the compile time of a dot.
constexpr int64_t rowsAlong = 4, rowsAdded = 2;

static Value multiplyAdd(Context &ctx, Value x, Value y, Value sum) {
  if (ctx.target.fma) return fma(ctx.b, x, y, sum);
  return arith::AddFOp::create(ctx.b, sum, arith::MulFOp::create(ctx.b, x, y));
}

static Value elements(Context &ctx, const Gemv &dot, Value tile, const TileIndex &tileIndex) {
  Value value = tileIndex.vector < 0 ? evaluateScalar(ctx, tile, tileIndex)
                                     : asVector(ctx, evaluate(ctx, tile, tileIndex), getElementTypeOrSelf(tile), tileIndex);
  return convertTo(ctx, value, dot.element);
}

/// Stores the factor to scratch as a contiguous array.
static Value storeFactor(Context &ctx, const Gemv &dot) {
  Buffer line = allocate(ctx, {dot.k}, dot.element);
  Buffer view = line;
  view.strides.assign(2, 0);
  view.strides[dot.factorK] = 1;
  auto shape = shapeOf(dot.factor);
  int64_t vectorDim = chooseVectorDim(ctx, shape, {dot.factor}, {});
  int64_t lanes = vectorDim == dot.factorK ? chunkFor(ctx, shape, vectorDim, {dot.factor}) : 1;
  if (lanes == 1) vectorDim = -1;
  withConditions(ctx, {dot.factor}, vectorDim, [&] {
    LoopSpec spec;
    spec.shape = shape;
    spec.order = {dot.factorK};
    spec.chunk.assign(2, 1);
    spec.chunk[dot.factorK] = lanes;
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          for (TileIndex tileIndex : tileIndices) {
            if (dot.index) tileIndex.at[1 - dot.factorK] = {dot.index, 0};
            storeChunk(ctx, view, elements(ctx, dot, dot.factor, tileIndex), tileIndex);
          }
        },
        vectorDim);
  });
  return line.base;
}

/// Returns the lanes of a vector of the matrix.
static int64_t lanesAlong(Context &ctx, const Gemv &dot, int64_t dim) {
  int64_t widest = std::max(elementBytes(dot.element), elementBytes(getElementTypeOrSelf(dot.matrix)));
  return std::min(shapeOf(dot.matrix)[dim], ctx.target.vectorBytes / widest);
}

/// Masks are tested for each vector: memory is slower than the tests, so one version of the code is enough.
static LoopSpec loopsOverMatrix(const Gemv &dot) {
  LoopSpec spec;
  spec.shape = shapeOf(dot.matrix);
  spec.chunk.assign(2, 1);
  return spec;
}

/// Computes the sums with vectors along the sums.
static void addRows(Context &ctx, const Gemv &dot, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(dot.element), rows = std::min(rowsAdded, dot.k);
  Type type = vectorOf(dot.element, lanes);
  forLoop(ctx, constantIndex(b, 0), constantIndex(b, dot.size), lanes,
          [&](Value i) { cpu::store(b, constantFloat(b, type, 0), pointerAt(b, sums, i, bytes), bytes, false); });
  LoopSpec spec = loopsOverMatrix(dot);
  spec.order = {dot.kDim, dot.outerDim};
  spec.chunk[dot.kDim] = rows;
  spec.chunk[dot.outerDim] = lanes;
  if (dot.wanted) limitExtent(ctx, spec, dot.outerDim, dot.wanted);
  if (dot.length) limitExtent(ctx, spec, dot.kDim, dot.length);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        for (TileIndex tileIndex : tileIndices) {
          Index p = tileIndex.at[dot.kDim], i = tileIndex.at[dot.outerDim];
          Value address = pointerAt(b, sums, i.value, bytes);
          Value sum = cpu::load(b, type, address, bytes);
          for (int64_t row = 0; row < rows; ++row) {
            Value at = row == 0 ? p.value : Value(arith::AddIOp::create(b, p.value, constantIndex(b, row)));
            tileIndex.at[dot.kDim] = {at, row == 0 ? p.level : std::max(p.level, i.level)};
            Value scale = cpu::load(b, dot.element, pointerAt(b, factor, at, bytes), bytes);
            sum = multiplyAdd(ctx, elements(ctx, dot, dot.matrix, tileIndex), splat(b, scale, lanes), sum);
          }
          cpu::store(b, sum, address, bytes, false);
        }
      },
      dot.outerDim);
}

/// Adds up the lanes of each vector. Returns the sums as lanes of fewer vectors, in order. While two vectors are left, they become one:
/// each contributes the sums of halves of its lanes.
static llvm::SmallVector<Value> addLanes(ImplicitLocOpBuilder &b, llvm::SmallVector<Value> vectors) {
  for (int64_t each = lanesOf(vectors[0].getType()); each > 1; each /= 2) { // lanes that hold parts of one sum
    size_t together = vectors.size() > 1 ? 2 : 1;
    llvm::SmallVector<Value> sums;
    for (size_t i = 0; i < vectors.size(); i += together) {
      llvm::SmallVector<int32_t> low, high;
      for (int64_t lane = 0; lane < int64_t(together) * lanesOf(vectors[i].getType()); ++lane)
        (lane % each < each / 2 ? low : high).push_back(static_cast<int32_t>(lane));
      Value first = vectors[i], second = vectors[i + together - 1];
      sums.push_back(arith::AddFOp::create(b, shuffle(b, first, second, low), shuffle(b, first, second, high)));
    }
    vectors = std::move(sums);
  }
  return vectors;
}

/// Computes the sums with vectors along the terms.
static void addAlong(Context &ctx, const Gemv &dot, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(dot.element), rows = std::min(rowsAlong, dot.size);
  Type type = vectorOf(dot.element, lanes);
  LoopSpec spec = loopsOverMatrix(dot);
  spec.order = {dot.outerDim};
  spec.chunk[dot.outerDim] = rows;
  if (dot.wanted) limitExtent(ctx, spec, dot.outerDim, dot.wanted);
  Value end = dot.length ? dot.length : constantIndex(b, dot.k);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Index first = tileIndices[0].at[dot.outerDim];
        llvm::SmallVector<Index> outer = {first};
        for (int64_t row = 1; row < rows; ++row)
          outer.push_back({arith::AddIOp::create(b, first.value, constantIndex(b, row)), int64_t(ctx.levels.size()) - 1});
        auto step = [&](Value p, ValueRange before) {
          TileIndex tileIndex = tileIndices[0];
          tileIndex.vector = dot.kDim, tileIndex.lanes = lanes;
          tileIndex.at[dot.kDim] = {p, int64_t(ctx.levels.size()) - 1};
          Value scale = cpu::load(b, type, pointerAt(b, factor, p, bytes), bytes);
          llvm::SmallVector<Value> after;
          for (int64_t row = 0; row < rows; ++row) {
            tileIndex.at[dot.outerDim] = outer[row];
            after.push_back(multiplyAdd(ctx, elements(ctx, dot, dot.matrix, tileIndex), scale, before[row]));
          }
          return after;
        };
        llvm::SmallVector<Value> totals(rows, constantFloat(b, type, 0));
        totals = forLoop(ctx, constantIndex(b, 0), end, lanes, totals, step);
        Value address = pointerAt(b, sums, first.value, bytes);
        for (Value some : addLanes(b, totals)) {
          cpu::store(b, some, address, bytes, false);
          address = pointerAtConstant(b, address, lanesOf(some.getType()) * bytes);
        }
      },
      -1);
}

void emitGemv(Context &ctx, const Gemv &dot) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t mark = ctx.arenaUsed, bytes = elementBytes(dot.element);
  Value factor = storeFactor(ctx, dot), sums = allocate(ctx, {dot.size}, dot.element).base;
  int64_t vectorDim = chooseVectorDim(ctx, shapeOf(dot.matrix), {dot.matrix}, {});
  int64_t lanes = lanesAlong(ctx, dot, vectorDim);
  withConditions(ctx, {dot.matrix}, vectorDim, [&] {
    if (vectorDim == dot.outerDim)
      addRows(ctx, dot, factor, sums, lanes);
    else
      addAlong(ctx, dot, factor, sums, lanes);
  });
  int64_t step = dot.stride == 1 ? std::min(dot.size, ctx.target.vectorBytes / bytes) : 1;
  Value end = dot.wanted ? dot.wanted : constantIndex(b, dot.size);
  forLoop(ctx, constantIndex(b, 0), end, step, [&](Value i) {
    Type type = vectorOf(dot.element, step);
    Value sum = cpu::load(b, type, pointerAt(b, sums, i, bytes), bytes), address = pointerAt(b, dot.target, i, dot.stride * bytes);
    Value all = dot.fromZero ? sum : Value(arith::AddFOp::create(b, cpu::load(b, type, address, bytes), sum));
    sum = dot.isFirst ? Value(arith::SelectOp::create(b, dot.isFirst, sum, all)) : all;
    cpu::store(b, sum, address, bytes, false);
  });
  ctx.arenaUsed = mark;
}

} // namespace tilewright::cpu
