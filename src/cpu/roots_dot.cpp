// tt.dot: operands are brought into the form that the micro-kernel reads, then it runs over the accumulator in scratch.
//
// B is packed into panels of a few columns (with an in-register transposition where it lies the other way round); A only needs constant
// strides, since its elements are broadcast one by one, so whichever way it lies it is copied as vectors, and not at all if it is in
// scratch already. Narrow floats become fp32 on the way. The block sizes of a GPU are logical here: the micro-kernel has tiles of its own.

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/micro_kernel.h"
#include "cpu/roots.h"
#include "cpu/scratch.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static bool isZeroTile(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return matchPattern(splat.getSrc(), m_AnyZeroFloat()) || matchPattern(splat.getSrc(), m_Zero());
  return matchPattern(tile, m_AnyZeroFloat()) || matchPattern(tile, m_Zero());
}

/// Writes tile[batch..., :, :] (k x n) as panels at `base`.
static void packPanels(Context &ctx, Value tile, Value base, int64_t k, int64_t n, int64_t panel, Type operand,
                       llvm::ArrayRef<Index> batch) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(tile);
  int64_t rank = shape.size(), kDim = rank - 2, nDim = rank - 1, bytes = elementBytes(operand);
  Type element = getElementTypeOrSelf(tile);
  bool pairs = operand.isInteger(16);
  int64_t lanes = std::min({ctx.target.vectorBytes / std::max<int64_t>(bytes, 4), panel, n});
  int64_t vectorDim = chooseVectorDim(ctx, shape, {tile}, {});
  bool transposed = vectorDim == kDim && !pairs && lanes > 1 && k >= lanes && n >= lanes;
  if (!transposed) vectorDim = nDim;
  auto at = [&](Value p, Value j, int64_t moreP) {
    // (j / panel) * (k * panel) + p * panel + j % panel
    Value shift = constantIndex(b, llvm::Log2_64(panel));
    Value which = arith::ShRUIOp::create(b, j, shift), within = arith::AndIOp::create(b, j, constantIndex(b, panel - 1));
    Value address = pointerAt(b, base, which, std::max<int64_t>(k, pairs ? 2 : 1) * panel * bytes);
    if (pairs) {
      address = pointerAt(b, address, within, 2 * bytes);
      return pointerAt(b, address, p, panel * bytes); // p is even: (p / 2) * (2 * panel)
    }
    address = pointerAt(b, address, within, bytes);
    address = pointerAt(b, address, p, panel * bytes);
    return moreP ? pointerAtConstant(b, address, moreP * panel * bytes) : address;
  };
  auto value = [&](const Place &place) {
    Value v = place.vector < 0 ? evaluateScalar(ctx, tile, place) : asVector(ctx, evaluate(ctx, tile, place), element, place);
    return convertTo(ctx, v, operand);
  };
  withConditions(ctx, {tile}, vectorDim, [&] {
    LoopSpec spec;
    spec.shape = shape;
    spec.chunk.assign(rank, 1);
    if (transposed) {
      spec.order = {nDim, kDim};
      spec.chunk[nDim] = spec.chunk[kDim] = lanes;
    } else {
      spec.order = {kDim, nDim};
      spec.chunk[nDim] = lanes;
      if (pairs && k > 1) spec.chunk[kDim] = 2;
      spec.unroll = std::max<int64_t>(1, panel / lanes);
    }
    applyMasks(ctx, spec, {tile}, {});
    if (!spec.full.empty())
      for (int64_t d = 0; d < kDim; ++d)
        if (spec.full[d]) spec.fullMasks.clear(); // a mask along the batch: always look
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<Place> places) {
          for (Place place : places) {
            for (size_t d = 0; d < batch.size(); ++d)
              place.at[d] = batch[d];
            Index p = place.at[kDim], j = place.at[nDim];
            int64_t level = std::max(p.level, j.level);
            if (transposed) {
              llvm::SmallVector<Value> rows;
              for (int64_t t = 0; t < lanes; ++t) {
                Place row = place;
                if (t) row.at[nDim] = {arith::AddIOp::create(b, j.value, constantIndex(b, t)), level};
                rows.push_back(value(row));
              }
              for (auto [t, column] : llvm::enumerate(transposeSquare(b, rows)))
                cpu::store(b, column, at(p.value, j.value, t), bytes, false);
              continue;
            }
            if (pairs) {
              Value even = value(place), odd;
              if (k > 1) {
                Place next = place;
                next.at[kDim] = {arith::AddIOp::create(b, p.value, constantIndex(b, 1)), level};
                odd = value(next);
              } else {
                odd = splat(b, constantInt(b, operand, 0), lanes);
              }
              Value address = at(p.value, j.value, 0);
              if (lanes == 1) {
                cpu::store(b, even, address, bytes, false);
                cpu::store(b, odd, pointerAtConstant(b, address, bytes), bytes, false);
                continue;
              }
              llvm::SmallVector<int32_t> mask;
              for (int64_t lane = 0; lane < lanes; ++lane)
                llvm::append_values(mask, int32_t(lane), int32_t(lane + lanes));
              cpu::store(b, shuffle(b, even, odd, mask), address, bytes, false);
              continue;
            }
            cpu::store(b, value(place), at(p.value, j.value, 0), bytes, false);
          }
        },
        lanes > 1 || transposed ? vectorDim : -1);
  });
}

void lowerDot(Context &ctx, DotOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto aShape = shapeOf(op.getA()), bShape = shapeOf(op.getB()), cShape = shapeOf(op.getC());
  int64_t rank = aShape.size(), m = aShape[rank - 2], k = aShape[rank - 1], n = bShape[rank - 1];
  Type input = getElementTypeOrSelf(op.getA());
  DotPlan plan;
  plan.m = m, plan.n = n, plan.k = k;
  if (input.isF64()) {
    plan.operand = plan.result = b.getF64Type();
  } else if (isa<FloatType>(input)) {
    plan.operand = plan.result = b.getF32Type();
  } else if (input.isInteger(8)) {
    plan.operand = b.getIntegerType(16), plan.result = b.getI32Type();
    plan.k = std::max<int64_t>(k, 2); // pairs
  } else {
    return refuse(ctx, op, "a dot of " + llvm::Twine(input.getIntOrFloatBitWidth()) + "-bit integers is not supported by the cpu back end");
  }
  plan.panel = panelWidth(ctx.target, plan.result, n);

  // Where the result goes: straight into the accumulator that the loop carries, if nothing still needs the old one.
  Buffer c;
  auto carriedBuffer = carriedTarget(ctx, op.getD(), op);
  if (carriedBuffer && carriedBuffer->element == plan.result && carriedBuffer->strides.back() == 1)
    c = *carriedBuffer;
  else
    c = allocate(ctx, cShape, plan.result);
  bool fromZero = isZeroTile(op.getC());
  auto existing = ctx.buffers.find(op.getC());
  bool inPlace = existing != ctx.buffers.end() && existing->second.base == c.base;
  if (!fromZero && !inPlace) materialize(ctx, op.getC(), c);

  int64_t mark = ctx.arenaUsed;
  // A: any constant strides.
  Buffer a;
  Value aTile = op.getA();
  llvm::SmallVector<int64_t> permutation;
  while (auto trans = aTile.getDefiningOp<TransOp>()) {
    if (ctx.buffers.contains(aTile)) break;
    llvm::SmallVector<int64_t> order(trans.getOrder().begin(), trans.getOrder().end());
    if (!permutation.empty())
      for (int64_t &d : permutation)
        d = order[d];
    else
      permutation = order;
    aTile = trans.getSrc();
  }
  auto stored = ctx.buffers.find(aTile);
  if (stored != ctx.buffers.end() && stored->second.element == plan.operand && getElementTypeOrSelf(aTile) == plan.operand &&
      stored->second.base != c.base) {
    a = stored->second;
    if (!permutation.empty()) {
      llvm::SmallVector<int64_t> strides;
      for (int64_t d : permutation)
        strides.push_back(a.strides[d]);
      a.strides = strides;
    }
  } else {
    a = allocate(ctx, aShape, plan.operand);
    if (plan.k != k) { // one padded column of zeros
      ctx.arenaUsed += aShape[0] * elementBytes(plan.operand) * k * 2;
      ctx.arenaPeak = std::max(ctx.arenaPeak, ctx.arenaUsed);
      for (int64_t d = 0; d + 1 < rank; ++d)
        a.strides[d] *= 2;
    }
    int64_t vectorDim = chooseVectorDim(ctx, aShape, {op.getA()}, {});
    if (vectorDim == rank - 2 && !plan.operand.isInteger(16)) { // columns lie together: keep them so
      a.strides[rank - 1] = m;
      a.strides[rank - 2] = 1;
    }
    if (plan.k != k) {
      Buffer padding = a;
      padding.offset += 1;
      LoopSpec rows;
      rows.shape = aShape;
      rows.chunk.assign(rank, 1);
      for (int64_t d = 0; d + 1 < rank; ++d)
        if (aShape[d] > 1) rows.order.push_back(d);
      emitLoops(ctx, rows, [&](llvm::ArrayRef<Place> places) { storeChunk(ctx, padding, constantInt(b, plan.operand, 0), places[0]); }, -1);
    }
    materialize(ctx, op.getA(), a);
  }
  plan.aRow = a.strides[rank - 2], plan.aCol = a.strides[rank - 1];
  plan.cRow = c.strides[rank - 2];

  Buffer panels = allocate(ctx, {plan.k, std::max(n, plan.panel)}, plan.operand);
  auto product = [&](llvm::ArrayRef<Index> batch) {
    packPanels(ctx, op.getB(), panels.base, k, n, plan.panel, plan.operand, batch);
    auto base = [&](const Buffer &buffer) {
      Value address = pointerAtConstant(b, buffer.base, buffer.offset * elementBytes(buffer.element));
      for (size_t d = 0; d < batch.size(); ++d)
        address = pointerAt(b, address, batch[d].value, buffer.strides[d] * elementBytes(buffer.element));
      return address;
    };
    emitDotLoops(b, ctx.target, plan, base(a), panels.base, base(c), fromZero, {});
  };
  if (rank == 2) {
    product({});
  } else {
    auto saved = std::move(ctx.levels);
    ctx.levels.clear();
    forLoop(ctx, constantIndex(b, 0), constantIndex(b, aShape[0]), 1, [&](Value index) {
      Index batch{index, 0};
      product(batch);
    });
    ctx.levels = std::move(saved);
  }
  ctx.arenaUsed = mark;
  ctx.buffers[op.getD()] = c;
}

} // namespace tilewright::cpu
