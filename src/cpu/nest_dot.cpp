// tt.dot: brings the operands into the layout that the micro-kernel reads, then runs it over the accumulator in scratch.
//
// B is packed into panels of a few columns (and transposed in registers if its columns are contiguous in memory). A only needs constant
// strides, because its elements are broadcast one by one. So A is copied as vectors in its own order. It is not copied if it is in scratch
// already or its rows can be read in memory (operand_in_memory.h). Narrow floats become fp32 on the way, or bf16 if the CPU multiplies
// bf16. The program's block sizes, usually chosen for a GPU, do not matter: the micro-kernel has its own blocks.

#include "cpu/amx_tiles.h"
#include "cpu/conditions.h"
#include "cpu/direct_store.h"
#include "cpu/evaluate.h"
#include "cpu/gemv.h"
#include "cpu/k_blocking.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/math.h"
#include "cpu/micro_kernel.h"
#include "cpu/operand_in_memory.h"
#include "cpu/operand_padding.h"
#include "cpu/panel_cache.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

//===---------------------------------------------------------------------------------------------------------- packing B

namespace {
/// Describes how B is packed into panels.
struct Packing {
  Context &ctx;
  Value tile;
  Value base;
  int64_t k, n, panel, depth; // depth: rows of a panel, of which k are packed
  Type operand;
  llvm::ArrayRef<Index> batch;
  int64_t group; // adjacent elements along k that form one group of 32 or 64 bits
  int64_t bytes, kDim, nDim;
  int64_t lanes = 1;       // columns per vector
  bool transposed = false; // squares of vectors along k are transposed in registers
  Value columns = {};      // number of needed columns (i64); null: all
  Value length = {};       // along k, likewise
  bool addsOffset = false; // adds 128 to bytes
};
} // namespace

/// Returns the address of the group whose first element is (p, j) of B: (j / panel) * (depth * panel) + p * panel + group * (j % panel).
static Value panelAddress(const Packing &pack, Value p, Value j, int64_t moreP) {
  ImplicitLocOpBuilder &b = pack.ctx.b;
  Value shift = constantIndex(b, llvm::Log2_64(pack.panel));
  Value which = arith::ShRUIOp::create(b, j, shift), within = arith::AndIOp::create(b, j, constantIndex(b, pack.panel - 1));
  Value address = pointerAt(b, pack.base, which, std::max<int64_t>(pack.depth, pack.group) * pack.panel * pack.bytes);
  address = pointerAt(b, address, within, pack.group * pack.bytes);
  address = pointerAt(b, address, p, pack.panel * pack.bytes);
  return moreP ? pointerAtConstant(b, address, moreP * pack.panel * pack.bytes) : address;
}

static Value packedValue(const Packing &pack, const TileIndex &tileIndex) {
  Context &ctx = pack.ctx;
  Type element = getElementTypeOrSelf(pack.tile);
  Value value = tileIndex.vector < 0 ? evaluateScalar(ctx, pack.tile, tileIndex)
                                     : asVector(ctx, evaluate(ctx, pack.tile, tileIndex), element, tileIndex);
  return convertTo(ctx, value, pack.operand);
}

static void storePacked(const Packing &pack, Value value, Value address) {
  ImplicitLocOpBuilder &b = pack.ctx.b;
  if (pack.addsOffset) {
    Type type = value.getType();
    bool isByte = getElementTypeOrSelf(type).isInteger(8);
    value = arith::XOrIOp::create(b, value, constantInt(b, type, isByte ? -128 : int32_t(0x80808080)));
  }
  cpu::store(b, value, address, pack.bytes, false);
}

static void packTransposed(const Packing &pack, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = pack.ctx.b;
  Index p = tileIndex.at[pack.kDim], j = tileIndex.at[pack.nDim];
  Type groups = pack.group > 1 ? vectorOf(b.getIntegerType(static_cast<unsigned>(8 * pack.group * pack.bytes)), pack.lanes) : Type();
  llvm::SmallVector<Value> rows;
  for (int64_t t = 0; t < pack.lanes; ++t) {
    TileIndex row = tileIndex;
    if (t) row.at[pack.nDim] = {arith::AddIOp::create(b, j.value, constantIndex(b, t)), std::max(p.level, j.level)};
    Value values = packedValue(pack, row);
    rows.push_back(groups ? reinterpret(b, groups, values) : values);
  }
  for (auto [t, column] : llvm::enumerate(transposeSquare(b, rows)))
    storePacked(pack, column, panelAddress(pack, p.value, j.value, t * pack.group));
}

/// Interleaves the lanes of both.
static Value interleave(const Packing &pack, Value even, Value odd) {
  llvm::SmallVector<int32_t> mask;
  int64_t lanes = lanesOf(even.getType());
  for (int64_t lane = 0; lane < lanes; ++lane)
    llvm::append_values(mask, int32_t(lane), int32_t(lane + lanes));
  return shuffle(pack.ctx.b, even, odd, mask);
}

/// Interleaves rows, of which there is a power of two: lane 0 of each, then lane 1 of each.
static Value interleaveAll(const Packing &pack, llvm::ArrayRef<Value> rows) {
  if (rows.size() == 1) return rows.front();
  llvm::SmallVector<Value> even, odd;
  for (size_t i = 0; i < rows.size(); i += 2)
    even.push_back(rows[i]), odd.push_back(rows[i + 1]);
  Value first = interleaveAll(pack, even);
  return interleave(pack, first, interleaveAll(pack, odd));
}

/// Packs a row of groups: rows of B interleaved. Rows beyond the end of B are zeros.
static void packGroups(const Packing &pack, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = pack.ctx.b;
  Index p = tileIndex.at[pack.kDim], j = tileIndex.at[pack.nDim];
  llvm::SmallVector<Value> rows;
  for (int64_t i = 0; i < pack.group; ++i) {
    TileIndex row = tileIndex;
    if (i) row.at[pack.kDim] = {arith::AddIOp::create(b, p.value, constantIndex(b, i)), std::max(p.level, j.level)};
    rows.push_back(i < pack.k ? packedValue(pack, row) : constantInt(b, vectorOf(pack.operand, pack.lanes), 0));
  }
  Value address = panelAddress(pack, p.value, j.value, 0);
  for (int64_t i = 0; pack.lanes == 1 && i < pack.group; ++i)
    storePacked(pack, rows[i], pointerAtConstant(b, address, i * pack.bytes));
  if (pack.lanes == 1) return;
  storePacked(pack, interleaveAll(pack, rows), address);
}

static LoopSpec packingLoops(const Packing &pack) {
  LoopSpec spec;
  spec.shape = shapeOf(pack.tile);
  spec.chunk.assign(spec.shape.size(), 1);
  if (pack.transposed) {
    spec.order = {pack.nDim, pack.kDim};
    spec.chunk[pack.nDim] = pack.lanes;
    spec.chunk[pack.kDim] = pack.lanes * pack.group;
  } else {
    spec.order = {pack.kDim, pack.nDim};
    spec.chunk[pack.nDim] = pack.lanes;
    spec.chunk[pack.kDim] = std::min(pack.group, pack.k);
    spec.unroll = std::max<int64_t>(1, pack.panel / pack.lanes);
  }
  applyMasks(pack.ctx, spec, {pack.tile}, {});
  if (pack.columns) limitExtent(pack.ctx, spec, pack.nDim, pack.columns);
  if (pack.length) limitExtent(pack.ctx, spec, pack.kDim, pack.length);
  if (!spec.full.empty())
    for (int64_t d = 0; d < pack.kDim; ++d)
      if (spec.full[d]) spec.fullMasks.clear(); // a mask along the batch dimension must always be tested
  return spec;
}

/// Rounds `count` up to a multiple of `unit`, a power of two, but not above `limit`.
static Value roundedUp(Context &ctx, Value count, int64_t unit, int64_t limit) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (unit > 1) {
    count = arith::AddIOp::create(b, count, constantIndex(b, unit - 1));
    count = arith::AndIOp::create(b, count, constantIndex(b, -unit));
  }
  return arith::MinSIOp::create(b, count, constantIndex(b, limit));
}

/// Writes tile[batch..., :, :] (k x n) as the plan's panels, or as one iteration's part of them, at `base`.
static void packPanels(Context &ctx, Value tile, Value base, int64_t k, const DotPlan &plan, llvm::ArrayRef<Index> batch,
                       const DotLimits &limits) {
  auto shape = shapeOf(tile);
  int64_t rank = shape.size(), bytes = elementBytes(plan.operand);
  Packing pack{ctx, tile, base, k, plan.n, plan.panel, k * plan.iterations, plan.operand, batch, plan.group, bytes, rank - 2, rank - 1};
  pack.addsOffset = plan.addsOffset();
  if (limits.columns) pack.columns = roundedUp(ctx, limits.columns, plan.panel, plan.n); // whole panels are read
  int64_t groupBytes = std::max<int64_t>(plan.group * bytes, 4);                         // a group has 4 or 8 bytes or is one element
  pack.lanes = std::min({ctx.target.vectorBytes / groupBytes, pack.panel, pack.n});
  int64_t vectorDim = chooseVectorDim(ctx, shape, {tile}, {});
  pack.transposed = vectorDim == pack.kDim && pack.lanes > 1 && k >= pack.lanes * pack.group && pack.n >= pack.lanes;
  if (!pack.transposed) vectorDim = pack.nDim;
  int64_t unit = pack.transposed ? std::max(lengthUnit(plan), pack.lanes * pack.group) : lengthUnit(plan);
  if (limits.length) pack.length = roundedUp(ctx, limits.length, unit, k);
  withConditions(ctx, {tile}, vectorDim, [&] {
    emitLoops(
        ctx, packingLoops(pack),
        [&](llvm::ArrayRef<TileIndex> tileIndices) {
          for (TileIndex tileIndex : tileIndices) {
            for (size_t d = 0; d < batch.size(); ++d)
              tileIndex.at[d] = batch[d];
            pack.transposed ? packTransposed(pack, tileIndex) : packGroups(pack, tileIndex);
          }
        },
        pack.lanes > 1 || pack.transposed ? vectorDim : -1);
  });
}

//===------------------------------------------------------------------------------------------------------------ operands

/// True if bf16 represents every number of the type exactly.
static bool fitsBf16(Type type) {
  return type.isBF16() || (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8);
}

/// Returns the operand type if AMX tiles multiply the dot; else null.
static Type tileOperand(Context &ctx, DotOp op, const DotPlan &sizes) {
  Type a = getElementTypeOrSelf(op.getA()), b = getElementTypeOrSelf(op.getB());
  Type half = ctx.target.fp16Tiles ? a : Type(ctx.b.getI32Type());
  Type operand = a.isF16() && b.isF16() ? half : fitsBf16(a) && fitsBf16(b) ? Type(ctx.b.getBF16Type()) : a.isInteger(8) ? a : Type();
  // Sums per element that is split into two halves: with fewer, splitting takes as long as AMX saves.
  constexpr int64_t minSumsPerSplit = 32;
  if (operand && isOfHalves(operand) && sizes.m * sizes.n <= minSumsPerSplit * (sizes.m + sizes.n)) return {};
  return operand && fitsTiles(ctx.target, operand, sizes.m, sizes.n, sizes.k) ? operand : Type();
}

/// Uses the instructions for 2x2 blocks if the target has them and the sizes are multiples of theirs.
static void chooseMatrix(Context &ctx, DotPlan &plan) {
  int64_t group = 8 / elementBytes(plan.operand);
  plan.matrix = ctx.target.matrixDot && plan.m >= 2 && plan.k % group == 0;
  if (plan.matrix) plan.group = group;
}

/// Plans the operand and result types and the instruction; nullopt after a refusal.
static std::optional<DotPlan> planDot(Context &ctx, DotOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto aShape = shapeOf(op.getA());
  int64_t rank = aShape.size();
  Type input = getElementTypeOrSelf(op.getA());
  DotPlan plan;
  plan.m = aShape[rank - 2], plan.n = shapeOf(op.getB())[rank - 1], plan.k = aShape[rank - 1], plan.group = 1;
  bool hasVectors = plan.n >= 4; // of 32 bits
  if (Type operand = tileOperand(ctx, op, plan)) {
    plan.operand = operand, plan.group = 4 / elementBytes(operand);
    plan.result = operand.isInteger(8) ? Type(b.getI32Type()) : Type(b.getF32Type());
    plan.tiles = ctx.usesAmx = true;
  } else if (input.isF64()) {
    plan.operand = plan.result = b.getF64Type();
  } else if (ctx.target.bf16Dot && hasVectors && plan.k % 2 == 0 && fitsBf16(input) && fitsBf16(getElementTypeOrSelf(op.getB()))) {
    plan.operand = b.getBF16Type(), plan.result = b.getF32Type(), plan.group = 2;
    chooseMatrix(ctx, plan);
  } else if (isa<FloatType>(input)) {
    plan.operand = plan.result = b.getF32Type();
  } else if (input.isInteger(8) && ctx.target.byteDot && hasVectors && plan.k % 4 == 0) {
    plan.operand = b.getI8Type(), plan.result = b.getI32Type(), plan.group = 4;
    plan.signedBytes = ctx.target.signedByteDot;
    chooseMatrix(ctx, plan);
  } else if (input.isInteger(8)) {
    plan.operand = b.getIntegerType(16), plan.result = b.getI32Type(), plan.group = 2;
    plan.k = std::max<int64_t>(plan.k, 2); // pairs
  } else {
    refuse(ctx, op, Diag::dotIntegers, std::to_string(input.getIntOrFloatBitWidth()));
    return std::nullopt;
  }
  plan.panel = panelWidth(ctx.target, plan.result, plan.n);
  constexpr int64_t minPanels = 4;                                // with fewer, pairing rows takes as long as it saves
  if (plan.matrix) plan.panel = std::min<int64_t>(plan.panel, 8); // of two NEON registers
  plan.pairsRows = plan.matrix && plan.n >= minPanels * plan.panel;
  return plan;
}

/// Writes zeros to C in the first iteration of the loop that carries C from zeros.
static void writeZeros(Context &ctx, DotOp op) {
  FirstIteration first = ctx.firstIterations.at(op.getC());
  auto branch = scf::IfOp::create(ctx.b, TypeRange{}, first.isFirst, false);
  OpBuilder::InsertionGuard guard(ctx.b);
  ctx.b.setInsertionPointToStart(branch.thenBlock());
  materialize(ctx, first.zeros, ctx.buffers.at(op.getC()));
}

/// Returns the buffer of the result: the accumulator that the loop carries, if nothing still needs the old value.
static Buffer accumulatorFor(Context &ctx, DotOp op, DotPlan &plan, bool fromZero) {
  Buffer c;
  auto carriedBuffer = carriedTarget(ctx, op.getD(), op);
  if (carriedBuffer && carriedBuffer->element == plan.result && carriedBuffer->strides.back() == 1)
    c = *carriedBuffer;
  else
    c = allocate(ctx, shapeOf(op.getC()), plan.result);
  auto existing = ctx.buffers.find(op.getC());
  bool inPlace = existing != ctx.buffers.end() && existing->second.base == c.base;
  auto first = ctx.firstIterations.find(op.getC());
  bool isLate = first != ctx.firstIterations.end(); // zeros that have not been written
  if (isLate && inPlace && c.strides.size() == 2)
    plan.isFirst = first->second.isFirst;
  else if (isLate)
    writeZeros(ctx, op);
  if (!fromZero && !inPlace) materialize(ctx, op.getC(), c);
  return c;
}

/// Plans a direct store of the results if that is legal. `iteration`: nullopt if each dot is multiplied alone.
static void planDirectStore(Context &ctx, DotOp op, DotPlan &plan, const Buffer &c, const std::optional<BlockedIteration> &iteration) {
  ImplicitLocOpBuilder &b = ctx.b;
  StoreOp store = storeOfResults(ctx, op);
  Value readBefore = iteration ? arith::MulIOp::create(b, iteration->within, constantIndex(b, elementBytes(plan.operand))) : Value();
  auto direct = store ? directStore(ctx, op, store, plan, readBefore) : std::nullopt;
  if (!direct) return;
  Value nonTemporal = direct->nonTemporal;
  if (nonTemporal && plan.tiles) { // AMX has no non-temporal stores
    Value all = constantInt(b, b.getI1Type(), 1);
    direct->holds = arith::AndIOp::create(b, direct->holds, arith::XOrIOp::create(b, nonTemporal, all));
  } else if (nonTemporal) {
    plan.nonTemporal = arith::AndIOp::create(b, direct->holds, nonTemporal);
    ctx.needsFence = true;
  }
  Value inScratch = pointerToInt(b, pointerAtConstant(b, c.base, c.offset * elementBytes(c.element)));
  plan.out = intToPointer(b, arith::SelectOp::create(b, direct->holds, direct->base, inScratch));
  plan.outRowBytes = arith::SelectOp::create(b, direct->holds, direct->rowBytes, constantIndex(b, c.strides[0] * elementBytes(c.element)));
  ctx.storedDirectly[store] = direct->holds;
}

/// Returns A's buffer in scratch, possibly transposed, if it exists.
static std::optional<Buffer> storedOperand(Context &ctx, Value tile, Type operand, const Buffer &c) {
  llvm::SmallVector<int64_t> permutation;
  while (auto trans = tile.getDefiningOp<TransOp>()) {
    if (ctx.buffers.contains(tile)) break;
    llvm::SmallVector<int64_t> order(trans.getOrder().begin(), trans.getOrder().end());
    if (!permutation.empty())
      for (int64_t &d : permutation)
        d = order[d];
    else
      permutation = order;
    tile = trans.getSrc();
  }
  auto stored = ctx.buffers.find(tile);
  if (stored == ctx.buffers.end() || stored->second.element != operand || getElementTypeOrSelf(tile) != operand ||
      stored->second.base == c.base)
    return std::nullopt;
  Buffer a = stored->second;
  if (!permutation.empty()) {
    llvm::SmallVector<int64_t> strides;
    for (int64_t d : permutation)
      strides.push_back(a.strides[d]);
    a.strides = strides;
  }
  return a;
}

/// Writes a column of zeros as padding, where pairs along k have only one element.
static void padPairs(Context &ctx, llvm::ArrayRef<int64_t> shape, const Buffer &a, Type operand) {
  Buffer padding = a;
  padding.offset += 1;
  LoopSpec rows;
  rows.shape = shape;
  rows.chunk.assign(shape.size(), 1);
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] > 1) rows.order.push_back(d);
  emitLoops(
      ctx, rows, [&](llvm::ArrayRef<TileIndex> tileIndices) { storeChunk(ctx, padding, constantInt(ctx.b, operand, 0), tileIndices[0]); },
      -1);
}

/// Writes the second plane of A or of B's panels (amx_tiles.cpp): `rows` rows of `columns` words at a distance of `rowBytes`.
/// `neededRows` and `neededColumns` limit them (i64; null: all).
static void writeSecondPlane(Context &ctx, Value first, int64_t planeBytes, int64_t rows, int64_t columns, int64_t rowBytes, bool exchanged,
                             Value neededRows, Value neededColumns) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t lanes = std::min<int64_t>(ctx.target.vectorBytes / 4, columns);
  forEach(b, rows, 1, 0, neededRows, [&](Value row) {
    Value line = pointerAt(b, first, row, rowBytes);
    forEach(b, columns, lanes, 0, neededColumns, [&](Value column) {
      Value address = pointerAt(b, line, column, 4);
      Value words = cpu::load(b, vectorOf(b.getI32Type(), lanes), address, 4);
      cpu::store(b, finiteHalves(b, words, exchanged), pointerAtConstant(b, address, planeBytes), 4, false);
    });
  });
}

/// Writes the second plane of panels, whose rows of `panel` columns are contiguous.
static void writeSecondPanels(Context &ctx, Value panels, const DotPlan &plan, const DotLimits &limits) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value count, words, panel = constantIndex(b, plan.panel);
  if (limits.columns) {
    Value whole = roundedUp(ctx, limits.columns, plan.panel, plan.n); // as packed
    count = arith::ShRSIOp::create(b, whole, constantIndex(b, llvm::Log2_64(plan.panel)));
  }
  if (limits.length) words = arith::MulIOp::create(b, roundedUp(ctx, limits.length, lengthUnit(plan), plan.k), panel);
  int64_t all = plan.k * plan.panel;
  writeSecondPlane(ctx, panels, panelBytes(plan) / 2, std::max<int64_t>(plan.n / plan.panel, 1), all, 4 * all, false, count, words);
}

/// Copies A, with any constant strides. With K-blocking, the copy goes next to those of the other iterations of the pending block.
static Buffer copyOperand(Context &ctx, DotOp op, DotPlan &plan, const DotLimits &limits,
                          const std::optional<BlockedIteration> &iteration) {
  auto shape = shapeOf(op.getA());
  int64_t rank = shape.size(), k = shape[rank - 1];
  llvm::SmallVector<int64_t> rows(shape);
  rows.back() = plan.k * plan.iterations;                         // plan.k differs from k if pairs are padded
  if (plan.tiles) rows.back() += 64 / elementBytes(plan.operand); // one cache line between rows: see amx_tiles.cpp
  if (isOfHalves(plan.operand)) rows.insert(rows.begin(), 2);
  Buffer a = iteration ? bufferAt(allocateLasting(ctx, llvm::product_of(rows) * elementBytes(plan.operand)), rows, plan.operand)
                       : allocate(ctx, rows, plan.operand);
  if (isOfHalves(plan.operand)) plan.aPlaneBytes = a.strides.front() * 4, a.strides.erase(a.strides.begin());
  int64_t vectorDim = chooseVectorDim(ctx, shape, {op.getA()}, {});
  if (vectorDim == rank - 2 && plan.group == 1 && !plan.tiles) { // columns are contiguous: keep that order
    a.strides[rank - 1] = plan.m;
    a.strides[rank - 2] = 1;
  }
  if (iteration) a.base = pointerAt(ctx.b, a.base, iteration->within, a.strides[rank - 1] * elementBytes(plan.operand));
  if (plan.k != k) padPairs(ctx, shape, a, plan.operand);
  int64_t longestBlock = plan.tiles ? 32 : 16; // rows that the micro-kernel takes at once, starting at any needed row
  Value read, length;
  if (limits.rows)
    read = roundedUp(ctx, arith::AddIOp::create(ctx.b, limits.rows, constantIndex(ctx.b, longestBlock)), longestBlock, plan.m);
  if (limits.length) length = roundedUp(ctx, limits.length, lengthUnit(plan), k);
  materializeSlice(ctx, op.getA(), a, read, length);
  if (isOfHalves(plan.operand))
    writeSecondPlane(ctx, a.base, plan.aPlaneBytes, llvm::product_of(shape) / k, k, 4 * a.strides[rank - 2], true,
                     rank == 2 ? read : Value(), length);
  return a;
}

/// True if the micro-kernel can read A from this buffer: it loads a group as one word.
static bool isReadable(const Buffer &a, const DotPlan &plan) {
  return plan.group == 1 || a.strides.back() == 1;
}

/// Returns A in memory if the masks permit all reads, else a copy; sets the row distance in `plan`.
static Value readInMemoryOrCopy(Context &ctx, DotOp op, DotPlan &plan, const OperandInMemory &memory, const DotLimits &limits,
                                const std::optional<BlockedIteration> &iteration) {
  ImplicitLocOpBuilder &b = ctx.b;
  plan.aCol = 1, plan.aRowBytes = memory.rowBytes, plan.aNext = memory.next;
  if (!memory.isReadable) return intToPointer(b, memory.base);
  llvm::SmallVector<Value, 3> inMemory = {memory.base, memory.rowBytes};
  if (memory.next) inMemory.push_back(memory.next);
  llvm::SmallVector<Type, 3> types(inMemory.size(), b.getI64Type());
  auto branch = scf::IfOp::create(b, types, memory.isReadable, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, inMemory);
  b.setInsertionPointToStart(branch.elseBlock());
  Buffer a = copyOperand(ctx, op, plan, limits, iteration);
  int64_t bytes = elementBytes(a.element);
  llvm::SmallVector<Value, 3> copied = {pointerToInt(b, a.base), constantIndex(b, a.strides[0] * bytes)};
  if (memory.next) copied.push_back(constantIndex(b, 0)); // the next copy has the same address
  scf::YieldOp::create(b, copied);
  b.setInsertionPointAfter(branch);
  plan.aRowBytes = branch.getResult(1);
  if (memory.next) plan.aNext = branch.getResult(2);
  return intToPointer(b, branch.getResult(0));
}

/// Emits the micro-kernel's loops over the ranges that are multiplied now; `panels` has room for the whole pending block.
static DotBlocks flushPendingBlocks(Context &ctx, const BlockedIteration &iteration, const DotPlan &plan, const OperandA &a, Value panels,
                                    Value c, const DotLimits &limits) {
  ImplicitLocOpBuilder &b = ctx.b;
  DotBlocks blocks;
  multiplyPendingBlock(ctx, iteration, plan, a, limits, [&](const BlockRange &range) {
    DotPlan all = plan.together();
    all.aRowBytes = range.a.rowBytes;
    if (plan.isFirst) all.isFirst = range.isFirst;
    if (plan.aNext) { // relative to this iteration's A
      Value earlier = arith::SubIOp::create(b, iteration.within, range.within);
      all.aNext = arith::AddIOp::create(b, plan.aNext, arith::MulIOp::create(b, earlier, constantIndex(b, a.step)));
    }
    if (plan.out) { // the destination of this iteration, not of an older range
      all.out = arith::SelectOp::create(b, range.isOld, c, plan.out);
      all.outRowBytes = arith::SelectOp::create(b, range.isOld, constantIndex(b, plan.cRow * elementBytes(plan.result)), plan.outRowBytes);
      Value none = constantInt(b, b.getI1Type(), 0);
      if (plan.nonTemporal) all.nonTemporal = arith::SelectOp::create(b, range.isOld, none, plan.nonTemporal);
    }
    Value first = pointerAt(b, panels, range.within, plan.panel * elementBytes(plan.operand));
    blocks = emitDotLoops(b, ctx.target, all, range.a.base, first, c, false, range.limits);
  });
  return blocks;
}

/// Emits the dot by packed panels and the micro-kernel.
static void emitPanelGemm(Context &ctx, DotOp op, DotPlan plan, const Buffer &c, bool fromZero, const DotLimits &limits,
                          const std::optional<BlockedIteration> &iteration) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t mark = ctx.arenaUsed;
  auto stored = storedOperand(ctx, op.getA(), plan.operand, c);
  bool isStored = stored && isReadable(*stored, plan);
  auto shape = shapeOf(op.getA());
  int64_t rank = shape.size();
  auto memory = isStored ? std::nullopt : operandInMemory(ctx, op, plan, limits);
  Buffer a;
  if (memory) {
    a.base = readInMemoryOrCopy(ctx, op, plan, *memory, limits, iteration);
    a.element = plan.operand;
  } else {
    a = isStored ? *stored : copyOperand(ctx, op, plan, limits, iteration);
    plan.aRow = a.strides[rank - 2], plan.aCol = a.strides[rank - 1];
  }
  plan.cRow = c.strides[rank - 2];
  auto from = isStored ? DotNote::scratch : memory ? DotNote::memory : DotNote::copy;

  if (plan.addsOffset()) plan.rowSums = allocate(ctx, {plan.m}, plan.result).base;
  if (plan.pairsRows) plan.rowPairs = allocate(ctx, {plan.m, plan.together().k}, plan.operand).base;
  int64_t bytes = panelBytes(plan.together());
  Value scratch = iteration ? allocateLasting(ctx, bytes) : allocate(ctx, {bytes / elementBytes(plan.operand)}, plan.operand).base;
  auto emitBatch = [&](llvm::ArrayRef<Index> batch) {
    auto pack = [&](Value to) {
      if (iteration) to = pointerAt(b, to, iteration->within, plan.panel * elementBytes(plan.operand));
      packPanels(ctx, op.getB(), to, shape[rank - 1], plan, batch, limits);
      if (isOfHalves(plan.operand)) writeSecondPanels(ctx, to, plan, limits);
    };
    Value panels = packOnce(ctx, op, plan, scratch, limits, pack);
    auto base = [&](const Buffer &buffer) {
      Value address = pointerAtConstant(b, buffer.base, buffer.offset * elementBytes(buffer.element));
      for (size_t d = 0; d < batch.size(); ++d)
        address = pointerAt(b, address, batch[d].value, buffer.strides[d] * elementBytes(buffer.element));
      return address;
    };
    OperandA ofA{base(a), plan.aRowBytes, plan.aCol * elementBytes(plan.operand)};
    DotBlocks blocks = iteration ? flushPendingBlocks(ctx, *iteration, plan, ofA, panels, base(c), limits)
                                 : emitDotLoops(b, ctx.target, plan, ofA.base, panels, base(c), fromZero, limits);
    int64_t lanes = ctx.target.vectorBytes / elementBytes(plan.result);
    ctx.notes.dots.push_back({op, std::move(blocks), lanes, bool(plan.out), from, plan.iterations});
  };
  if (rank == 2) {
    emitBatch({});
  } else {
    auto saved = std::move(ctx.levels);
    ctx.levels.clear();
    forLoop(ctx, constantIndex(b, 0), constantIndex(b, shape[0]), 1, [&](Value index) {
      Index batch{index, 0};
      emitBatch(batch);
    });
    ctx.levels = std::move(saved);
  }
  ctx.arenaUsed = mark;
}

/// Plans the GEMV path for one row (one column) of the result. nullopt if the matrix is already in scratch: the micro-kernel reads it
/// there.
static std::optional<Gemv> gemvOf(Context &ctx, DotOp op, const DotPlan &plan, const Buffer &c, bool fromZero, const DotLimits &limits,
                                  bool ofRow) {
  Value limit = ofRow ? limits.rows : limits.columns, matrix = ofRow ? op.getB() : op.getA();
  if (!limit || !isa<FloatType>(plan.result) || ctx.buffers.contains(matrix)) return std::nullopt;
  if (std::min({plan.m, plan.n, plan.k}) < 4 || !matrix.getDefiningOp()) return std::nullopt;
  Value target = pointerAtConstant(ctx.b, c.base, c.offset * elementBytes(c.element));
  if (ofRow) return Gemv{matrix, op.getA(), 1, 0, 1, plan.n, plan.k, plan.result, limits.columns, limits.length, target, 1, fromZero};
  return Gemv{matrix, op.getB(), 0, 1, 0, plan.m, plan.k, plan.result, limits.rows, limits.length, target, c.strides[0], fromZero};
}

/// Emits `then` for the case that only one row (one column) is needed, which is known at run time, and `otherwise` for the other case.
static void emitByLimit(Context &ctx, Value limit, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, limit, constantIndex(b, 1));
  auto branch = scf::IfOp::create(b, TypeRange{}, isOne, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

/// Emits the dot by packed panels, except for one row (one column) after whole register blocks, which takes the GEMV path. Otherwise that
/// row would cost a whole block: for 65 x 65 elements a quarter of the time.
static void emitPanelsAndRemainder(Context &ctx, DotOp op, const DotPlan &plan, const Buffer &c, bool fromZero, const DotLimits &limits,
                                   const std::optional<BlockedIteration> &iteration) {
  ImplicitLocOpBuilder &b = ctx.b;
  DotLimits fewer = limits;
  std::optional<Gemv> row, column;
  bool isPlain = plan.group == 1 && !plan.tiles;
  if (isPlain && limits.mayLeaveOneRow) row = gemvOf(ctx, op, plan, c, fromZero, limits, true);
  if (isPlain && limits.mayLeaveOneColumn) column = gemvOf(ctx, op, plan, c, fromZero, limits, false);
  auto excludeRemainder = [&](Value &limit, int64_t unit) -> Value {
    using enum arith::CmpIPredicate;
    Value rest = arith::AndIOp::create(b, limit, constantIndex(b, unit - 1));
    Value leavesOne = arith::CmpIOp::create(b, eq, rest, constantIndex(b, 1));
    leavesOne = arith::AndIOp::create(b, leavesOne, arith::CmpIOp::create(b, sgt, limit, constantIndex(b, unit)));
    limit = arith::SubIOp::create(b, limit, arith::ExtUIOp::create(b, b.getI64Type(), leavesOne));
    return leavesOne;
  };
  Value hasRow = row ? excludeRemainder(fewer.rows, rowUnit(ctx.target)) : Value();
  Value hasColumn = column ? excludeRemainder(fewer.columns, ctx.target.vectorBytes / elementBytes(plan.result)) : Value();
  emitPanelGemm(ctx, op, plan, c, fromZero, fewer, iteration);
  auto add = [&](Value isThere, Gemv gemv, Value index, Value count, int64_t stride) {
    auto branch = scf::IfOp::create(b, TypeRange{}, isThere, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    gemv.index = index, gemv.count = count, gemv.isFirst = plan.isFirst;
    gemv.target = pointerAt(b, gemv.target, index, stride * elementBytes(plan.result));
    emitGemv(ctx, gemv);
  };
  if (column) add(hasColumn, *column, fewer.columns, fewer.rows, c.strides[1]);
  if (row) add(hasRow, *row, fewer.rows, limits.columns, c.strides[0]);
}

void lowerDot(Context &ctx, DotOp op) {
  std::optional<DotPlan> plan = planDot(ctx, op);
  if (!plan) return;
  bool fromZero = isZeroTile(op.getC());
  Buffer c = accumulatorFor(ctx, op, *plan, fromZero);
  DotLimits limits = limitsOf(ctx, op);
  plan->iterations = iterationsTogether(ctx, op, *plan, c, limits);
  std::optional<BlockedIteration> iteration = plan->iterations > 1 ? std::optional(iterationOf(ctx, op, *plan)) : std::nullopt;
  planDirectStore(ctx, op, *plan, c, iteration);
  ctx.packing = true;
  std::optional<Gemv> row, column;
  if (limits.mayBeOneRow) row = gemvOf(ctx, op, *plan, c, fromZero, limits, true);
  if (limits.mayBeOneColumn) column = gemvOf(ctx, op, *plan, c, fromZero, limits, false);
  auto panels = [&] { emitPanelsAndRemainder(ctx, op, *plan, c, fromZero, limits, iteration); };
  auto viaGemv = [&](const Gemv &gemv) {
    if (plan->isFirst) writeZeros(ctx, op);
    emitGemv(ctx, gemv);
  };
  auto notRow = [&] {
    if (!column) return panels();
    emitByLimit(ctx, limits.columns, [&] { viaGemv(*column); }, panels);
  };
  if (row)
    emitByLimit(ctx, limits.rows, [&] { viaGemv(*row); }, notRow);
  else
    notRow();
  ctx.packing = false;
  ctx.buffers[op.getD()] = c;
}

} // namespace tilewright::cpu
