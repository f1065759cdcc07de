// Lowers operations in program order. Scalars become scalars. A tile operation emits nothing unless its tile is stored; then its loops are
// emitted here, at its definition.

#include "cpu/operations.h"

#include "cpu/control_flow.h"
#include "cpu/debug_variables.h"
#include "cpu/evaluate.h"
#include "cpu/loop_nests.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

Type lowered(Context &ctx, Type type) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (isa<PointerType>(type)) return pointerType(b.getContext());
  return type;
}

Value scalar(Context &ctx, Value value) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto found = ctx.scalars.find(value);
  if (found != ctx.scalars.end()) return found->second;
  // A constant created by folding, or a tile of one element used as a scalar.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) return arith::ConstantOp::create(b, cast<TypedAttr>(constant.getValue()));
  bug(ctx, value.getDefiningOp() ? value.getDefiningOp() : ctx.kernel.getOperation(), "a scalar is used before it is lowered");
  return isa<FloatType>(value.getType()) ? constantFloat(b, value.getType(), 0) : constantIndex(b, 0);
}

Value scalarToIndex(Context &ctx, Value value) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (value.getType().isInteger(64)) return value;
  return arith::ExtSIOp::create(b, b.getI64Type(), value);
}

Value indexConstant(Context &ctx, int64_t value) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value &constant = ctx.indexConstants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(ctx.zeroIndex);
    constant = constantIndex(b, value);
  }
  return constant;
}

LogicalResult lowerBlock(Context &ctx, Block &block) {
  noteArguments(ctx, block);
  for (Operation &op : block) {
    ++ctx.currentNest;
    if (failed(lowerOp(ctx, &op)) || ctx.failedAny) return failure();
    noteVariables(ctx, &op);
  }
  return success();
}

static LogicalResult lowerScalar(Context &ctx, Operation *op) {
  ImplicitLocOpBuilder &b = ctx.b;
  if (auto load = dyn_cast<LoadOp>(op)) {
    Type element = lowered(ctx, load.getType());
    Type memory = isa<PointerType>(load.getType()) ? b.getI64Type() : element;
    int64_t bytes = elementBytes(memory);
    auto read = [&] {
      Value address = scalar(ctx, load.getPtr());
      if (isVolatileLoad(load)) emitCompilerBarrier(b);
      Value value = cpu::load(b, memory, address, bytes);
      if (isVolatileLoad(load)) emitBarrierAfterVolatileLoad(b, ctx.target);
      return memory == element ? value : intToPointer(b, value);
    };
    if (!load.getMask()) {
      ctx.scalars[load] = read();
      return success();
    }
    Value other;
    if (load.getOther())
      other = scalar(ctx, load.getOther());
    else if (isa<FloatType>(element))
      other = constantFloat(b, element, 0);
    else
      other = memory == element ? constantInt(b, element, 0) : intToPointer(b, constantIndex(b, 0));
    auto branch = scf::IfOp::create(b, TypeRange{element}, scalar(ctx, load.getMask()), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, read());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, other);
    ctx.scalars[load] = branch.getResult(0);
    return success();
  }
  if (auto add = dyn_cast<AddPtrOp>(op)) {
    Value offset = scalarToIndex(ctx, scalar(ctx, add.getOffset()));
    ctx.scalars[add] = pointerAt(b, scalar(ctx, add.getPtr()), offset, elementBytes(cast<PointerType>(add.getType()).getPointeeType()));
    return success();
  }
  // A program is one thread on a CPU, so a barrier inside it has nothing to wait for. Assumptions are hints.
  llvm::StringRef name = op->getName().getStringRef();
  if (op->getNumResults() == 0 && (isMemoryEffectFree(op) || name == "gpu.barrier" || name == "llvm.intr.assume")) return success();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0) {
    refuse(ctx, op, Diag::cpuOperation, op->getName().getStringRef().str());
    return failure();
  }
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = scalar(ctx, operand);
    operands.push_back(isa<PointerType>(operand.getType()) ? pointerToInt(b, value) : value);
  }
  Value result = emitElementwise(ctx, op, operands);
  if (isa<PointerType>(op->getResult(0).getType())) result = intToPointer(b, result);
  ctx.scalars[op->getResult(0)] = result;
  return ctx.failedAny ? failure() : success();
}

/// Emits the loops of a tile that is stored, although its operation can be computed on demand.
static LogicalResult storeResult(Context &ctx, Operation *op) {
  Value result = op->getResult(0);
  if (!ctx.analysis->isStored(result)) return success();
  auto carriedBuffer = carriedTarget(ctx, result, op);
  if (!carriedBuffer && isStoredByReduction(ctx, result)) {
    ctx.pending[result] = allocateFor(ctx, result);
    return success();
  }
  Buffer buffer = carriedBuffer ? *carriedBuffer : allocateFor(ctx, result);
  materialize(ctx, result, buffer);
  ctx.buffers[result] = buffer;
  return success();
}

/// Lowers a reshape, in row-major order: a view if the source has that order, otherwise a view of a copy that has it.
static void lowerReshape(Context &ctx, ReshapeOp reshape) {
  Buffer view = buffered(ctx, reshape.getSrc());
  int64_t expected = 1;
  bool rowMajor = true;
  auto shape = shapeOf(reshape.getSrc());
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    rowMajor &= shape[d] == 1 || view.strides[d] == expected;
    expected *= shape[d];
  }
  if (!rowMajor) {
    Buffer copy = allocateFor(ctx, reshape.getSrc());
    materialize(ctx, reshape.getSrc(), copy);
    view = copy;
  }
  auto to = shapeOf(reshape.getResult());
  view.strides.assign(to.size(), 1);
  for (int64_t d = int64_t(to.size()) - 2; d >= 0; --d)
    view.strides[d] = view.strides[d + 1] * to[d + 1];
  ctx.buffers[reshape] = view;
}

static void lowerSplit(Context &ctx, SplitOp split) {
  Buffer half = buffered(ctx, split.getSrc());
  int64_t last = half.strides.pop_back_val();
  ctx.buffers[split.getOutLHS()] = half;
  half.offset += last;
  ctx.buffers[split.getOutRHS()] = half;
}

static void lowerJoin(Context &ctx, JoinOp join) {
  Buffer joined = allocateFor(ctx, join.getResult()), half = joined;
  half.strides.pop_back();
  materialize(ctx, join.getLhs(), half);
  half.offset += 1;
  materialize(ctx, join.getRhs(), half);
  ctx.buffers[join] = joined;
}

static void lowerCat(Context &ctx, CatOp cat) {
  Buffer joined = allocateFor(ctx, cat.getResult()), half = joined;
  materialize(ctx, cat.getLhs(), half);
  half.offset += shapeOf(cat.getLhs())[0] * half.strides[0];
  materialize(ctx, cat.getRhs(), half);
  ctx.buffers[cat] = joined;
}

static void lowerUnsplat(Context &ctx, UnsplatOp unsplat) {
  TileIndex origin;
  origin.at.assign(shapeOf(unsplat.getSrc()).size(), {ctx.zeroIndex, 0});
  Value value = evaluateScalar(ctx, unsplat.getSrc(), origin);
  ctx.scalars[unsplat] = isa<PointerType>(unsplat.getType()) ? intToPointer(ctx.b, value) : value;
}

/// Emits scalars here. A splat is emitted where it is needed; other constant tiles are stored in scratch.
static void lowerConstant(Context &ctx, arith::ConstantOp constant) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense) {
    ctx.scalars[constant] = arith::ConstantOp::create(b, cast<TypedAttr>(constant.getValue()));
    return;
  }
  if (dense.isSplat()) return;
  Buffer buffer = allocateFor(ctx, constant);
  int64_t bytes = elementBytes(buffer.element);
  for (auto [i, element] : llvm::enumerate(dense.getValues<Attribute>()))
    cpu::store(b, arith::ConstantOp::create(b, cast<TypedAttr>(element)), pointerAtConstant(b, buffer.base, i * bytes), bytes, false);
  ctx.buffers[constant] = buffer;
}

LogicalResult lowerOp(Context &ctx, Operation *op) {
  llvm::SaveAndRestore root(ctx.root, op); // other operations may be lowered on behalf of this one
  LocationGuard guard(ctx.b, op->getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](GetProgramIdOp id) { return ctx.scalars[id] = ctx.programId[int64_t(id.getAxis())], success(); })
      .Case([&](GetNumProgramsOp count) { return ctx.scalars[count] = ctx.numPrograms[int64_t(count.getAxis())], success(); })
      .Case([&](StoreOp store) { return lowerStore(ctx, store), success(); })
      .Case([&](DotOp dot) { return lowerDot(ctx, dot), success(); })
      .Case([&](ReduceOp reduce) { return lowerReduce(ctx, reduce), success(); })
      .Case([&](ScanOp scan) { return lowerScan(ctx, scan), success(); })
      .Case([&](HistogramOp histogram) { return lowerHistogram(ctx, histogram), success(); })
      .Case([&](GatherOp gather) { return lowerGather(ctx, gather), success(); })
      .Case([&](SortOp sort) { return lowerSort(ctx, sort), success(); })
      .Case([&](MapElementwiseOp map) { return lowerMap(ctx, map), success(); })
      .Case([&](ElementwiseInlineAsmOp code) { return lowerAssembly(ctx, code), success(); })
      .Case<AtomicRMWOp, AtomicCASOp>([&](auto) { return lowerAtomic(ctx, op), success(); })
      .Case([&](PrintOp print) { return lowerPrint(ctx, print), success(); })
      .Case([&](AssertOp check) { return lowerAssert(ctx, check), success(); })
      .Case([&](scf::ForOp loop) { return lowerFor(ctx, loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(ctx, branch); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(ctx, loop); })
      .Case<scf::YieldOp, ReturnOp, scf::ConditionOp, MapElementwiseReturnOp>([](auto) { return success(); }) // their parents handle them
      .Case([&](ReshapeOp reshape) { return lowerReshape(ctx, reshape), success(); })
      .Case([&](SplitOp split) { return lowerSplit(ctx, split), success(); })
      .Case([&](JoinOp join) { return lowerJoin(ctx, join), success(); })
      .Case([&](CatOp cat) { return lowerCat(ctx, cat), success(); })
      .Case([&](UnsplatOp unsplat) { return lowerUnsplat(ctx, unsplat), success(); })
      .Case([&](arith::ConstantOp constant) { return lowerConstant(ctx, constant), success(); })
      .Default([&](Operation *other) {
        bool isTiled = other->getNumResults() == 1 && isTile(other->getResult(0));
        return isTiled ? storeResult(ctx, other) : lowerScalar(ctx, other);
      });
}

} // namespace tilewright::cpu
