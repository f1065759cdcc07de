// A matrix times a vector reads each element of the matrix once, so it matters that nothing else
// is done to the matrix: it is neither copied to panels nor multiplied by rows that nobody needs.
//
//   vectors lie along the sums:           for p: sums[i..] += matrix(i.., p) * factor(p)         sums stay in the cache
//   vectors lie along the products:       for i: sums[i] = add up (matrix(i, p..) * factor(p..))
//
// Whether a tile needs only one row or one column is known at run time; the tile's own size is that of many.
#include "cpu/thin_product.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/scratch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

// Rows of the matrix at once: streams from memory, and chains of additions. Four where each has a chain of its own; where one vector of
// sums takes all of them, two are as fast from memory (12.0 and 11.7 GFLOP/s of fp32, one row times 4096x4096, Zen 5), a tenth slower in
// the caches, and save a twentieth of a matrix product's compilation.
constexpr int64_t rowsAlong = 4, rowsAdded = 2;

static Value multiplyAdd(Context &ctx, Value x, Value y, Value sum) {
  if (ctx.target.fma) return fma(ctx.b, x, y, sum);
  return arith::AddFOp::create(ctx.b, sum, arith::MulFOp::create(ctx.b, x, y));
}

static Value elements(Context &ctx, const ThinProduct &product, Value tile, const TileIndex &tileIndex) {
  Value value =
      tileIndex.vector < 0 ? evaluateScalar(ctx, tile, tileIndex) : asVector(ctx, evaluate(ctx, tile, tileIndex), getElementTypeOrSelf(tile), tileIndex);
  return convertTo(ctx, value, product.element);
}

/// The factor in scratch, one element after the other.
static Value storeFactor(Context &ctx, const ThinProduct &product) {
  Buffer line = allocate(ctx, {product.k}, product.element);
  Buffer view = line;
  view.strides.assign(2, 0);
  view.strides[product.factorK] = 1;
  auto shape = shapeOf(product.factor);
  int64_t vectorDim = chooseVectorDim(ctx, shape, {product.factor}, {});
  int64_t lanes = vectorDim == product.factorK ? chunkFor(ctx, shape, vectorDim, {product.factor}) : 1;
  if (lanes == 1) vectorDim = -1;
  withConditions(ctx, {product.factor}, vectorDim, [&] {
    LoopSpec spec;
    spec.shape = shape;
    spec.order = {product.factorK};
    spec.chunk.assign(2, 1);
    spec.chunk[product.factorK] = lanes;
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          for (TileIndex tileIndex : tileIndices) {
            if (product.index) tileIndex.at[1 - product.factorK] = {product.index, 0};
            storeChunk(ctx, view, elements(ctx, product, product.factor, tileIndex), tileIndex);
          }
        },
        vectorDim);
  });
  return line.base;
}

/// How long a vector of the matrix is.
static int64_t lanesAlong(Context &ctx, const ThinProduct &product, int64_t dim) {
  int64_t widest = std::max(elementBytes(product.element), elementBytes(getElementTypeOrSelf(product.matrix)));
  return std::min(shapeOf(product.matrix)[dim], ctx.target.vectorBytes / widest);
}

/// Masks are tested for each vector: memory takes longer than that, and one version of the code is enough.
static LoopSpec loopsOverMatrix(const ThinProduct &product) {
  LoopSpec spec;
  spec.shape = shapeOf(product.matrix);
  spec.chunk.assign(2, 1);
  return spec;
}

/// Vectors along the sums.
static void addRows(Context &ctx, const ThinProduct &product, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(product.element), rows = std::min(rowsAdded, product.k);
  Type type = vectorOf(product.element, lanes);
  forLoop(ctx, constantIndex(b, 0), constantIndex(b, product.size), lanes,
          [&](Value i) { cpu::store(b, constantFloat(b, type, 0), pointerAt(b, sums, i, bytes), bytes, false); });
  LoopSpec spec = loopsOverMatrix(product);
  spec.order = {product.kDim, product.outerDim};
  spec.chunk[product.kDim] = rows;
  spec.chunk[product.outerDim] = lanes;
  if (product.wanted) limitExtent(ctx, spec, product.outerDim, product.wanted);
  if (product.length) limitExtent(ctx, spec, product.kDim, product.length);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        for (TileIndex tileIndex : tileIndices) {
          Index p = tileIndex.at[product.kDim], i = tileIndex.at[product.outerDim];
          Value address = pointerAt(b, sums, i.value, bytes);
          Value sum = cpu::load(b, type, address, bytes);
          for (int64_t row = 0; row < rows; ++row) {
            Value at = row == 0 ? p.value : Value(arith::AddIOp::create(b, p.value, constantIndex(b, row)));
            tileIndex.at[product.kDim] = {at, row == 0 ? p.level : std::max(p.level, i.level)};
            Value scale = cpu::load(b, product.element, pointerAt(b, factor, at, bytes), bytes);
            sum = multiplyAdd(ctx, elements(ctx, product, product.matrix, tileIndex), splat(b, scale, lanes), sum);
          }
          cpu::store(b, sum, address, bytes, false);
        }
      },
      product.outerDim);
}

/// The sum of each vector's lanes, as lanes of fewer vectors in the same order. Two vectors
/// become one as long as there are two: each contributes the sums of halves of its lanes.
static llvm::SmallVector<Value> addLanes(ImplicitLocOpBuilder &b, llvm::SmallVector<Value> vectors) {
  for (int64_t each = lanesOf(vectors[0].getType()); each > 1; each /= 2) { // lanes that one sum is spread over
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

/// Vectors along the products.
static void addAlong(Context &ctx, const ThinProduct &product, Value factor, Value sums, int64_t lanes) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(product.element), rows = std::min(rowsAlong, product.size);
  Type type = vectorOf(product.element, lanes);
  LoopSpec spec = loopsOverMatrix(product);
  spec.order = {product.outerDim};
  spec.chunk[product.outerDim] = rows;
  if (product.wanted) limitExtent(ctx, spec, product.outerDim, product.wanted);
  Value end = product.length ? product.length : constantIndex(b, product.k);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        Index first = tileIndices[0].at[product.outerDim];
        llvm::SmallVector<Index> outer = {first};
        for (int64_t row = 1; row < rows; ++row)
          outer.push_back({arith::AddIOp::create(b, first.value, constantIndex(b, row)), int64_t(ctx.levels.size()) - 1});
        auto step = [&](Value p, ValueRange before) {
          TileIndex tileIndex = tileIndices[0];
          tileIndex.vector = product.kDim, tileIndex.lanes = lanes;
          tileIndex.at[product.kDim] = {p, int64_t(ctx.levels.size()) - 1};
          Value scale = cpu::load(b, type, pointerAt(b, factor, p, bytes), bytes);
          llvm::SmallVector<Value> after;
          for (int64_t row = 0; row < rows; ++row) {
            tileIndex.at[product.outerDim] = outer[row];
            after.push_back(multiplyAdd(ctx, elements(ctx, product, product.matrix, tileIndex), scale, before[row]));
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

void emitThinProduct(Context &ctx, const ThinProduct &product) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t mark = ctx.arenaUsed, bytes = elementBytes(product.element);
  Value factor = storeFactor(ctx, product), sums = allocate(ctx, {product.size}, product.element).base;
  int64_t vectorDim = chooseVectorDim(ctx, shapeOf(product.matrix), {product.matrix}, {});
  int64_t lanes = lanesAlong(ctx, product, vectorDim);
  withConditions(ctx, {product.matrix}, vectorDim, [&] {
    if (vectorDim == product.outerDim)
      addRows(ctx, product, factor, sums, lanes);
    else
      addAlong(ctx, product, factor, sums, lanes);
  });
  int64_t step = product.stride == 1 ? std::min(product.size, ctx.target.vectorBytes / bytes) : 1;
  Value end = product.wanted ? product.wanted : constantIndex(b, product.size);
  forLoop(ctx, constantIndex(b, 0), end, step, [&](Value i) {
    Type type = vectorOf(product.element, step);
    Value sum = cpu::load(b, type, pointerAt(b, sums, i, bytes), bytes), address = pointerAt(b, product.target, i, product.stride * bytes);
    Value all = product.fromZero ? sum : Value(arith::AddFOp::create(b, cpu::load(b, type, address, bytes), sum));
    sum = product.isFirst ? Value(arith::SelectOp::create(b, product.isFirst, sum, all)) : all;
    cpu::store(b, sum, address, bytes, false);
  });
  ctx.arenaUsed = mark;
}

} // namespace tilewright::cpu
