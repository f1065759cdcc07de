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
constexpr int64_t rowsWithOwnChains = 4, rowsPerSum = 2;

static Value multiplyAdd(Context &ctx, Value x, Value y, Value sum) {
  if (ctx.target.fma) return fma(ctx.b, x, y, sum);
  return arith::AddFOp::create(ctx.b, sum, arith::MulFOp::create(ctx.b, x, y));
}

static Value elements(Context &ctx, const Gemv &gemv, Value tile, const TileIndex &tileIndex) {
  Value value = tileIndex.vector < 0 ? evaluateScalar(ctx, tile, tileIndex)
                                     : asVector(ctx, evaluate(ctx, tile, tileIndex), getElementTypeOrSelf(tile), tileIndex);
  return convertTo(ctx, value, gemv.element);
}

/// Stores the factor to scratch as a contiguous array.
static Value storeFactor(Context &ctx, const Gemv &gemv) {
  Buffer line = allocate(ctx, {gemv.k}, gemv.element);
  Buffer view = line;
  view.strides.assign(2, 0);
  view.strides[gemv.factorK] = 1;
  auto shape = shapeOf(gemv.factor);
  int64_t vectorDim = chooseVectorDim(ctx, shape, {gemv.factor}, {});
  int64_t lanes = vectorDim == gemv.factorK ? chunkFor(ctx, shape, vectorDim, {gemv.factor}) : 1;
  if (lanes == 1) vectorDim = -1;
  withConditions(ctx, {gemv.factor}, vectorDim, [&] {
    LoopSpec spec;
    spec.shape = shape;
    spec.order = {gemv.factorK};
    spec.chunk.assign(2, 1);
    spec.chunk[gemv.factorK] = lanes;
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          for (TileIndex tileIndex : tileIndices) {
            if (gemv.index) tileIndex.at[1 - gemv.factorK] = {gemv.index, 0};
            storeChunk(ctx, view, elements(ctx, gemv, gemv.factor, tileIndex), tileIndex);
          }
        },
        vectorDim);
  });
  return line.base;
}

/// Returns the lanes of a vector of the matrix.
static int64_t lanesAlong(Context &ctx, const Gemv &gemv, int64_t dim) {
  int64_t widest = std::max(elementBytes(gemv.element), elementBytes(getElementTypeOrSelf(gemv.matrix)));
  return std::min(shapeOf(gemv.matrix)[dim], ctx.target.vectorBytes / widest);
}

/// Masks are tested for each vector: memory is slower than the tests, so one version of the code is enough.
static LoopSpec loopsOverMatrix(const Gemv &gemv) {
  LoopSpec spec;
  spec.shape = shapeOf(gemv.matrix);
  spec.chunk.assign(2, 1);
  return spec;
}

/// Computes the sums with vectors along the sums.
static void addRows(Context &ctx, const Gemv &gemv, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(gemv.element), rows = std::min(rowsPerSum, gemv.k);
  Type type = vectorOf(gemv.element, lanes);
  forLoop(ctx, constantIndex(b, 0), constantIndex(b, gemv.size), lanes,
          [&](Value i) { cpu::store(b, constantFloat(b, type, 0), pointerAt(b, sums, i, bytes), bytes, false); });
  LoopSpec spec = loopsOverMatrix(gemv);
  spec.order = {gemv.kDim, gemv.outerDim};
  spec.chunk[gemv.kDim] = rows;
  spec.chunk[gemv.outerDim] = lanes;
  if (gemv.count) limitExtent(ctx, spec, gemv.outerDim, gemv.count);
  if (gemv.length) limitExtent(ctx, spec, gemv.kDim, gemv.length);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        for (TileIndex tileIndex : tileIndices) {
          Index p = tileIndex.at[gemv.kDim], i = tileIndex.at[gemv.outerDim];
          Value address = pointerAt(b, sums, i.value, bytes);
          Value sum = cpu::load(b, type, address, bytes);
          for (int64_t row = 0; row < rows; ++row) {
            Value at = row == 0 ? p.value : Value(arith::AddIOp::create(b, p.value, constantIndex(b, row)));
            tileIndex.at[gemv.kDim] = {at, row == 0 ? p.level : std::max(p.level, i.level)};
            Value scale = cpu::load(b, gemv.element, pointerAt(b, factor, at, bytes), bytes);
            sum = multiplyAdd(ctx, elements(ctx, gemv, gemv.matrix, tileIndex), splat(b, scale, lanes), sum);
          }
          cpu::store(b, sum, address, bytes, false);
        }
      },
      gemv.outerDim);
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
static void addAlong(Context &ctx, const Gemv &gemv, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(gemv.element), rows = std::min(rowsWithOwnChains, gemv.size);
  Type type = vectorOf(gemv.element, lanes);
  LoopSpec spec = loopsOverMatrix(gemv);
  spec.order = {gemv.outerDim};
  spec.chunk[gemv.outerDim] = rows;
  if (gemv.count) limitExtent(ctx, spec, gemv.outerDim, gemv.count);
  Value end = gemv.length ? gemv.length : constantIndex(b, gemv.k);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Index first = tileIndices[0].at[gemv.outerDim];
        llvm::SmallVector<Index> outer = {first};
        for (int64_t row = 1; row < rows; ++row)
          outer.push_back({arith::AddIOp::create(b, first.value, constantIndex(b, row)), int64_t(ctx.levels.size()) - 1});
        auto step = [&](Value p, ValueRange before) {
          TileIndex tileIndex = tileIndices[0];
          tileIndex.vector = gemv.kDim, tileIndex.lanes = lanes;
          tileIndex.at[gemv.kDim] = {p, int64_t(ctx.levels.size()) - 1};
          Value scale = cpu::load(b, type, pointerAt(b, factor, p, bytes), bytes);
          llvm::SmallVector<Value> after;
          for (int64_t row = 0; row < rows; ++row) {
            tileIndex.at[gemv.outerDim] = outer[row];
            after.push_back(multiplyAdd(ctx, elements(ctx, gemv, gemv.matrix, tileIndex), scale, before[row]));
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

void emitGemv(Context &ctx, const Gemv &gemv) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t mark = ctx.arenaUsed, bytes = elementBytes(gemv.element);
  Value factor = storeFactor(ctx, gemv), sums = allocate(ctx, {gemv.size}, gemv.element).base;
  int64_t vectorDim = chooseVectorDim(ctx, shapeOf(gemv.matrix), {gemv.matrix}, {});
  int64_t lanes = lanesAlong(ctx, gemv, vectorDim);
  withConditions(ctx, {gemv.matrix}, vectorDim, [&] {
    if (vectorDim == gemv.outerDim)
      addRows(ctx, gemv, factor, sums, lanes);
    else
      addAlong(ctx, gemv, factor, sums, lanes);
  });
  int64_t step = gemv.stride == 1 ? std::min(gemv.size, ctx.target.vectorBytes / bytes) : 1;
  Value end = gemv.count ? gemv.count : constantIndex(b, gemv.size);
  forLoop(ctx, constantIndex(b, 0), end, step, [&](Value i) {
    Type type = vectorOf(gemv.element, step);
    Value sum = cpu::load(b, type, pointerAt(b, sums, i, bytes), bytes), address = pointerAt(b, gemv.target, i, gemv.stride * bytes);
    Value all = gemv.fromZero ? sum : Value(arith::AddFOp::create(b, cpu::load(b, type, address, bytes), sum));
    sum = gemv.isFirst ? Value(arith::SelectOp::create(b, gemv.isFirst, sum, all)) : all;
    cpu::store(b, sum, address, bytes, false);
  });
  ctx.arenaUsed = mark;
}

} // namespace tilewright::cpu
