// Lowers stores to memory.

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/micro_kernel.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// Returns the largest output that stays in the caches. In a kernel with dots, operands stream through the L2 cache and leave little of an
/// output there. If the last-level cache is slow, reading from it is no faster than from memory.
static int64_t cachedOutputBytes(Context &ctx) {
  bool isSlow = ctx.target.cachedOutputBytes < ctx.target.llcBytes; // the last-level cache
  bool multiplies = isSlow && ctx.kernel.walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return multiplies ? std::min(ctx.target.cachedOutputBytes, ctx.target.l2Bytes) : ctx.target.cachedOutputBytes;
}

/// Non-temporal stores bypass the caches: up to 70 % faster if the output does not fit there, up to twice as slow if it does.
Value usesNonTemporalStores(Context &ctx, StoreOp op, int64_t vectorDim, int64_t chunk) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto pointer = cast<PointerType>(getElementTypeOrSelf(op.getPtr()));
  int64_t bytes = elementBytes(pointer.getPointeeType());
  Stride s = vectorDim < 0 ? Stride{} : ctx.analysis->strideOf(op.getPtr(), vectorDim);
  if (s.kind != Stride::constant || s.amount != bytes || s.isConditional() || chunk * bytes != ctx.target.vectorBytes) return {};
  auto shape = shapeOf(op.getPtr());
  Value total = constantIndex(b, bytes);
  for (int64_t size : shape)
    total = arith::MulIOp::create(b, total, constantIndex(b, size));
  for (Value count : ctx.numPrograms)
    total = arith::MulIOp::create(b, total, scalarToIndex(ctx, count));
  for (Value trips : ctx.enclosingTrips)
    total = arith::MulIOp::create(b, total, trips);
  Value nonTemporal = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, total, constantIndex(b, cachedOutputBytes(ctx)));
  TileIndex origin;
  origin.at.assign(shape.size(), {ctx.zeroIndex, 0});
  Value base = evaluateScalar(ctx, op.getPtr(), origin), bits = base;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (int64_t(d) == vectorDim || shape[d] == 1) continue;
    if (Stride along = ctx.analysis->strideOf(op.getPtr(), d); along.kind == Stride::other || along.wraps || along.varies) return {};
    TileIndex next = origin;
    next.at[d] = {indexConstant(ctx, 1), 0};
    bits = arith::OrIOp::create(b, bits, arith::SubIOp::create(b, evaluateScalar(ctx, op.getPtr(), next), base));
  }
  Value low = arith::AndIOp::create(b, bits, constantIndex(b, ctx.target.vectorBytes - 1));
  return arith::AndIOp::create(b, nonTemporal, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low, constantIndex(b, 0)));
}

/// Stores one element, or one vector of elements, at the addresses of the store's pointers.
static void storeAt(Context &ctx, StoreOp op, const TileIndex &tileIndex, Value data) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value mask = op.getMask();
  int64_t bytes = elementBytes(cast<PointerType>(getElementTypeOrSelf(op.getPtr())).getPointeeType());
  Lanes to = evaluate(ctx, op.getPtr(), tileIndex);
  bool always = !mask || ctx.trueMasks.contains(mask);
  auto note = [&](Way reach) { ctx.notes.add({op, reach, tileIndex.lanes, !always, ctx.fallback, ctx.storesNonTemporal && always}); };
  if (tileIndex.vector < 0) {
    note(Way::one);
    if (always) return cpu::store(b, data, intToPointer(b, to.value), bytes, false);
    auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(ctx, mask, tileIndex), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    return cpu::store(b, data, intToPointer(b, to.value), bytes, false);
  }
  Value maskVector = always ? Value() : asVector(ctx, evaluate(ctx, mask, tileIndex), b.getI1Type(), tileIndex);
  if (Value inRow = lanesInRow(ctx, tileIndex)) {
    maskVector = logicalAnd(ctx, maskVector, inRow);
    always = false;
  }
  if (to.kind == Lanes::affine && !to.uniformStride && to.stride == bytes) {
    note(Way::contiguous);
    Value address = pointerAt(b, intToPointer(b, to.value), tileIndex.at[tileIndex.vector].value, bytes);
    if (always) return cpu::store(b, data, address, ctx.storesNonTemporal ? ctx.target.vectorBytes : bytes, ctx.storesNonTemporal);
    return maskedStore(b, data, address, maskVector, bytes);
  }
  note(Way::scattered);
  Value addresses = asVector(ctx, to, b.getI64Type(), tileIndex);
  if (!always) return scatter(b, data, addresses, maskVector, bytes);
  for (int64_t lane = 0; lane < tileIndex.lanes; ++lane)
    cpu::store(b, extractLane(b, data, lane), intToPointer(b, extractLane(b, addresses, lane)), bytes, false);
}

/// `nonTemporal` (i1): whether whole vectors use non-temporal stores; null: never.
static void storeTile(Context &ctx, StoreOp op, int64_t vectorDim, int64_t chunk, Value nonTemporal) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value value = op.getValue();
  Type element = getElementTypeOrSelf(value);
  if (isa<PointerType>(element)) element = b.getI64Type();
  LoopSpec spec = loopsOver(shapeOf(op.getPtr()), vectorDim, chunk);
  spec.nonTemporal = nonTemporal;
  spec.unroll = ctx.fallback ? 1 : unrollFor(ctx.buffers.contains(value) ? 0 : ctx.analysis->cost(value));
  applyMasks(ctx, spec, {value}, op.getMask());
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        llvm::SmallVector<Value> values = evaluateAll(ctx, value, tileIndices, element);
        for (auto [tileIndex, data] : llvm::zip(tileIndices, values))
          storeAt(ctx, op, tileIndex, data);
      },
      vectorDim);
}

namespace {
/// A store whose rows are columns of the value: squares are transposed in registers.
struct Transpose {
  int64_t from = -1; // the vectorized dimension of the computation; -1: vectors are stored as they are computed
  int64_t to = -1;   // the vectorized dimension of the store
  int64_t side = 0;
};
} // namespace

static Transpose transposeOf(Context &ctx, StoreOp op) {
  constexpr int64_t maxSide = 16, maxCost = 24; // one square is as many vectors, each with the code of the value
  Value value = op.getValue(), pointer = op.getPtr();
  Type element = getElementTypeOrSelf(value);
  auto shape = shapeOf(pointer);
  int64_t bytes = elementBytes(element);
  if (element.isInteger(1) || isa<PointerType>(element)) return {};
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    Stride stride = ctx.analysis->strideOf(pointer, d);
    if (shape[d] == 1 || stride.kind != Stride::constant || stride.amount != bytes) continue;
    Transpose transpose{transposedDim(ctx, value, d), d, std::min(maxSide, ctx.target.vectorBytes / bytes)};
    bool isCheap = ctx.buffers.contains(value) || ctx.analysis->cost(value) <= maxCost;
    auto fits = [&](int64_t dim) { return shape[dim] >= transpose.side && llvm::isPowerOf2_64(shape[dim]); };
    return transpose.from >= 0 && isCheap && transpose.side > 1 && fits(d) && fits(transpose.from) ? transpose : Transpose();
  }
  return {};
}

/// Returns the index `more` after another one.
static Index indexAfter(Context &ctx, Index index, int64_t more) {
  return more == 0 ? index : knownIndex(ctx, index.value, int64_t(ctx.levels.size()) - 1, more);
}

/// Computes the square that begins at `tileIndex` as rows along one dimension, and stores it as rows along the other.
static void storeSquare(Context &ctx, StoreOp op, const Transpose &transpose, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type element = getElementTypeOrSelf(op.getValue());
  llvm::SmallVector<TileIndex> from;
  for (int64_t i = 0; i < transpose.side; ++i) {
    from.push_back(tileIndex);
    from.back().at[transpose.to] = indexAfter(ctx, tileIndex.at[transpose.to], i);
  }
  llvm::SmallVector<Value> rows = evaluateAll(ctx, op.getValue(), from, element);
  for (Value &row : rows) // LLVM would extend 16-bit floats to shuffle them
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16)
      row = reinterpret(b, vectorOf(b.getI16Type(), transpose.side), row);
  for (auto [i, row] : llvm::enumerate(transposeSquare(b, rows))) {
    TileIndex to = tileIndex;
    to.vector = transpose.to;
    to.at[transpose.from] = indexAfter(ctx, tileIndex.at[transpose.from], i);
    storeAt(ctx, op, to, row);
  }
}

/// Stores the same square row by row, at an edge where masks are tested.
static void storeRows(Context &ctx, StoreOp op, const Transpose &transpose, const TileIndex &tileIndex) {
  forLoop(ctx, constantIndex(ctx.b, 0), constantIndex(ctx.b, transpose.side), 1, [&](Value i) {
    TileIndex row = tileIndex;
    row.vector = transpose.to;
    Value at = arith::AddIOp::create(ctx.b, tileIndex.at[transpose.from].value, i);
    row.at[transpose.from] = {at, int64_t(ctx.levels.size()) - 1};
    storeAt(ctx, op, row, evaluateAll(ctx, op.getValue(), {row}, getElementTypeOrSelf(op.getValue())).front());
  });
}

static void storeTransposed(Context &ctx, StoreOp op, const Transpose &transpose, Value nonTemporal) {
  LoopSpec spec = loopsOver(shapeOf(op.getPtr()), transpose.from, transpose.side);
  spec.chunk[transpose.to] = transpose.side;
  spec.nonTemporal = nonTemporal;
  applyMasks(ctx, spec, {op.getValue()}, op.getMask());
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        bool isWhole = llvm::all_of(spec.fullMasks, [&](Value mask) { return ctx.trueMasks.contains(mask); });
        for (const TileIndex &tileIndex : tileIndices)
          isWhole ? storeSquare(ctx, op, transpose, tileIndex) : storeRows(ctx, op, transpose, tileIndex);
      },
      transpose.from);
}

static void storeFast(Context &ctx, StoreOp op, int64_t vectorDim, int64_t chunk, const Transpose &transpose) {
  constexpr int64_t maxCost = 200; // two versions of a longer body are not worth their code size
  bool isExpensive = !ctx.buffers.contains(op.getValue()) && ctx.analysis->cost(op.getValue()) > maxCost;
  Value nonTemporal = isExpensive ? Value() : usesNonTemporalStores(ctx, op, vectorDim, chunk);
  ctx.needsFence |= nonTemporal != nullptr;
  if (transpose.from >= 0) return storeTransposed(ctx, op, transpose, nonTemporal);
  storeTile(ctx, op, vectorDim, chunk, nonTemporal);
}

/// The slow path: all loads finish before the store begins, and no conditional stride or mask is assumed to hold.
static void storeSlowPath(Context &ctx, StoreOp op, llvm::ArrayRef<Hazard> hazards, int64_t vectorDim, int64_t chunk) {
  int64_t mark = ctx.arenaUsed;
  ctx.fallback = true;
  llvm::SmallVector<Buffer> copies;
  for (Hazard hazard : hazards)
    copies.push_back(buffered(ctx, hazard.load));
  for (auto [i, copy] : llvm::enumerate(copies))
    ctx.buffers[Hazard(hazards[i]).load] = copy;
  storeTile(ctx, op, vectorDim, chunk, {});
  for (Hazard hazard : hazards)
    ctx.buffers.erase(hazard.load);
  ctx.fallback = false;
  ctx.arenaUsed = mark;
}

static void lowerScalarStore(Context &ctx, StoreOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value pointer = scalar(ctx, op.getPtr()), value = scalar(ctx, op.getValue());
  if (isa<PointerType>(op.getValue().getType())) value = pointerToInt(b, value);
  int64_t bytes = elementBytes(value.getType());
  if (!op.getMask()) return cpu::store(b, value, pointer, bytes, false);
  auto branch = scf::IfOp::create(b, TypeRange{}, scalar(ctx, op.getMask()), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  cpu::store(b, value, pointer, bytes, false);
}

/// A kernel may get one tensor through two arguments, or two tensors that overlap. It still does what the program says: all of the tile is
/// loaded before any of it is stored. A run-time check picks the version. A tile that takes long to compute is first stored in scratch
/// instead, which is always correct and adds little.
static void lowerTileStore(Context &ctx, StoreOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  constexpr int64_t minScratchCost = 100; // above this cost, a pass through scratch hardly matters
  int64_t mark = ctx.arenaUsed;
  Value value = op.getValue(), mask = op.getMask();
  llvm::SmallVector<Hazard> hazards = hazardsOf(ctx, op);
  bool throughScratch = !hazards.empty() && !ctx.buffers.contains(value) && ctx.analysis->cost(value) > minScratchCost;
  if (throughScratch) {
    ctx.buffers[value] = buffered(ctx, value);
    hazards = hazardsOf(ctx, op);
  }
  auto shape = shapeOf(op.getPtr());
  Transpose transpose = transposeOf(ctx, op);
  bool isTransposed = transpose.from >= 0;
  int64_t vectorDim = isTransposed ? transpose.to : chooseVectorDim(ctx, shape, {value}, {op.getPtr()});
  int64_t chunk = isTransposed ? transpose.side : chunkFor(ctx, shape, vectorDim, {value});
  llvm::SmallVector<Value> tiles = {value, op.getPtr()}, pointers = {op.getPtr()};
  RowScope split(ctx, {value, op.getPtr()}, isTransposed ? -1 : vectorDim, chunk);
  chunk = split.chunk();
  if (mask) tiles.push_back(mask);
  for (Hazard hazard : hazards)
    pointers.push_back(hazard.load.getPtr());
  Value holds = logicalAnd(ctx, conditions(ctx, tiles, vectorDim),
                           logicalAnd(ctx, masksExactly(ctx, mask, shape), isDisjointFromStores(ctx, op, hazards)));
  if (isTransposed) holds = logicalAnd(ctx, holds, conditions(ctx, {value}, transpose.from));
  if (!hazards.empty()) holds = logicalAnd(ctx, holds, reachesExactly(ctx, pointers));
  if (!holds) {
    storeFast(ctx, op, vectorDim, chunk, transpose);
  } else {
    ctx.notes.versions.insert(op);
    auto branch = scf::IfOp::create(b, TypeRange{}, holds, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    ctx.assumeConditions = true;
    storeFast(ctx, op, vectorDim, chunk, transpose);
    ctx.assumeConditions = false;
    b.setInsertionPointToStart(branch.elseBlock());
    storeSlowPath(ctx, op, hazards, vectorDim, chunk);
  }
  if (throughScratch) ctx.buffers.erase(value);
  ctx.arenaUsed = mark;
}

void lowerStore(Context &ctx, StoreOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!isTile(op.getPtr())) return lowerScalarStore(ctx, op);
  Value isDone = ctx.storedDirectly.lookup(op);
  if (!isDone) return lowerTileStore(ctx, op);
  auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, isDone, constantInt(b, b.getI1Type(), 1)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  lowerTileStore(ctx, op);
}

} // namespace tilewright::cpu
