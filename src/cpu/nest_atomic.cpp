// Atomic operations, printing and assertions, in index order. Assertions are vectorized, and so are adjacent atomic elements of a launch
// that runs alone.

#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "ir/location.h"
#include "support/host_names.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static LLVM::AtomicBinOp binaryOf(RMWOp op, bool isFloat) {
  switch (op) {
  case RMWOp::AND: return LLVM::AtomicBinOp::_and;
  case RMWOp::OR: return LLVM::AtomicBinOp::_or;
  case RMWOp::XOR: return LLVM::AtomicBinOp::_xor;
  case RMWOp::ADD: return LLVM::AtomicBinOp::add;
  case RMWOp::FADD: return LLVM::AtomicBinOp::fadd;
  case RMWOp::MAX: return isFloat ? LLVM::AtomicBinOp::fmax : LLVM::AtomicBinOp::max;
  case RMWOp::MIN: return isFloat ? LLVM::AtomicBinOp::fmin : LLVM::AtomicBinOp::min;
  case RMWOp::UMAX: return LLVM::AtomicBinOp::umax;
  case RMWOp::UMIN: return LLVM::AtomicBinOp::umin;
  case RMWOp::XCHG: return LLVM::AtomicBinOp::xchg;
  }
  return LLVM::AtomicBinOp::add;
}

static LLVM::AtomicOrdering orderingOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::RELAXED: return LLVM::AtomicOrdering::monotonic;
  case MemSemantic::ACQUIRE: return LLVM::AtomicOrdering::acquire;
  case MemSemantic::RELEASE: return LLVM::AtomicOrdering::release;
  case MemSemantic::ACQUIRE_RELEASE: return LLVM::AtomicOrdering::acq_rel;
  }
  return LLVM::AtomicOrdering::acq_rel;
}

namespace {
/// An atomic operation of either kind.
struct Atomic {
  explicit Atomic(Operation *op) : rmw(dyn_cast<AtomicRMWOp>(op)), cas(dyn_cast<AtomicCASOp>(op)), result(op->getResult(0)) {
    pointer = rmw ? rmw.getPtr() : cas.getPtr();
    if (rmw)
      mask = rmw.getMask(), operands = {rmw.getVal()};
    else
      operands = {cas.getCmp(), cas.getVal()};
  }
  AtomicRMWOp rmw;
  AtomicCASOp cas;
  Value pointer, mask, result;
  llvm::SmallVector<Value, 2> operands;
};
} // namespace

/// Compares bits: floats are passed as integers of their width.
static Value exchange(ImplicitLocOpBuilder &b, AtomicCASOp cas, Value address, Value expected, Value desired) {
  Type type = expected.getType();
  Type bits = isa<FloatType>(type) ? Type(b.getIntegerType(type.getIntOrFloatBitWidth())) : type;
  if (bits != type) {
    expected = arith::BitcastOp::create(b, bits, expected);
    desired = arith::BitcastOp::create(b, bits, desired);
  }
  LLVM::AtomicOrdering order = orderingOf(cas.getSem());
  LLVM::AtomicOrdering failure = order == LLVM::AtomicOrdering::acq_rel || order == LLVM::AtomicOrdering::acquire
                                     ? LLVM::AtomicOrdering::acquire
                                     : LLVM::AtomicOrdering::monotonic;
  Value pair = LLVM::AtomicCmpXchgOp::create(b, address, expected, desired, order, failure);
  Value before = LLVM::ExtractValueOp::create(b, pair, llvm::ArrayRef<int64_t>{0});
  return bits == type ? before : Value(arith::BitcastOp::create(b, type, before));
}

static Value combined(ImplicitLocOpBuilder &b, RMWOp op, Value before, Value operand) {
  bool isFloat = isa<FloatType>(operand.getType());
  switch (op) {
  case RMWOp::AND: return arith::AndIOp::create(b, before, operand);
  case RMWOp::OR: return arith::OrIOp::create(b, before, operand);
  case RMWOp::XOR: return arith::XOrIOp::create(b, before, operand);
  case RMWOp::ADD: return arith::AddIOp::create(b, before, operand);
  case RMWOp::FADD: return arith::AddFOp::create(b, before, operand);
  case RMWOp::MAX: return isFloat ? Value(arith::MaxNumFOp::create(b, before, operand)) : arith::MaxSIOp::create(b, before, operand);
  case RMWOp::MIN: return isFloat ? Value(arith::MinNumFOp::create(b, before, operand)) : arith::MinSIOp::create(b, before, operand);
  case RMWOp::UMAX: return arith::MaxUIOp::create(b, before, operand);
  case RMWOp::UMIN: return arith::MinUIOp::create(b, before, operand);
  case RMWOp::XCHG: return operand;
  }
  return operand;
}

/// For a launch that runs alone: updates adjacent elements, which are all distinct.
static void updateVector(Context &ctx, Atomic &atomic, Value address, Value operand, Value mask) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type type = operand.getType(), element = getElementTypeOrSelf(type);
  int64_t bytes = elementBytes(element);
  emitCompilerBarrier(b);
  Value before =
      mask ? maskedLoad(b, type, address, mask, splat(b, arith::ConstantOp::create(b, b.getZeroAttr(element)), lanesOf(type)), bytes)
           : cpu::load(b, type, address, bytes);
  Type wide = isa<FloatType>(element) && bytes < 4 ? Type(b.getF32Type()) : element;
  Value after = combined(b, atomic.rmw.getAtomicRmwOp(), convertTo(ctx, before, wide), convertTo(ctx, operand, wide));
  after = convertTo(ctx, after, element);
  mask ? maskedStore(b, after, address, mask, bytes) : cpu::store(b, after, address, bytes, false);
  emitCompilerBarrier(b);
}

/// For a launch that runs alone. Accesses stay atomic, one element each, so LLVM neither merges nor moves them; on x86 they cost no more.
static void updatePlainly(Context &ctx, Atomic &atomic, Value address, Value operand) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type type = operand.getType();
  auto bytes = static_cast<unsigned>(elementBytes(type));
  Value before = LLVM::LoadOp::create(b, type, address, bytes, /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
                                      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
  Type wide = isa<FloatType>(type) && bytes < 4 ? Type(b.getF32Type()) : type;
  Value after = combined(b, atomic.rmw.getAtomicRmwOp(), convertTo(ctx, before, wide), convertTo(ctx, operand, wide));
  LLVM::StoreOp::create(b, convertTo(ctx, after, type), address, bytes, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false, LLVM::AtomicOrdering::release);
}

/// Updates one element; returns the old value.
static Value update(ImplicitLocOpBuilder &b, Atomic &atomic, Value address, llvm::ArrayRef<Value> operands) {
  if (atomic.cas) return exchange(b, atomic.cas, address, operands[0], operands[1]);
  bool isFloat = isa<FloatType>(operands[0].getType());
  LLVM::AtomicBinOp operation = binaryOf(atomic.rmw.getAtomicRmwOp(), isFloat);
  return LLVM::AtomicRMWOp::create(b, operation, address, operands[0], orderingOf(atomic.rmw.getSem()));
}

static void lowerScalarAtomic(Context &ctx, Atomic &atomic) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallVector<Value> operands;
  for (Value operand : atomic.operands)
    operands.push_back(scalar(ctx, operand));
  Value address = scalar(ctx, atomic.pointer);
  if (!atomic.mask) {
    ctx.scalars[atomic.result] = update(b, atomic, address, operands);
    return;
  }
  Type type = operands[0].getType();
  Value zero = isa<FloatType>(type) ? constantFloat(b, type, 0) : constantInt(b, type, 0);
  auto branch = scf::IfOp::create(b, TypeRange{type}, scalar(ctx, atomic.mask), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, update(b, atomic, address, operands));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, zero);
  ctx.scalars[atomic.result] = branch.getResult(0);
}

/// Prefetches scattered addresses for writing. A cache line may be far away, or belong to another core. A prefetch some elements earlier
/// brings it in time for the operation. Otherwise each operation would wait for its line, because it waits for the previous one. (Zen 5,
/// additions of fp32 to tables of 2^24 and 2^20, ns each: one thread 14.1 and 6.2 without, 5.8 and 5.7 with it, two threads 45.7
/// and 20.3, 8.5 and 9.6; distance 16 8.2 and 5.8, 18 and 11.8; distance 128 6.5 and 6.2, 12.6 and 11.4.)
static void prefetchAtomics(Context &ctx, Atomic &atomic, const TileIndex &tileIndex) {
  constexpr int64_t prefetchDistance = 48;
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(atomic.pointer);
  int64_t last = int64_t(shape.size()) - 1;
  if (shape[last] <= prefetchDistance || ctx.analysis->strideOf(atomic.pointer, last).kind != Stride::other) return;
  TileIndex later = tileIndex;
  Value index = arith::AddIOp::create(b, tileIndex.at[last].value, constantIndex(b, prefetchDistance));
  later.at[last].value = arith::MinSIOp::create(b, index, constantIndex(b, shape[last] - 1));
  Value address = intToPointer(b, evaluateScalar(ctx, atomic.pointer, later));
  LLVM::Prefetch::create(b, address, /*rw=*/1, /*hint=*/3, /*cache=*/1);
}

Atomics atomicsOf(FuncOp kernel) {
  bool hasAny = false, isPlain = kernel.getBody().hasOneBlock();
  kernel.walk([&](Operation *op) {
    auto rmw = dyn_cast<AtomicRMWOp>(op);
    hasAny |= rmw || isa<AtomicCASOp>(op);
    isPlain &= !isa<AtomicCASOp, scf::WhileOp>(op); // those may wait for another program
    if (rmw) isPlain &= rmw.use_empty() && rmw.getScope() != MemSyncScope::SYSTEM && getElementTypeOrSelf(rmw.getVal()).isIntOrFloat();
  });
  return !hasAny ? Atomics::none : isPlain ? Atomics::plain : Atomics::locked;
}

constexpr int64_t aloneOffset = -int64_t(sizeof(ArenaHead::alone)); // before scratch

void recordIsAlone(ImplicitLocOpBuilder &b, Value arena, Value scratch) {
  int64_t bytes = sizeof(ArenaHead::alone);
  Value alone = cpu::load(b, b.getI64Type(), pointerAtConstant(b, arena, offsetof(ArenaHead, alone)), bytes);
  cpu::store(b, alone, pointerAtConstant(b, scratch, aloneOffset), bytes, false);
}

/// Updates all elements of a tile. `alone`: no other thread changes that memory meanwhile.
static void updateTile(Context &ctx, Atomic &atomic, const std::optional<Buffer> &buffer, bool alone) {
  ImplicitLocOpBuilder &b = ctx.b;
  LoopSpec spec = loopsOver(shapeOf(atomic.pointer), -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        const TileIndex &tileIndex = tileIndices[0];
        prefetchAtomics(ctx, atomic, tileIndex);
        Value address = intToPointer(b, evaluateScalar(ctx, atomic.pointer, tileIndex));
        llvm::SmallVector<Value> operands;
        for (Value operand : atomic.operands)
          operands.push_back(evaluateScalar(ctx, operand, tileIndex));
        OpBuilder::InsertionGuard guard(b);
        if (atomic.mask) {
          auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(ctx, atomic.mask, tileIndex), false);
          b.setInsertionPointToStart(branch.thenBlock());
        }
        if (alone) return updatePlainly(ctx, atomic, address, operands[0]);
        Value before = update(b, atomic, address, operands);
        if (buffer) storeChunk(ctx, *buffer, before, tileIndex);
      },
      -1);
}

/// Calls `body` for each element of a vector, in a loop of its own: values that only the elements need are computed at that level.
static void forEachLane(Context &ctx, const TileIndex &tileIndex, llvm::function_ref<void(const TileIndex &)> body) {
  if (tileIndex.vector < 0) return body(tileIndex);
  Value position = tileIndex.at[tileIndex.vector].value, lanes = constantIndex(ctx.b, tileIndex.lanes);
  if (ctx.rowEnd) lanes = arith::MinSIOp::create(ctx.b, lanes, arith::SubIOp::create(ctx.b, ctx.rowEnd, position));
  forLoop(ctx, constantIndex(ctx.b, 0), lanes, 1, [&](Value lane) {
    TileIndex one = tileIndex;
    one.vector = -1, one.lanes = 1;
    one.at[tileIndex.vector] = {arith::AddIOp::create(ctx.b, position, lane), int64_t(ctx.levels.size()) - 1};
    body(one);
  });
}

/// Returns the last dimension with several elements; -1: none.
static int64_t lastDimOf(llvm::ArrayRef<int64_t> shape) {
  int64_t dim = int64_t(shape.size()) - 1;
  while (dim >= 0 && shape[dim] == 1)
    --dim;
  return dim;
}

static void updateElement(Context &ctx, Atomic &atomic, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value address = intToPointer(b, evaluateScalar(ctx, atomic.pointer, tileIndex));
  Value operand = evaluateScalar(ctx, atomic.operands[0], tileIndex);
  OpBuilder::InsertionGuard guard(b);
  if (atomic.mask && !ctx.trueMasks.contains(atomic.mask)) {
    auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(ctx, atomic.mask, tileIndex), false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  updatePlainly(ctx, atomic, address, operand);
}

/// For a launch that runs alone: updates adjacent elements as vectors, in index order.
static void updateVectors(Context &ctx, Atomic &atomic, int64_t vectorDim, int64_t chunk) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value operand = atomic.operands[0];
  Type element = getElementTypeOrSelf(operand);
  LoopSpec spec = loopsOver(shapeOf(atomic.pointer), vectorDim, chunk);
  applyMasks(ctx, spec, {operand}, atomic.mask);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<TileIndex> tileIndices) {
        for (const TileIndex &tileIndex : tileIndices) {
          Lanes to = evaluate(ctx, atomic.pointer, tileIndex);
          if (tileIndex.vector < 0 || to.kind != Lanes::affine || to.uniformStride || to.stride != elementBytes(element)) {
            forEachLane(ctx, tileIndex, [&](const TileIndex &one) { updateElement(ctx, atomic, one); });
            continue;
          }
          bool always = !atomic.mask || ctx.trueMasks.contains(atomic.mask);
          Value mask = always ? Value() : asVector(ctx, evaluate(ctx, atomic.mask, tileIndex), b.getI1Type(), tileIndex);
          mask = logicalAnd(ctx, mask, lanesInRow(ctx, tileIndex));
          Value values = asVector(ctx, evaluate(ctx, operand, tileIndex), element, tileIndex);
          Value address = pointerAt(b, intToPointer(b, to.value), tileIndex.at[vectorDim].value, elementBytes(element));
          updateVector(ctx, atomic, address, values, mask);
        }
      },
      vectorDim);
}

/// Updates a tile of a launch that runs alone.
static void updateAlone(Context &ctx, Atomic &atomic) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(atomic.pointer);
  int64_t vectorDim = lastDimOf(shape), chunk = chunkFor(ctx, shape, vectorDim, {atomic.operands[0]});
  if (vectorDim < 0 || getElementTypeOrSelf(atomic.operands[0]).isInteger(1)) return updateTile(ctx, atomic, {}, true);
  llvm::SmallVector<Value> tiles = {atomic.operands[0], atomic.pointer};
  if (atomic.mask) tiles.push_back(atomic.mask);
  RowScope split(ctx, tiles, vectorDim, chunk);
  chunk = split.chunk();
  Stride stride = ctx.analysis->strideOf(atomic.pointer, vectorDim);
  bool isAdjacent = stride.hasAmount(elementBytes(getElementTypeOrSelf(atomic.operands[0])));
  if (!ctx.rows && !isAdjacent) return updateTile(ctx, atomic, {}, true);
  Value holds = logicalAnd(ctx, conditions(ctx, tiles, vectorDim), masksExactly(ctx, atomic.mask, shape));
  if (!holds) return updateVectors(ctx, atomic, vectorDim, chunk);
  auto branch = scf::IfOp::create(b, TypeRange{}, holds, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  bool before = std::exchange(ctx.assumeConditions, true);
  updateVectors(ctx, atomic, vectorDim, chunk);
  ctx.assumeConditions = before;
  b.setInsertionPointToStart(branch.elseBlock());
  updateTile(ctx, atomic, {}, true);
}

void lowerAtomic(Context &ctx, Operation *op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Atomic atomic(op);
  if (!isTile(atomic.pointer)) return lowerScalarAtomic(ctx, atomic);
  std::optional<Buffer> buffer;
  if (!atomic.result.use_empty()) buffer = allocateFor(ctx, atomic.result);
  if (ctx.atomics == Atomics::plain) {
    Value alone = cpu::load(b, b.getI64Type(), pointerAtConstant(b, ctx.arena, aloneOffset), sizeof(ArenaHead::alone));
    Value isAlone = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, alone, constantIndex(b, 0));
    auto branch = scf::IfOp::create(b, TypeRange{}, isAlone, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    updateAlone(ctx, atomic);
    b.setInsertionPointToStart(branch.elseBlock());
    updateTile(ctx, atomic, buffer, false);
  } else {
    updateTile(ctx, atomic, buffer, false);
  }
  if (buffer) ctx.buffers[atomic.result] = *buffer;
}

static std::string extentsText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += "," + std::to_string(size);
  return text + ";";
}

void lowerPrint(Context &ctx, PrintOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto call = [&](const std::string &format, Value element, Value bits) {
    callFunction(b, hostNames.print, {}, {ctx.programId[0], ctx.programId[1], ctx.programId[2], constantText(b, format), element, bits});
  };
  Value zero = constantIndex(b, 0);
  if (op.getArgs().empty()) return call("n-0;" + op.getPrefix().str(), zero, zero);
  for (auto [number, tile] : llvm::enumerate(op.getArgs())) {
    Type element = getElementTypeOrSelf(tile);
    bool isPointer = isa<PointerType>(element), isFloat = isa<FloatType>(element);
    int64_t width = isPointer ? 64 : element.getIntOrFloatBitWidth();
    bool isSigned = number < op.getIsSigned().size() && op.getIsSigned()[number] > 0;
    std::string format(1, isPointer ? 'p' : isFloat ? 'f' : isSigned ? 'i' : 'u');
    if (isFloat && op.getHex()) format = "u";
    format += (op.getHex() ? "x" : "-") + std::to_string(width) + extentsText(shapeOf(tile)) + op.getPrefix().str();
    auto bitsOf = [&](Value value) -> Value {
      if (isFloat && !op.getHex()) {
        if (width < 32) value = convertTo(ctx, value, b.getF32Type());
        if (width < 64) value = arith::ExtFOp::create(b, b.getF64Type(), value);
        return arith::BitcastOp::create(b, b.getI64Type(), value);
      }
      if (isFloat) value = arith::BitcastOp::create(b, b.getIntegerType(width), value);
      return value.getType().isInteger(64) ? value : Value(arith::ExtUIOp::create(b, b.getI64Type(), value));
    };
    if (!isTile(tile)) {
      Value value = scalar(ctx, tile);
      call(format, zero, bitsOf(isPointer ? pointerToInt(b, value) : value));
      continue;
    }
    forEachElement(ctx, shapeOf(tile),
                   [&](const TileIndex &tileIndex, Value index) { call(format, index, bitsOf(evaluateScalar(ctx, tile, tileIndex))); });
  }
}

/// Returns the report of a failed assertion before its element: the tile's extents, the location and the message.
static std::string assertText(AssertOp op) {
  std::string where;
  if (FileLineColLoc at = locationOf(op->getLoc()))
    where = at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" + std::to_string(at.getColumn());
  Value condition = op.getCondition();
  return (isTile(condition) ? extentsText(shapeOf(condition)) : ";") + where + "\n" + op.getMessage().str();
}

static void reportUnless(Context &ctx, Value holds, Value element, const std::string &text) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!holds.getType().isInteger(1)) holds = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, holds, constantInt(b, holds.getType(), 0));
  auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, holds, constantInt(b, b.getI1Type(), 1)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  callFunction(b, hostNames.assertFailed, {}, {ctx.programId[0], ctx.programId[1], ctx.programId[2], constantText(b, text), element});
}

/// Tests all elements at an index; tests them one by one only if one of them is false.
static void assertAt(Context &ctx, Value condition, const std::string &text, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(condition);
  auto reportOne = [&](const TileIndex &one) {
    Value element = constantIndex(b, 0);
    for (size_t d = 0; d < shape.size(); ++d)
      element = arith::AddIOp::create(b, arith::MulIOp::create(b, element, constantIndex(b, shape[d])), one.at[d].value);
    reportUnless(ctx, evaluateScalar(ctx, condition, one), element, text);
  };
  if (tileIndex.vector < 0) return reportOne(tileIndex);
  Lanes lanes = evaluate(ctx, condition, tileIndex);
  Value holds = lanes.kind == Lanes::uniform ? lanes.value : asVector(ctx, lanes, getElementTypeOrSelf(condition), tileIndex);
  if (!getElementTypeOrSelf(holds.getType()).isInteger(1))
    holds = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, holds, constantInt(b, holds.getType(), 0));
  if (isa<VectorType>(holds.getType())) {
    Type bits = b.getIntegerType(static_cast<unsigned>(tileIndex.lanes));
    Value all = constantInt(b, holds.getType(), 1);
    if (Value inRow = lanesInRow(ctx, tileIndex)) holds = arith::OrIOp::create(b, holds, arith::XOrIOp::create(b, inRow, all));
    holds = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, reinterpret(b, bits, holds), constantInt(b, bits, -1));
  }
  auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, holds, constantInt(b, b.getI1Type(), 1)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  ctx.levels.back().inner = branch;
  ctx.levels.emplace_back();
  forEachLane(ctx, tileIndex, reportOne);
  ctx.levels.pop_back();
  ctx.levels.back().inner = nullptr;
}

namespace {
/// `condition | ~mask`: an assertion about the elements that a mask admits.
struct MaskedAssertion {
  Value condition;
  Value mask; // null: none, or a mask that does not hold for the first indices of each dimension
};
} // namespace

static MaskedAssertion maskedAssertion(Context &ctx, Value condition) {
  auto either = condition.getDefiningOp<arith::OrIOp>();
  if (!either || !getElementTypeOrSelf(condition).isInteger(1)) return {condition, {}};
  for (auto [first, second] : {std::pair(either.getLhs(), either.getRhs()), std::pair(either.getRhs(), either.getLhs())}) {
    auto negation = second.getDefiningOp<arith::XOrIOp>();
    if (!negation || !matchPattern(negation.getRhs(), m_One())) continue;
    llvm::SmallVector<BoxTerm> terms;
    auto isPrefix = [](const BoxTerm &term) { return !term.lower && !term.mayWrap && term.dim >= 0; };
    if (ctx.analysis->box(negation.getLhs(), terms) && llvm::all_of(terms, isPrefix)) return {first, negation.getLhs()};
  }
  return {condition, {}};
}

void lowerAssert(Context &ctx, AssertOp op) {
  Value condition = op.getCondition();
  std::string text = assertText(op);
  if (!isTile(condition)) return reportUnless(ctx, scalar(ctx, condition), constantIndex(ctx.b, 0), text);
  auto shape = shapeOf(condition);
  MaskedAssertion masked = maskedAssertion(ctx, condition);
  int64_t vectorDim = lastDimOf(shape), chunk = chunkFor(ctx, shape, vectorDim, {condition});
  RowScope split(ctx, {condition}, vectorDim, chunk, /*split=*/true);
  withConditions(ctx, {condition}, vectorDim, [&] {
    LoopSpec spec = loopsOver(shape, vectorDim, split.chunk());
    applyMasks(ctx, spec, {masked.condition}, masked.mask);
    spec.onceInRow = isOneInRow(ctx, masked.condition, vectorDim, spec.fullMasks);
    auto assertAll = [&](llvm::ArrayRef<TileIndex> tileIndices) {
      bool isAdmitted = masked.mask && ctx.trueMasks.contains(masked.mask);
      for (const TileIndex &tileIndex : tileIndices)
        assertAt(ctx, isAdmitted ? masked.condition : condition, text, tileIndex);
    };
    emitLoops(ctx, spec, assertAll, vectorDim);
  });
}

void emitAssert(Context &ctx, AssertOp op, Value holds) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (int64_t lanes = lanesOf(holds.getType()); isa<VectorType>(holds.getType())) {
    Type bits = b.getIntegerType(static_cast<unsigned>(lanes));
    holds = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, reinterpret(b, bits, holds), constantInt(b, bits, -1));
  }
  reportUnless(ctx, holds, constantIndex(b, 0), assertText(op));
}

} // namespace tilewright::cpu
