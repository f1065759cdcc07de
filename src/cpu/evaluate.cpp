// Computes the value of a tile at an index, on demand.
//
// A value that is uniform along the vector dimension becomes one scalar. A value of constant stride becomes the scalar at index 0 and the
// stride. So `ptr + pid * 1024 + arange(0, 1024)` costs one address outside the loop and nothing inside. Code goes to the outermost loop
// level at which all needed indices are known. Elements that are pointers are i64 here.

#include "cpu/evaluate.h"

#include "cpu/conditions.h"
#include "cpu/fast_path.h"
#include "cpu/interleave.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/math.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "support/cpu.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static Type laneElement(Type element, MLIRContext *context) {
  return isa<PointerType>(element) ? Type(IntegerType::get(context, 64)) : element;
}

static bool isNarrowFloat(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
}

void refuse(Context &ctx, Operation *op, Diag id, const std::string &what) {
  if (!ctx.failedAny) tilewright::refuse(op, id, {what});
  ctx.failedAny = true;
}

void bug(Context &ctx, Operation *op, const std::string &what) {
  if (!ctx.failedAny) tilewright::bug(op, what);
  ctx.failedAny = true;
}

static int64_t levelOf(Context &ctx, Value tile, const TileIndex &tileIndex) {
  int64_t level = 0;
  auto shape = shapeOf(tile);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) level = std::max(level, tileIndex.at[d].level);
  return level;
}

static Lanes evaluateOp(Context &ctx, Operation *op, Value tile, const TileIndex &tileIndex);
static Lanes evaluateLoad(Context &ctx, LoadOp load, const TileIndex &tileIndex);
static Lanes readTile(Context &ctx, LoadOp load, const TileIndex &tileIndex);

/// True if a tile's strides depend on conditions of tiles in scratch. The root does not check those conditions: the tiles are stored.
static bool restsOnStored(Context &ctx, Value tile) {
  llvm::SmallVector<Value> work{tile};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!isTile(next) || !seen.insert(next).second) continue;
    bool isConditional = llvm::any_of(llvm::seq<int64_t>(0, int64_t(shapeOf(next).size())),
                                      [&](int64_t d) { return ctx.analysis->strideOf(next, d).isConditional(); });
    if (!isConditional) continue;
    if (ctx.buffers.contains(next)) return true;
    if (Operation *op = next.getDefiningOp()) llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// Evaluates a tile of one known stride along the vector: its first element and the stride. nullopt if it has none, or if a condition of
/// the stride may fail.
static std::optional<Lanes> evaluateMoving(Context &ctx, Value tile, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (tileIndex.vector < 0) return std::nullopt;
  Stride step = ctx.analysis->strideOf(tile, tileIndex.vector);
  Type element = getElementTypeOrSelf(tile);
  bool stepsHere = step.kind != Stride::other && (step.isZero() || element.isInteger() || isa<PointerType>(element)) &&
                   (!step.isConditional() || (ctx.assumeConditions && !restsOnStored(ctx, tile)));
  if (!stepsHere) return std::nullopt;
  TileIndex first = tileIndex;
  first.vector = -1, first.lanes = 1;
  bool isInRow = ctx.isRowOfVector || ctx.rowStart.value;
  bool ofRow = isInRow && ctx.analysis->needsAssumedStrides(tile, tileIndex.vector);
  Index start = !ofRow ? Index{ctx.zeroIndex, 0} : ctx.isRowOfVector ? tileIndex.at[tileIndex.vector] : ctx.rowStart;
  first.at[tileIndex.vector] = start;
  Value base = evaluateScalar(ctx, tile, first);
  if (step.isZero()) return Lanes{Lanes::uniform, base, 0, {}};
  Lanes lanes{Lanes::affine, base, step.amount, {}};
  if (step.kind != Stride::constant) {
    TileIndex second = first;
    second.at[tileIndex.vector] = !ofRow              ? Index{indexConstant(ctx, 1), 0}
                                  : ctx.isRowOfVector ? knownIndex(ctx, start.value, start.level, 1)
                                                      : ctx.rowNext;
    Value next = evaluateScalar(ctx, tile, second);
    lanes.uniformStride = scalarToIndex(ctx, arith::SubIOp::create(b, next, base));
  }
  if (!ofRow) return lanes;
  // The row is extended to the left with the same stride: its element at index 0 need not exist.
  Value stride = lanes.uniformStride ? lanes.uniformStride : constantIndex(b, step.amount);
  Value moved = arith::MulIOp::create(b, start.value, stride);
  if (base.getType() != moved.getType()) moved = arith::TruncIOp::create(b, base.getType(), moved);
  lanes.value = arith::SubIOp::create(b, base, moved);
  return lanes;
}

/// True if a mask is known to hold at an index, because the enclosing loops run only over indices where it does. Code hoisted out of all
/// loops is not protected by their bounds.
static bool holdsHere(Context &ctx, Value mask, int64_t level) {
  return ctx.trueMasks.contains(mask) && (level > 0 || (ctx.guarded && ctx.levels.size() == 1));
}

static std::vector<const void *> keyOf(Value tile, const TileIndex &tileIndex) {
  std::vector<const void *> key = {tile.getAsOpaquePointer(), reinterpret_cast<const void *>(tileIndex.vector),
                                   reinterpret_cast<const void *>(tileIndex.lanes)};
  for (const Index &index : tileIndex.at)
    key.push_back(index.value.getAsOpaquePointer());
  return key;
}

void remember(Context &ctx, Value tile, const TileIndex &tileIndex, Value vector) {
  ctx.levels[levelOf(ctx, tile, tileIndex)].memo[keyOf(tile, tileIndex)] = {Lanes::vector, vector, 0, {}};
  ctx.notes.computed.insert({tile.getDefiningOp(), ctx.root});
}

Lanes evaluate(Context &ctx, Value tile, const TileIndex &wanted) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (!isTile(tile)) {
    Value value = scalar(ctx, tile);
    if (isa<PointerType>(tile.getType())) value = pointerToInt(b, value);
    return {Lanes::uniform, value, 0, {}};
  }
  TileIndex tileIndex = wanted;
  auto shape = shapeOf(tile);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) {
      tileIndex.at[d] = {ctx.zeroIndex, 0};
      if (tileIndex.vector == int64_t(d)) tileIndex.vector = -1, tileIndex.lanes = 1;
    }

  int64_t level = levelOf(ctx, tile, tileIndex);
  if (holdsHere(ctx, tile, level)) return {Lanes::uniform, constantInt(b, b.getI1Type(), 1), 0, {}};
  // A tile at an index is computed once per level.
  std::vector<const void *> key;
  if (!ctx.levels.empty()) {
    key = keyOf(tile, tileIndex);
    auto &memo = ctx.levels[level].memo;
    auto found = memo.find(key);
    if (found != memo.end()) return found->second;
  }
  OpBuilder::InsertionGuard guard(b);
  bool outside = !ctx.levels.empty() && level + 1 < int64_t(ctx.levels.size());
  if (outside) b.setInsertionPoint(ctx.levels[level].inner);

  Lanes result;
  if (std::optional<Lanes> moving = evaluateMoving(ctx, tile, tileIndex)) {
    result = *moving;
  } else if (auto buffer = ctx.buffers.find(tile); buffer != ctx.buffers.end()) {
    result = readBuffer(ctx, buffer->second, getElementTypeOrSelf(tile), tileIndex);
  } else if (Operation *op = tile.getDefiningOp()) {
    LocationGuard ofItsLine(b, op->getLoc());
    result = evaluateOp(ctx, op, tile, tileIndex);
    if (tileIndex.vector >= 0) ctx.notes.computed.insert({op, ctx.root});
  } else {
    bug(ctx, ctx.kernel, "a tile is used before it is computed");
    result = {Lanes::uniform, constantIndex(b, 0), 0, {}};
  }
  if (!ctx.levels.empty()) ctx.levels[level].memo[key] = result;
  return result;
}

llvm::SmallVector<Value> evaluateAll(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices, Type element) {
  evaluateFastPaths(ctx, tile, tileIndices);
  llvm::SmallVector<Value> values;
  emitInterleaved(ctx.b, tileIndices.size(), [&](int64_t i) {
    Lanes lanes = evaluate(ctx, tile, tileIndices[i]);
    values.push_back(tileIndices[i].vector < 0 ? lanes.value : asVector(ctx, lanes, element, tileIndices[i]));
  });
  return values;
}

Value evaluateScalar(Context &ctx, Value tile, TileIndex tileIndex) {
  tileIndex.vector = -1;
  tileIndex.lanes = 1;
  // Outside loops, a value needed in several forms is also computed once: repeated `j + j` would double the code each time.
  bool alone = ctx.levels.empty();
  if (alone) ctx.levels.emplace_back();
  Value result = evaluate(ctx, tile, tileIndex).value;
  if (alone) ctx.levels.clear();
  return result;
}

Value asVector(Context &ctx, const Lanes &lanes, Type element, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (lanes.kind == Lanes::vector) return lanes.value;
  if (lanes.kind == Lanes::uniform) return splat(b, lanes.value, tileIndex.lanes);
  Type type = lanes.value.getType();
  auto fit = [&](Value index) -> Value {
    int64_t width = type.getIntOrFloatBitWidth();
    return width == 64 ? index : Value(arith::TruncIOp::create(b, type, index));
  };
  Value position = tileIndex.at[tileIndex.vector].value;
  if (lanes.uniformStride) {
    Value start = arith::AddIOp::create(b, lanes.value, fit(arith::MulIOp::create(b, position, lanes.uniformStride)));
    Value steps = arith::MulIOp::create(b, iota(b, type, tileIndex.lanes, 1), splat(b, fit(lanes.uniformStride), tileIndex.lanes));
    return arith::AddIOp::create(b, splat(b, start, tileIndex.lanes), steps);
  }
  Value moved = lanes.stride == 1 ? position : Value(arith::MulIOp::create(b, position, constantIndex(b, lanes.stride)));
  Value start = arith::AddIOp::create(b, lanes.value, fit(moved));
  return arith::AddIOp::create(b, splat(b, start, tileIndex.lanes), iota(b, type, tileIndex.lanes, lanes.stride));
}

static Lanes evaluateOp(Context &ctx, Operation *op, Value tile, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto uniform = [](Value value) { return Lanes{Lanes::uniform, value, 0, {}}; };
  Type element = getElementTypeOrSelf(tile);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    return uniform(arith::ConstantOp::create(b, cast<TypedAttr>(dense.getSplatValue<Attribute>())));
  }
  if (auto make = dyn_cast<SplatOp>(op)) {
    Value value = scalar(ctx, make.getSrc());
    return uniform(isa<PointerType>(element) ? pointerToInt(b, value) : value);
  }
  if (auto range = dyn_cast<MakeRangeOp>(op)) {
    Value index = arith::TruncIOp::create(b, b.getI32Type(), tileIndex.at[0].value);
    Value start = constantInt(b, b.getI32Type(), range.getStart());
    return uniform(range.getStart() == 0 ? index : Value(arith::AddIOp::create(b, index, start)));
  }
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    TileIndex source = tileIndex;
    source.at.erase(source.at.begin() + expand.getAxis());
    if (source.vector > int64_t(expand.getAxis())) --source.vector;
    return evaluate(ctx, expand.getSrc(), source);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) return evaluate(ctx, broadcast.getSrc(), tileIndex);
  if (auto trans = dyn_cast<TransOp>(op)) {
    TileIndex source = tileIndex;
    for (auto [d, s] : llvm::enumerate(trans.getOrder())) {
      source.at[s] = tileIndex.at[d];
      if (tileIndex.vector == int64_t(d)) source.vector = s;
    }
    return evaluate(ctx, trans.getSrc(), source);
  }
  if (auto load = dyn_cast<LoadOp>(op)) return evaluateLoad(ctx, load, tileIndex);

  llvm::SmallVector<Value> operands;
  bool vector = tileIndex.vector >= 0;
  Lanes lanes;
  for (Value operand : op->getOperands()) {
    lanes = evaluate(ctx, operand, tileIndex);
    operands.push_back(vector ? asVector(ctx, lanes, getElementTypeOrSelf(operand), tileIndex) : lanes.value);
  }
  bool isDivision = isa<arith::DivFOp, PreciseDivFOp>(op) && element.isF32() && vector;
  if (isDivision && lanes.kind == Lanes::uniform && ctx.target.vectorBytes == 64 && hasSlowDivision(ctx.target))
    return {Lanes::vector, divideBySame(b, operands[0], lanes.value), 0, {}};
  Value result = emitElementwise(ctx, op, operands);
  return {vector ? Lanes::vector : Lanes::uniform, result, 0, {}};
}

static Lanes evaluateLoad(Context &ctx, LoadOp load, const TileIndex &tileIndex) {
  if (!isVolatileLoad(load)) return readTile(ctx, load, tileIndex);
  emitCompilerBarrier(ctx.b);
  Lanes lanes = readTile(ctx, load, tileIndex);
  emitBarrierAfterVolatileLoad(ctx.b, ctx.target);
  return lanes;
}

/// Loads one element. Without a mask (null) unconditionally, else returns `otherwise` if the mask is false.
static Value readOne(Context &ctx, Type element, Value address, Value mask, Value otherwise) {
  ImplicitLocOpBuilder &b = ctx.b;
  int64_t bytes = elementBytes(element);
  if (!mask) return cpu::load(b, element, intToPointer(b, address), bytes);
  auto branch = scf::IfOp::create(b, TypeRange{element}, mask, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, cpu::load(b, element, intToPointer(b, address), bytes));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return branch.getResult(0);
}

static Lanes readTile(Context &ctx, LoadOp load, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type element = laneElement(getElementTypeOrSelf(load.getResult()), b.getContext());
  int64_t bytes = elementBytes(element);
  Value mask = load.getMask();
  bool always = !mask || holdsHere(ctx, mask, levelOf(ctx, load.getResult(), tileIndex));
  auto constantMask = [&](Value m) {
    APInt value;
    return m && matchPattern(m, m_ConstantInt(&value)) && value.isOne();
  };
  Lanes pointer = evaluate(ctx, load.getPtr(), tileIndex);
  Lanes maskLanes, other;
  if (!always) {
    maskLanes = evaluate(ctx, mask, tileIndex);
    always = maskLanes.kind == Lanes::uniform && constantMask(maskLanes.value);
    if (load.getOther()) other = evaluate(ctx, load.getOther(), tileIndex);
  }
  auto note = [&](Way reach) { ctx.notes.add({load, reach, tileIndex.lanes, !always, ctx.fallback, false}); };
  auto zero = [&]() -> Value { return isa<FloatType>(element) ? constantFloat(b, element, 0) : constantInt(b, element, 0); };
  if (tileIndex.vector < 0) {
    note(Way::one);
    Value otherwise = always ? Value() : load.getOther() ? other.value : zero();
    return {Lanes::uniform, readOne(ctx, element, pointer.value, always ? Value() : maskLanes.value, otherwise), 0, {}};
  }
  Type type = vectorOf(element, tileIndex.lanes);
  Value position = tileIndex.at[tileIndex.vector].value;
  Value maskVector = always ? Value() : asVector(ctx, maskLanes, b.getI1Type(), tileIndex);
  if (Value inRow = lanesInRow(ctx, tileIndex)) {
    maskVector = logicalAnd(ctx, maskVector, inRow);
    always = false;
  }
  Value otherVector;
  if (!always) otherVector = load.getOther() && other.value ? asVector(ctx, other, element, tileIndex) : splat(b, zero(), tileIndex.lanes);
  if (pointer.kind == Lanes::affine && !pointer.uniformStride && pointer.stride == bytes) {
    Value address = pointerAt(b, intToPointer(b, pointer.value), position, bytes);
    prefetchNextIteration(ctx, load, pointer.value, position);
    note(Way::contiguous);
    Value value = always ? cpu::load(b, type, address, bytes) : maskedLoad(b, type, address, maskVector, otherVector, bytes);
    return {Lanes::vector, value, 0, {}};
  }
  if (pointer.kind == Lanes::affine && always) {
    note(Way::strided);
    Value step = pointer.uniformStride ? pointer.uniformStride : constantIndex(b, pointer.stride);
    Value address = arith::AddIOp::create(b, pointer.value, arith::MulIOp::create(b, position, step));
    Value result = splat(b, zero(), tileIndex.lanes);
    for (int64_t lane = 0; lane < tileIndex.lanes; ++lane) {
      result = insertLane(b, result, cpu::load(b, element, intToPointer(b, address), bytes), lane);
      address = arith::AddIOp::create(b, address, step);
    }
    return {Lanes::vector, result, 0, {}};
  }
  note(Way::scattered);
  Value addresses = asVector(ctx, pointer, b.getI64Type(), tileIndex);
  return {Lanes::vector, gather(b, type, addresses, maskVector, otherVector, bytes), 0, {}};
}

Lanes readBuffer(Context &ctx, const Buffer &buffer, Type logical, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value address = bufferAddress(ctx, buffer, tileIndex);
  int64_t bytes = elementBytes(buffer.element);
  Type element = laneElement(logical, b.getContext());
  if (tileIndex.vector < 0) return {Lanes::uniform, convertTo(ctx, cpu::load(b, buffer.element, address, bytes), element), 0, {}};
  int64_t stride = buffer.strides[tileIndex.vector];
  Type type = vectorOf(buffer.element, tileIndex.lanes);
  if (Value inRow = lanesInRow(ctx, tileIndex)) {
    Value zeros = splat(b, arith::ConstantOp::create(b, b.getZeroAttr(buffer.element)), tileIndex.lanes);
    Value value;
    if (stride == 1) {
      value = maskedLoad(b, type, address, inRow, zeros, bytes);
    } else {
      Value all = arith::AddIOp::create(b, splat(b, pointerToInt(b, address), tileIndex.lanes),
                                        iota(b, b.getI64Type(), tileIndex.lanes, stride * bytes));
      value = gather(b, type, all, inRow, zeros, bytes);
    }
    return {Lanes::vector, convertTo(ctx, value, element), 0, {}};
  }
  if (stride == 1) return {Lanes::vector, convertTo(ctx, cpu::load(b, type, address, bytes), element), 0, {}};
  Value result;
  for (int64_t lane = 0; lane < tileIndex.lanes; ++lane) {
    Value value = cpu::load(b, buffer.element, pointerAtConstant(b, address, lane * stride * bytes), bytes);
    result = result ? insertLane(b, result, value, lane) : splat(b, value, tileIndex.lanes);
  }
  return {Lanes::vector, convertTo(ctx, result, element), 0, {}};
}

//===------------------------------------------------------------------------------------------------- elementwise, once

Value convertTo(Context &ctx, Value value, Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element) return value;
  if (from.isInteger() && element.isInteger() && from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, vectorOf(element, lanesOf(value.getType())), value); // int8 operands of a dot
  if (from.isF16() && element.isInteger(32)) return bf16Halves(b, ctx.target, value);
  if (!isa<FloatType>(from) || !isa<FloatType>(element)) return value;
  return convertFloat(b, ctx.target, value, element, false);
}

static std::optional<MathFunction> mathFunctionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<MathFunction>>(op)
      .Case([](math::ExpOp) { return MathFunction::exp; })
      .Case([](math::Exp2Op) { return MathFunction::exp2; })
      .Case([](math::ExpM1Op) { return MathFunction::expm1; })
      .Case([](math::LogOp) { return MathFunction::log; })
      .Case([](math::Log2Op) { return MathFunction::log2; })
      .Case([](math::Log10Op) { return MathFunction::log10; })
      .Case([](math::Log1pOp) { return MathFunction::log1p; })
      .Case([](math::SinOp) { return MathFunction::sin; })
      .Case([](math::CosOp) { return MathFunction::cos; })
      .Case([](math::TanhOp) { return MathFunction::tanh; })
      .Case([](math::ErfOp) { return MathFunction::erf; })
      .Case([](math::RsqrtOp) { return MathFunction::rsqrt; })
      .Case<math::SqrtOp, PreciseSqrtOp>([](auto) { return MathFunction::sqrt; })
      .Case([](math::FloorOp) { return MathFunction::floor; })
      .Case([](math::CeilOp) { return MathFunction::ceil; })
      .Case([](math::TruncOp) { return MathFunction::trunc; })
      .Case([](math::RoundEvenOp) { return MathFunction::rint; })
      .Case([](math::AbsFOp) { return MathFunction::abs; })
      .Case([](ExternElementwiseOp e) { return mathFunctionBySymbol(e.getSymbol()); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Recreates the operation with other operand and result types.
static Value recreate(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands, Type type) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().strref().starts_with("tt.")) state.addAttribute(attribute.getName(), attribute.getValue());
  return b.create(state)->getResult(0);
}

/// Emits integer division as the interpreter defines it. Division by zero gives all ones, and the dividend as the remainder; the smallest
/// integer divided by -1 wraps around. x86 would trap on both, and masked-off lanes often hold such operands: they divide by one instead.
static Value divideIntegers(Context &ctx, Operation *op, ValueRange operands, Type type, bool isSigned) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isSigned && isQuotientOfRow(ctx, op)) { // both numbers are non-negative: LLVM emits a shift or one multiplication
    if (isa<arith::DivSIOp>(op)) return arith::DivUIOp::create(b, operands[0], operands[1]);
    return arith::RemUIOp::create(b, operands[0], operands[1]);
  }
  Value dividend = operands[0], divisor = operands[1];
  APInt constant;
  DenseElementsAttr dense;
  auto isHarmless = [](const APInt &number) { return !number.isZero() && !number.isAllOnes(); };
  if ((matchPattern(divisor, m_ConstantInt(&constant)) && isHarmless(constant)) ||
      (matchPattern(divisor, m_Constant(&dense)) && dense.isSplat() && isHarmless(dense.getSplatValue<APInt>())))
    return recreate(b, op, operands, type);
  Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor, constantInt(b, type, 0)), unsafe = isZero;
  if (isSigned) {
    int64_t width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    Value smallest = constantInt(b, type, APInt::getSignedMinValue(width).getSExtValue());
    Value overflows = arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor, constantInt(b, type, -1)),
                                            arith::CmpIOp::create(b, arith::CmpIPredicate::eq, dividend, smallest));
    unsafe = arith::OrIOp::create(b, isZero, overflows);
  }
  Value safe = arith::SelectOp::create(b, unsafe, constantInt(b, type, 1), divisor);
  Value result = recreate(b, op, {dividend, safe}, type);
  Value byZero = isa<arith::RemSIOp, arith::RemUIOp>(op) ? dividend : constantInt(b, type, -1);
  return arith::SelectOp::create(b, isZero, byZero, result);
}

/// True for arithmetic that narrow floats do in fp32, rounding after each operation.
static bool isFloatArithmetic(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::RemFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::FPToSIOp, arith::FPToUIOp, ClampFOp, PreciseDivFOp, math::FmaOp>(
             op) ||
         mathFunctionOf(op);
}

/// Adds an offset to an address; addresses are integers here.
static Value emitAddPtr(ImplicitLocOpBuilder &b, AddPtrOp add, ValueRange operands, Type type) {
  Value offset = operands[1];
  if (getElementTypeOrSelf(offset.getType()).getIntOrFloatBitWidth() < 64) offset = arith::ExtSIOp::create(b, type, offset);
  auto pointer = cast<PointerType>(getElementTypeOrSelf(add.getPtr()));
  Value bytes = constantInt(b, type, elementBytes(pointer.getPointeeType()));
  return arith::AddIOp::create(b, operands[0], arith::MulIOp::create(b, offset, bytes));
}

static Value emitClamp(ImplicitLocOpBuilder &b, ClampFOp clamp, ValueRange operands) {
  if (clamp.getPropagateNan() == PropagateNan::ALL)
    return arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, operands[0], operands[1]), operands[2]);
  return arith::MinNumFOp::create(b, arith::MaxNumFOp::create(b, operands[0], operands[1]), operands[2]);
}

static Value emitAbs(ImplicitLocOpBuilder &b, Value x) {
  Value zero = constantInt(b, x.getType(), 0);
  Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, zero);
  return arith::SelectOp::create(b, negative, arith::SubIOp::create(b, zero, x), x);
}

/// The magnitude of an 8-bit float, by its bits: arithmetic would saturate an infinity. In formats with a single zero (FNUZ), the sign
/// alone is NaN.
static Value absoluteByte(ImplicitLocOpBuilder &b, Value x) {
  Type bytes = vectorOf(b.getI8Type(), lanesOf(x.getType()));
  Value bits = arith::BitcastOp::create(b, bytes, x), magnitude = arith::AndIOp::create(b, bits, constantInt(b, bytes, INT8_MAX));
  if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(getElementTypeOrSelf(x))) {
    Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, constantInt(b, bytes, INT8_MIN));
    magnitude = arith::SelectOp::create(b, isNan, bits, magnitude);
  }
  return arith::BitcastOp::create(b, x.getType(), magnitude);
}

/// Returns the upper half of the product of unsigned integers.
static Value emitMulHigh(ImplicitLocOpBuilder &b, Value x, Value y) {
  Type type = x.getType();
  int64_t width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Type wide = vectorOf(b.getIntegerType(2 * width), lanesOf(type));
  Value product = arith::MulIOp::create(b, arith::ExtUIOp::create(b, wide, x), arith::ExtUIOp::create(b, wide, y));
  Attribute shift = b.getIntegerAttr(getElementTypeOrSelf(wide), width);
  if (auto vector = dyn_cast<VectorType>(wide)) shift = DenseElementsAttr::get(vector, shift);
  return arith::TruncIOp::create(b, type, arith::ShRUIOp::create(b, product, arith::ConstantOp::create(b, cast<TypedAttr>(shift))));
}

/// Emits functions of floats, and operations of arith that also exist for vectors.
static Value emitOther(Context &ctx, Operation *op, ValueRange operands, Type type, Type computed) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (auto function = mathFunctionOf(op)) {
    bool bounded = (*function == MathFunction::exp || *function == MathFunction::exp2) && isNotPositive(op->getOperand(0), ctx.fpFusion);
    if (bounded) function = *function == MathFunction::exp ? MathFunction::expNotPositive : MathFunction::exp2NotPositive;
    return emitMath(b, ctx.target, *function, operands);
  }
  if (isa<arith::ArithDialect>(op->getDialect()) && op->getNumRegions() == 0 && op->getNumResults() == 1)
    return recreate(b, op, operands, isa<arith::SelectOp, arith::CmpFOp>(op) ? type : computed);
  refuse(ctx, op, Diag::cpuOperation, op->getName().getStringRef().str());
  Type element = getElementTypeOrSelf(type);
  return splat(b, isa<FloatType>(element) ? constantFloat(b, element, 0) : constantInt(b, element, 0), lanesOf(type));
}

/// Emits the operation on operands that are wide enough to compute with; `computed` is the type of the computation.
static Value emitWide(Context &ctx, Operation *op, llvm::SmallVector<Value> operands, Type type, Type computed) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto bits = [&](auto) { return operands[0].getType() == type ? operands[0] : Value(arith::BitcastOp::create(b, type, operands[0])); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp>([&](auto) {
        Value value = recreate(b, op, operands, computed);
        if (ctx.fpFusion)
          value.getDefiningOp()->setAttr("fastmath", arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract));
        return value;
      })
      .Case<arith::DivSIOp, arith::RemSIOp>([&](auto) { return divideIntegers(ctx, op, operands, type, true); })
      .Case<arith::DivUIOp, arith::RemUIOp>([&](auto) { return divideIntegers(ctx, op, operands, type, false); })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) { return recreate(b, op, operands, computed); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto convert) {
        bool isSigned = isa<arith::FPToSIOp>(op);
        Type element = getElementTypeOrSelf(type);
        IntegerBounds bounds = neededBounds(floatRange(convert.getIn()), element.getIntOrFloatBitWidth(), isSigned);
        return convertToInteger(b, operands[0], element, isSigned, bounds);
      })
      .Case<arith::BitcastOp, tt::BitcastOp>(bits)
      .Case<PtrToIntOp, IntToPtrOp>([&](auto) { return operands[0]; })
      .Case([&](AddPtrOp add) { return emitAddPtr(b, add, operands, type); })
      .Case([&](ClampFOp clamp) { return emitClamp(b, clamp, operands); })
      .Case([&](PreciseDivFOp) { return arith::DivFOp::create(b, operands[0], operands[1]); })
      .Case([&](math::FmaOp) { return fma(b, operands[0], operands[1], operands[2]); })
      .Case([&](math::AbsIOp) { return emitAbs(b, operands[0]); })
      .Case([&](MulhiUIOp) { return emitMulHigh(b, operands[0], operands[1]); })
      .Case([&](arith::ConstantOp constant) -> Value { return arith::ConstantOp::create(b, cast<TypedAttr>(constant.getValue())); })
      .Default([&](Operation *other) { return emitOther(ctx, other, operands, type, computed); });
}

Value emitElementwise(Context &ctx, Operation *op, ValueRange given) {
  ImplicitLocOpBuilder &b = ctx.b;
  llvm::SmallVector<Value> operands(given);
  Type element = laneElement(getElementTypeOrSelf(op->getResult(0)), b.getContext());
  int64_t lanes = operands.empty() ? 1 : lanesOf(operands.front().getType());
  Type type = vectorOf(element, lanes);
  if (isa<arith::ExtFOp, arith::TruncFOp, FpToFpOp>(op)) {
    auto convert = dyn_cast<FpToFpOp>(op);
    bool truncate = convert && convert.getRounding() && *convert.getRounding() == RoundingMode::RTZ;
    return convertFloat(b, ctx.target, operands[0], element, truncate);
  }
  if (isa<math::AbsFOp>(op) && element.getIntOrFloatBitWidth() == 8) return absoluteByte(b, operands[0]);
  if (isFloatArithmetic(op))
    for (Value &operand : operands)
      if (isNarrowFloat(getElementTypeOrSelf(operand.getType()))) operand = convertFloat(b, ctx.target, operand, b.getF32Type(), false);
  Value result = emitWide(ctx, op, operands, type, isNarrowFloat(element) ? vectorOf(b.getF32Type(), lanes) : type);
  if (result.getType() != type && isNarrowFloat(element)) result = convertFloat(b, ctx.target, result, element, false);
  return result;
}

llvm::SmallVector<Value> emitRegion(Context &ctx, Region &region, ValueRange args) {
  ImplicitLocOpBuilder &b = ctx.b;
  Block &block = region.front();
  llvm::DenseMap<Value, Value> map;
  for (auto [argument, value] : llvm::zip(block.getArguments(), args))
    map[argument] = value;
  int64_t lanes = lanesOf(args.front().getType());
  for (Operation &op : block.without_terminator()) {
    llvm::SmallVector<Value> operands;
    if (auto check = dyn_cast<AssertOp>(op)) {
      emitAssert(ctx, check, map.contains(check.getCondition()) ? map[check.getCondition()] : scalar(ctx, check.getCondition()));
      continue;
    }
    if (op.getNumRegions() != 0 || op.getNumResults() != 1) {
      refuse(ctx, &op, Diag::combineOperation, op.getName().getStringRef().str());
      return llvm::SmallVector<Value>(args.take_front(args.size() / 2));
    }
    for (Value operand : op.getOperands()) {
      auto found = map.find(operand);
      operands.push_back(found != map.end() ? found->second : splat(b, scalar(ctx, operand), lanes));
    }
    Value result = emitElementwise(ctx, &op, operands);
    if (isa<arith::ConstantOp>(op)) result = splat(b, result, lanes);
    map[op.getResult(0)] = result;
  }
  llvm::SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands()) {
    auto found = map.find(value);
    results.push_back(found != map.end() ? found->second : splat(b, scalar(ctx, value), lanes));
  }
  return results;
}

} // namespace tilewright::cpu
