// Tiles in scratch memory: their layout, how they are written, and which of them share memory.

#include "cpu/scratch.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/masked_tail.h"
#include "cpu/rows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <functional>

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// Four bodies hide the loop overhead and the latency of a short chain; long chains keep the CPU busy by themselves.
int64_t unrollFor(int64_t cost) {
  return cost <= 60 ? 4 : cost <= 120 ? 2 : 1;
}

Buffer bufferAt(Value base, llvm::ArrayRef<int64_t> shape, Type element) {
  Buffer buffer{base, element, llvm::SmallVector<int64_t>(shape.size(), 1)};
  for (size_t d = shape.size(); d > 1; --d)
    buffer.strides[d - 2] = buffer.strides[d - 1] * shape[d - 1];
  return buffer;
}

Buffer allocate(Context &ctx, llvm::ArrayRef<int64_t> shape, Type element) {
  if (isa<PointerType>(element)) element = ctx.b.getI64Type();
  Buffer buffer = bufferAt(pointerAtConstant(ctx.b, ctx.arena, ctx.arenaUsed), shape, element);
  int64_t bytes = llvm::product_of(shape) * elementBytes(element);
  ctx.arenaUsed += (bytes + 63) / 64 * 64;
  ctx.arenaPeak = std::max(ctx.arenaPeak, ctx.arenaUsed);
  ctx.notes.scratch.push_back({ctx.root, bytes});
  return buffer;
}

Value allocateCached(Context &ctx, int64_t bytes) {
  ctx.panelCacheBytes += (bytes + 63) / 64 * 64;
  return pointerAtConstant(ctx.b, ctx.arena, -ctx.panelCacheBytes);
}

Value allocateLasting(Context &ctx, int64_t bytes) {
  ctx.lastingBytes += bytes;
  ctx.notes.scratch.push_back({ctx.root, bytes});
  return allocateCached(ctx, bytes);
}

Buffer allocateFor(Context &ctx, Value tile) {
  return allocate(ctx, shapeOf(tile), getElementTypeOrSelf(tile));
}

Buffer allocateAlong(Context &ctx, Value tile, int64_t inner) {
  Buffer buffer = allocateFor(ctx, tile);
  auto shape = shapeOf(tile);
  int64_t stride = shape[inner];
  buffer.strides[inner] = 1;
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d)
    if (d != inner) buffer.strides[d] = stride, stride *= shape[d];
  return buffer;
}

Value bufferAddress(Context &ctx, const Buffer &buffer, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(buffer.element);
  Value address = buffer.offset ? pointerAtConstant(b, buffer.base, buffer.offset * bytes) : buffer.base;
  // The outer dimensions are added first, so all but the last addition are hoisted out of the inner loop.
  for (size_t d = 0; d < tileIndex.at.size(); ++d) {
    if (int64_t(d) == tileIndex.vector || tileIndex.at[d].value == ctx.zeroIndex) continue;
    address = pointerAt(b, address, tileIndex.at[d].value, buffer.strides[d] * bytes);
  }
  if (tileIndex.vector >= 0 && tileIndex.at[tileIndex.vector].value != ctx.zeroIndex)
    address = pointerAt(b, address, tileIndex.at[tileIndex.vector].value, buffer.strides[tileIndex.vector] * bytes);
  return address;
}

void storeChunk(Context &ctx, const Buffer &to, Value value, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  value = convertTo(ctx, value, to.element);
  Value address = bufferAddress(ctx, to, tileIndex);
  int64_t bytes = elementBytes(to.element);
  if (Value inRow = lanesInRow(ctx, tileIndex)) {
    int64_t stride = to.strides[tileIndex.vector] * bytes;
    if (stride == bytes) return maskedStore(b, value, address, inRow, bytes);
    Value all =
        arith::AddIOp::create(b, splat(b, pointerToInt(b, address), tileIndex.lanes), iota(b, b.getI64Type(), tileIndex.lanes, stride));
    return scatter(b, value, all, inRow, bytes);
  }
  if (tileIndex.vector < 0 || to.strides[tileIndex.vector] == 1) return cpu::store(b, value, address, bytes, false);
  for (int64_t lane = 0; lane < tileIndex.lanes; ++lane)
    cpu::store(b, extractLane(b, value, lane), pointerAtConstant(b, address, lane * to.strides[tileIndex.vector] * bytes), bytes, false);
}

void materialize(Context &ctx, Value tile, const Buffer &to) {
  materializeSlice(ctx, tile, to, {}, {});
}

namespace {
/// The tail of a row, whose elements are all equal: it is filled instead of computed.
struct Tail {
  Value from, value;
};
} // namespace

static std::optional<Tail> tailOf(Context &ctx, Value tile, int64_t vectorDim, int64_t chunk) {
  constexpr int64_t minVectors = 8; // vectors that it may save; with fewer, the check costs as much
  int64_t size = shapeOf(tile)[0];
  if (ctx.fallback || shapeOf(tile).size() != 1 || vectorDim != 0 || size < minVectors * chunk) return std::nullopt;
  std::optional<MaskedTail> tail = maskedTail(ctx, tile, 0);
  if (!tail) return std::nullopt;
  ImplicitLocOpBuilder &b = ctx.b;
  Value begin = beginOfTail(ctx, *tail, 0, size);
  begin = arith::AndIOp::create(b, arith::AddIOp::create(b, begin, constantIndex(b, chunk - 1)), constantIndex(b, -chunk));
  TileIndex last;
  last.at.push_back({indexConstant(ctx, size - 1), 0});
  return Tail{begin, evaluateScalar(ctx, tile, last)};
}

static void fill(Context &ctx, const Buffer &to, const Tail &tail, int64_t size, int64_t chunk) {
  Value lanes = splat(ctx.b, tail.value, chunk);
  forLoop(ctx, tail.from, constantIndex(ctx.b, size), chunk, [&](Value index) {
    TileIndex tileIndex{{{index, 0}}, 0, chunk};
    storeChunk(ctx, to, lanes, tileIndex);
  });
}

/// Returns the mask of carried tiles that are updated in place where it holds and keep their value elsewhere: %new = select %mask, %x,
/// %old. Null unless all tiles have the same mask and its bounds are certain.
static Value updateMask(Context &ctx, ValueRange tiles, llvm::ArrayRef<Buffer> to) {
  Value mask;
  for (auto [tile, target] : llvm::zip(tiles, to)) {
    auto select = tile.getDefiningOp<arith::SelectOp>();
    if (!select || !isTile(select.getCondition())) return {};
    auto old = ctx.buffers.find(select.getFalseValue());
    if (old == ctx.buffers.end() || (mask && mask != select.getCondition())) return {};
    const Buffer &from = old->second;
    if (from.base != target.base || from.offset != target.offset || from.strides != target.strides || from.element != target.element)
      return {};
    mask = select.getCondition();
  }
  llvm::SmallVector<BoxTerm> terms;
  if (!mask || !ctx.analysis->box(mask, terms) || llvm::any_of(terms, [](const BoxTerm &term) { return term.mayWrap; })) return {};
  return mask;
}

void materializeSlice(Context &ctx, Value tile, const Buffer &to, Value rows, Value columns) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(tile);
  int64_t vectorDim = chooseVectorDim(ctx, shape, {tile}, {});
  int64_t chunk = chunkFor(ctx, shape, vectorDim, {tile});
  RowScope split(ctx, {tile}, vectorDim, chunk);
  chunk = split.chunk();
  withConditions(ctx, {tile}, vectorDim, [&] {
    LoopSpec spec = loopsOver(shape, vectorDim, chunk);
    spec.unroll = ctx.fallback ? 1 : unrollFor(ctx.analysis->cost(tile));
    applyMasks(ctx, spec, {tile}, rows || columns ? Value() : updateMask(ctx, {tile}, {to}));
    if (rows) limitExtent(ctx, spec, 0, rows);
    if (columns) limitExtent(ctx, spec, 1, columns);
    std::optional<Tail> tail = tailOf(ctx, tile, vectorDim, chunk);
    if (tail) limitExtent(ctx, spec, 0, tail->from);
    Type element = getElementTypeOrSelf(tile);
    if (isa<PointerType>(element)) element = b.getI64Type();
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          // All reads before all writes: the target may be an input of the tile, at the same indices.
          llvm::SmallVector<Value> values = evaluateAll(ctx, tile, tileIndices, element);
          for (auto [tileIndex, value] : llvm::zip(tileIndices, values))
            storeChunk(ctx, to, value, tileIndex);
        },
        vectorDim);
    if (tail) fill(ctx, to, *tail, shape[0], chunk);
  });
}

void materializeTogether(Context &ctx, ValueRange tiles, llvm::ArrayRef<Buffer> to) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(tiles.front());
  int64_t vectorDim = chooseVectorDim(ctx, shape, tiles, {});
  int64_t chunk = chunkFor(ctx, shape, vectorDim, tiles), cost = 0;
  for (Value tile : tiles)
    cost += ctx.analysis->cost(tile);
  RowScope split(ctx, tiles, vectorDim, chunk);
  chunk = split.chunk();
  withConditions(ctx, tiles, vectorDim, [&] {
    LoopSpec spec = loopsOver(shape, vectorDim, chunk);
    spec.unroll = ctx.fallback ? 1 : unrollFor(cost);
    applyMasks(ctx, spec, tiles, updateMask(ctx, tiles, to));
    emitLoops(
        ctx, spec,
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          llvm::SmallVector<llvm::SmallVector<Value>> values;
          for (Value tile : tiles) {
            Type element = getElementTypeOrSelf(tile);
            values.push_back(evaluateAll(ctx, tile, tileIndices, isa<PointerType>(element) ? Type(b.getI64Type()) : element));
          }
          for (auto [ofTile, buffer] : llvm::zip(values, to))
            for (auto [tileIndex, value] : llvm::zip(tileIndices, ofTile))
              storeChunk(ctx, buffer, value, tileIndex);
        },
        vectorDim);
  });
}

Buffer buffered(Context &ctx, Value tile) {
  auto found = ctx.buffers.find(tile);
  if (found != ctx.buffers.end()) return found->second;
  Buffer buffer = allocateFor(ctx, tile);
  materialize(ctx, tile, buffer);
  return buffer;
}

bool reads(Context &ctx, Value tile, const Buffer &buffer, bool elsewhere) {
  std::set<std::pair<const void *, bool>> seen;
  std::function<bool(Value, bool)> visit = [&](Value part, bool moved) {
    if (!isTile(part) || !seen.insert({part.getAsOpaquePointer(), moved}).second) return false;
    if (auto found = ctx.buffers.find(part); found != ctx.buffers.end()) {
      const Buffer &from = found->second;
      if (from.base != buffer.base) return false;
      return !elsewhere || moved || from.offset != buffer.offset || from.strides != buffer.strides;
    }
    Operation *op = part.getDefiningOp();
    if (!op) return false;
    moved |= isa<TransOp, ExpandDimsOp, BroadcastOp>(op);
    return llvm::any_of(op->getOperands(), [&](Value operand) { return visit(operand, moved); });
  };
  return visit(tile, false);
}

bool isZeroTile(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return matchPattern(splat.getSrc(), m_AnyZeroFloat()) || matchPattern(splat.getSrc(), m_Zero());
  return matchPattern(tile, m_AnyZeroFloat()) || matchPattern(tile, m_Zero());
}

/// Returns the carried buffer if the loop carries `tile` and nothing reads the old value after `position`: the tile is computed into it.
std::optional<Buffer> carriedTarget(Context &ctx, Value tile, Operation *position) {
  for (OpOperand &use : tile.getUses()) {
    auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
    if (!yield || yield->getBlock() != position->getBlock()) continue;
    auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
    if (!loop) continue;
    Value argument = loop.getRegionIterArg(use.getOperandNumber());
    // Only one carried value may use it, or two would share a buffer.
    int64_t slots = llvm::count_if(tile.getUses(), [&](OpOperand &u) { return u.getOwner() == yield; });
    if (slots != 1 || ctx.analysis->isReadAfter(argument, position)) return std::nullopt;
    auto found = ctx.buffers.find(argument);
    if (found == ctx.buffers.end()) continue;
    for (Value operand : position->getOperands())
      if (isTile(operand) && reads(ctx, operand, found->second, !isa<DotOp>(position) || operand == cast<DotOp>(position).getC()))
        return std::nullopt;
    if (isa<TransOp>(position) && reads(ctx, position->getOperand(0), found->second, false)) return std::nullopt;
    return found->second;
  }
  return std::nullopt;
}

} // namespace tilewright::cpu
