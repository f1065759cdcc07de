// See rows.h.

#include "cpu/rows.h"

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "ir/slice.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

namespace {
/// A quotient or remainder of a tile that has stride 1 along the root's vector dimension.
struct Division {
  Operation *op;
  int64_t dim;                     // of its tile
  llvm::SmallVector<int64_t> dims; // the root's dimensions that its own map to
};
} // namespace

static bool isRemainder(Operation *op) {
  return isa<arith::RemSIOp, arith::RemUIOp>(op);
}

namespace {
/// The divisions that the root's tiles depend on.
struct Divisions {
  llvm::SmallVector<Division> found = {};
  llvm::SmallVector<std::pair<Value, int64_t>> stored = {}; // tiles in scratch, and their dimension that maps to the vector dimension
  bool areComputed = false;                                 // some division is not only an input of a stored tile
};
} // namespace

static Divisions collectDivisions(Context &ctx, ValueRange roots, int64_t vectorDim) {
  struct Item {
    Value tile;
    llvm::SmallVector<int64_t> dims; // the root's dimensions that the tile's map to
    bool isStored;
  };
  Divisions all;
  TilesWithDims seen;
  llvm::SmallVector<Item> work, ofStored; // inputs of stored tiles come last: the root may compute some of them itself
  for (Value root : roots)
    work.push_back({root, llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(root).size())), false});
  while (!work.empty() || !ofStored.empty()) { // a chain may have thousands of operations
    auto [tile, dims, isStored] = work.empty() ? ofStored.pop_back_val() : work.pop_back_val();
    if (!isTile(tile) || !seen.insert({tile.getAsOpaquePointer(), std::vector<int64_t>(dims.begin(), dims.end())}).second) continue;
    if (ctx.buffers.contains(tile)) {
      isStored = true;
      for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d] == vectorDim) all.stored.push_back({tile, int64_t(d)});
    }
    Operation *op = tile.getDefiningOp();
    if (!op || !(isElementwise(op) || isa<ExpandDimsOp, BroadcastOp, TransOp, LoadOp>(op))) continue;
    if (isRemainder(op) || isa<arith::DivSIOp, arith::DivUIOp>(op))
      for (size_t d = 0; d < dims.size(); ++d) {
        Stride stride = ctx.analysis->strideOf(op->getOperand(0), d);
        if (dims[d] == vectorDim && stride.hasAmount(1) && !stride.isConditional() && ctx.analysis->isOneValue(op->getOperand(1))) {
          all.found.push_back({op, int64_t(d), dims});
          all.areComputed |= !isStored;
        }
      }
    llvm::SmallVector<int64_t> inner = operandDims(op, dims);
    for (Value operand : llvm::reverse(op->getOperands()))
      (isStored ? ofStored : work).push_back({operand, inner, isStored});
  }
  return all;
}

/// Returns the scalar that all elements of a tile are equal to, if splats and broadcasts show it.
static Value scalarOf(Value tile) {
  return lookThrough<SplatOp, BroadcastOp, ExpandDimsOp>(tile);
}

/// Whether one divisor is a multiple of another; likely: unless a multiplication overflows.
enum class Multiple { no, likely, yes };

static Multiple isMultiple(Value large, Value small, int64_t depth) {
  large = scalarOf(large), small = scalarOf(small);
  if (large == small) return Multiple::yes;
  std::optional<int64_t> a = constantOf(large), b = constantOf(small);
  if (a && b) return *a % *b == 0 ? Multiple::yes : Multiple::no;
  auto mul = large.getDefiningOp<arith::MulIOp>();
  if (!mul || depth == 0) return Multiple::no;
  bool isAny = llvm::any_of(mul->getOperands(), [&](Value factor) { return isMultiple(factor, small, depth - 1) != Multiple::no; });
  return isAny ? Multiple::likely : Multiple::no;
}

constexpr int64_t maxFactors = 8; // in the multiplications of a divisor

/// Returns the division in whose rows most divisions of its dividend are regular. Null: all rows are too short.
static Operation *mainDivision(llvm::ArrayRef<Division> divisions, int64_t chunk) {
  Operation *best = nullptr;
  int64_t maxCovered = 0;
  for (const Division &each : divisions) {
    Value divisor = each.op->getOperand(1);
    if (std::optional<int64_t> length = constantOf(divisor); length && *length < chunk) continue;
    int64_t covered = llvm::count_if(divisions, [&](const Division &other) {
      return other.op->getOperand(0) == each.op->getOperand(0) && isMultiple(other.op->getOperand(1), divisor, maxFactors) != Multiple::no;
    });
    if (covered > maxCovered) best = each.op, maxCovered = covered;
  }
  return best;
}

static Value wideScalar(Context &ctx, Value tile) {
  TileIndex origin;
  origin.at.assign(shapeOf(tile).size(), {ctx.zeroIndex, 0});
  return scalarToIndex(ctx, evaluateScalar(ctx, tile, origin));
}

/// Returns the strides in a row where all of `masks` hold.
static TileAnalysis::Strides stridesInRow(const Rows &rows, ValueRange masks) {
  TileAnalysis::Strides strides = rows.inside;
  for (Value mask : masks)
    for (size_t d = 0; d < shapeOf(mask).size(); ++d)
      strides[{mask, d}] = Stride{Stride::constant, 0};
  return strides;
}

/// Returns the masks of all loads that the tiles depend on.
static llvm::SmallVector<Value> masksOf(ValueRange tiles) {
  llvm::SmallVector<Value> masks;
  llvm::SmallVector<Value> work(tiles.begin(), tiles.end());
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value tile = work.pop_back_val();
    Operation *op = tile.getDefiningOp();
    if (!op || !isTile(tile) || !seen.insert(tile).second) continue;
    if (auto load = dyn_cast<LoadOp>(op); load && load.getMask()) masks.push_back(load.getMask());
    llvm::append_range(work, op->getOperands());
  }
  return masks;
}

static std::optional<Rows> planRows(Context &ctx, ValueRange tiles, int64_t vectorDim, int64_t chunk) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (vectorDim < 0 || chunk < 2 || ctx.fallback || ctx.packing) return std::nullopt;
  Divisions all = collectDivisions(ctx, tiles, vectorDim);
  llvm::ArrayRef<Division> divisions = all.found;
  Operation *main = mainDivision(divisions, chunk);
  if (!main) return std::nullopt;
  Rows rows;
  rows.dim = vectorDim;
  rows.dividend = main->getOperand(0);
  Value divisor = main->getOperand(1);
  if (!ctx.analysis->isExact(rows.dividend) || !ctx.analysis->isNotNegative(rows.dividend)) return std::nullopt;
  rows.constant = constantOf(divisor);
  rows.length = rows.constant ? constantIndex(b, *rows.constant) : wideScalar(ctx, divisor);
  // Strides belong to a tile wherever it is read: a dividend that occurs twice, m[:, None, :] and m[None, :, :], has two kinds of rows.
  auto isMain = [&](const Division &each) { return each.op == main; };
  rows.dims = llvm::find_if(divisions, isMain)->dims;
  for (const Division &each : divisions)
    if (each.op->getOperand(0) == rows.dividend && each.dims != rows.dims) return std::nullopt;
  for (const Division &each : divisions) {
    Multiple multiple = isMultiple(each.op->getOperand(1), divisor, maxFactors);
    if (each.op->getOperand(0) != rows.dividend || multiple == Multiple::no) continue;
    if (multiple == Multiple::likely) {
      Value larger = wideScalar(ctx, each.op->getOperand(1)), zero = constantIndex(b, 0);
      Value safe = arith::MaxSIOp::create(b, rows.length, constantIndex(b, 1));
      Value rest = arith::RemSIOp::create(b, larger, safe);
      rows.holds = logicalAnd(ctx, rows.holds, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, larger, zero));
      rows.holds = logicalAnd(ctx, rows.holds, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, zero));
    }
    rows.inside[{each.op->getResult(0), each.dim}] = Stride{Stride::constant, isRemainder(each.op) ? 1 : 0};
    if (isRemainder(each.op)) rows.outside[{each.op->getResult(0), each.dim}] = Stride{};
  }
  if (all.areComputed) return rows;
  // Stored tiles are read as they are, unless a row's first element determines the rest.
  TileAnalysis::Strides strides = stridesInRow(rows, masksOf(tiles));
  TileAnalysis::Strides *before = ctx.analysis->assumeStrides(&strides);
  bool isAnyRegular = llvm::any_of(all.stored, [&](auto &tile) {
    Stride stride = ctx.analysis->strideOf(tile.first, tile.second);
    return stride.isZero() || (stride.kind != Stride::other && !stride.isConditional() && getElementTypeOrSelf(tile.first).isInteger());
  });
  ctx.analysis->assumeStrides(before);
  return isAnyRegular ? std::optional(rows) : std::nullopt;
}

/// Returns the elements of a vector: indices loaded from memory are mostly uniform in a row.
static int64_t chunkInRow(Context &ctx, const Rows &rows, ValueRange tiles) {
  TileAnalysis::Strides strides = stridesInRow(rows, masksOf(tiles));
  auto isValue = [](Value tile) { return !isa<PointerType>(getElementTypeOrSelf(tile)); };
  llvm::SmallVector<Value> values(llvm::make_filter_range(tiles, isValue));
  if (values.empty()) return 0;
  TileAnalysis::Strides *before = ctx.analysis->assumeStrides(&strides);
  int64_t chunk = chunkFor(ctx, shapeOf(tiles.front()), rows.dim, values);
  ctx.analysis->assumeStrides(before);
  // Indices of stride 1 cost nothing, but they are stored in their full width.
  return std::min(chunk, std::max<int64_t>(2, ctx.target.vectorBytes / elementBytes(getElementTypeOrSelf(values.front()))));
}

/// True if rows consist of whole vectors, and are so short that one loop per row takes longer than one quotient per vector. The first row
/// must begin where a vector does, which `holds` tests at run time.
static bool areOfVectors(Context &ctx, Rows &rows, int64_t lanes) {
  constexpr int64_t maxVectors = 4;
  ImplicitLocOpBuilder &b = ctx.b;
  if (!rows.constant || *rows.constant % lanes != 0 || *rows.constant > maxVectors * lanes || !llvm::isPowerOf2_64(lanes)) return false;
  for (auto [d, dim] : llvm::enumerate(rows.dims)) {
    Stride stride = ctx.analysis->strideOf(rows.dividend, d);
    if (dim != rows.dim && (stride.kind != Stride::constant || stride.isConditional() || stride.amount % lanes != 0)) return false;
  }
  Value misaligned = arith::AndIOp::create(b, wideScalar(ctx, rows.dividend), constantIndex(b, lanes - 1));
  rows.holds = logicalAnd(ctx, rows.holds, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, misaligned, constantIndex(b, 0)));
  return true;
}

RowScope::RowScope(Context &ctx, ValueRange tiles, int64_t vectorDim, int64_t chunk, bool split)
    : ctx(ctx), lanes(chunk), savedRows(ctx.rows) {
  rows = planRows(ctx, tiles, vectorDim, chunk);
  if (rows) {
    int64_t wider = chunkInRow(ctx, *rows, tiles);
    if (wider > lanes && (!rows->constant || *rows->constant >= wider)) lanes = wider;
    rows->ofVectors = !split && areOfVectors(ctx, *rows, lanes);
    if (!rows->constant) {
      Value isLong = arith::CmpIOp::create(ctx.b, arith::CmpIPredicate::sge, rows->length, constantIndex(ctx.b, lanes));
      rows->holds = logicalAnd(ctx, rows->holds, isLong);
    }
  }
  ctx.rows = rows ? &*rows : nullptr;
  savedStrides = ctx.analysis->assumeStrides(rows ? &rows->outside : nullptr);
}

RowScope::~RowScope() {
  ctx.rows = savedRows;
  ctx.analysis->assumeStrides(savedStrides);
}

void forEachRow(Context &ctx, const TileIndex &tileIndex, Value to, ValueRange masks,
                llvm::function_ref<void(Value from, Value end)> body) {
  ImplicitLocOpBuilder &b = ctx.b;
  const Rows &rows = *ctx.rows;
  TileIndex origin;
  for (int64_t dim : rows.dims)
    origin.at.push_back(dim == rows.dim ? Index{ctx.zeroIndex, 0} : tileIndex.at[dim]);
  Value first = scalarToIndex(ctx, evaluateScalar(ctx, rows.dividend, origin)), one = constantIndex(b, 1);
  Value firstRow = arith::DivUIOp::create(b, first, rows.length);
  Value last = arith::SubIOp::create(b, arith::AddIOp::create(b, first, to), one);
  Value count = arith::AddIOp::create(b, arith::SubIOp::create(b, arith::DivUIOp::create(b, last, rows.length), firstRow), one);
  Value isAny = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, to, constantIndex(b, 0));
  count = arith::SelectOp::create(b, isAny, count, constantIndex(b, 0));
  Value start = arith::SubIOp::create(b, arith::MulIOp::create(b, firstRow, rows.length), first);
  TileAnalysis::Strides strides = stridesInRow(rows, masks);
  Index savedStart = ctx.rowStart, savedNext = ctx.rowNext;
  forLoop(ctx, constantIndex(b, 0), count, 1, [&](Value row) {
    Value from = arith::AddIOp::create(b, start, arith::MulIOp::create(b, row, rows.length));
    Value end = arith::MinSIOp::create(b, arith::AddIOp::create(b, from, rows.length), to);
    from = arith::MaxSIOp::create(b, from, constantIndex(b, 0));
    int64_t level = ctx.levels.size() - 1;
    ctx.rowStart = {from, level};
    Value lastOfRow = arith::SubIOp::create(b, end, one);
    ctx.rowNext = {arith::MinSIOp::create(b, arith::AddIOp::create(b, from, one), lastOfRow), level};
    TileAnalysis::Strides *outside = ctx.analysis->assumeStrides(&strides);
    body(from, end);
    ctx.analysis->assumeStrides(outside);
  });
  ctx.rowStart = savedStart;
  ctx.rowNext = savedNext;
}

void inVectorRows(Context &ctx, ValueRange masks, llvm::function_ref<void()> body) {
  TileAnalysis::Strides strides = stridesInRow(*ctx.rows, masks);
  TileAnalysis::Strides *outside = ctx.analysis->assumeStrides(&strides);
  ctx.isRowOfVector = true;
  body();
  ctx.isRowOfVector = false;
  ctx.analysis->assumeStrides(outside);
}

bool isOneInRow(Context &ctx, Value tile, int64_t dim, ValueRange masks) {
  if (!ctx.rows) return false;
  TileAnalysis::Strides strides = stridesInRow(*ctx.rows, masks);
  TileAnalysis::Strides *before = ctx.analysis->assumeStrides(&strides);
  bool result = ctx.analysis->strideOf(tile, dim).isZero();
  ctx.analysis->assumeStrides(before);
  return result;
}

bool isQuotientOfRow(Context &ctx, Operation *op) {
  if (!ctx.rows) return false;
  while (isa_and_nonnull<arith::DivSIOp, arith::RemSIOp>(op) && constantOf(op->getOperand(1)).value_or(0) > 0) {
    if (op->getOperand(0) == ctx.rows->dividend) return true;
    op = op->getOperand(0).getDefiningOp();
  }
  return false;
}

Value lanesInRow(Context &ctx, const TileIndex &tileIndex) {
  if (!ctx.rowEnd || tileIndex.vector < 0) return {};
  ImplicitLocOpBuilder &b = ctx.b;
  Value left = arith::SubIOp::create(b, ctx.rowEnd, tileIndex.at[tileIndex.vector].value);
  Value remaining = splat(b, arith::TruncIOp::create(b, b.getI32Type(), left), tileIndex.lanes);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, iota(b, b.getI32Type(), tileIndex.lanes, 1), remaining);
}

} // namespace tilewright::cpu
