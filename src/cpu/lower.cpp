// Operations in program order, and control flow.
//
// Scalars become scalars. A tile operation emits nothing unless its tile is stored; then its loops stand here, where it is defined. A tile
// that a loop carries lives in one buffer, updated in place where nothing reads the old value any more.

#include "cpu/lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

Lowering::Lowering(ModuleOp module, const CpuTarget &target, bool fpFusion)
    : module(module), target(target), fpFusion(fpFusion), b(module.getLoc(), module.getContext()) {}

Type Lowering::lowered(Type type) {
  if (isa<PointerType>(type)) return pointerType(b.getContext());
  return type;
}

Value Lowering::scalar(Value value) {
  auto found = scalars.find(value);
  if (found != scalars.end()) return found->second;
  // A constant made by folding, or a tile of one element where a scalar is meant.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) return arith::ConstantOp::create(b, cast<TypedAttr>(constant.getValue()));
  refuse(value.getDefiningOp() ? value.getDefiningOp() : kernel.getOperation(),
         "a value of type " + llvm::Twine(value.getDefiningOp() ? "" : "argument") + " is used before it is lowered by the cpu back end");
  return isa<FloatType>(value.getType()) ? constantFloat(b, value.getType(), 0) : constantIndex(b, 0);
}

Value Lowering::scalarToIndex(Value value) {
  if (value.getType().isInteger(64)) return value;
  return arith::ExtSIOp::create(b, b.getI64Type(), value);
}

Value Lowering::indexConstant(int64_t value) {
  Value &constant = indexConstants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(zeroIndex);
    constant = constantIndex(b, value);
  }
  return constant;
}

LogicalResult Lowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    ++currentRoot;
    if (failed(lowerOp(&op)) || failedAny) return failure();
  }
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op) {
  b.setLoc(op->getLoc());
  // Stored tiles of on-demand operations: their loops stand at the definition.
  auto storeResult = [&](Operation *o) {
    Value result = o->getResult(0);
    if (!analysis->isStored(result)) return success();
    auto carriedBuffer = carriedTarget(result, o);
    if (!carriedBuffer && isStoredByReduction(result)) {
      pending[result] = allocateFor(result);
      return success();
    }
    Buffer buffer = carriedBuffer ? *carriedBuffer : allocateFor(result);
    materialize(result, buffer);
    buffers[result] = buffer;
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](GetProgramIdOp id) {
        scalars[id] = programId[int64_t(id.getAxis())];
        return success();
      })
      .Case([&](GetNumProgramsOp count) {
        scalars[count] = numPrograms[int64_t(count.getAxis())];
        return success();
      })
      .Case([&](StoreOp store) { return lowerStore(store), success(); })
      .Case([&](DotOp dot) { return lowerDot(dot), success(); })
      .Case([&](ReduceOp reduce) { return lowerReduce(reduce), success(); })
      .Case([&](ScanOp scan) { return lowerScan(scan), success(); })
      .Case([&](HistogramOp histogram) { return lowerHistogram(histogram), success(); })
      .Case([&](GatherOp gather) { return lowerGather(gather), success(); })
      .Case<AtomicRMWOp, AtomicCASOp>([&](auto) { return lowerAtomic(op), success(); })
      .Case([&](PrintOp print) { return lowerPrint(print), success(); })
      .Case([&](AssertOp check) { return lowerAssert(check), success(); })
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case<scf::YieldOp, ReturnOp, scf::ConditionOp>([](auto) { return success(); }) // their parents look at them
      .Case([&](ReshapeOp reshape) {
        Buffer source = buffered(reshape.getSrc());
        // The elements in row-major order: a view if the source lies so, else a copy that does.
        int64_t expected = 1;
        bool rowMajor = true;
        auto shape = shapeOf(reshape.getSrc());
        for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
          rowMajor &= shape[d] == 1 || source.strides[d] == expected;
          expected *= shape[d];
        }
        if (!rowMajor) {
          Buffer copy = allocateFor(reshape.getSrc());
          materialize(reshape.getSrc(), copy);
          source = copy;
        }
        Buffer view = source;
        auto to = shapeOf(reshape.getResult());
        view.strides.assign(to.size(), 1);
        for (int64_t d = int64_t(to.size()) - 2; d >= 0; --d)
          view.strides[d] = view.strides[d + 1] * to[d + 1];
        buffers[reshape] = view;
        return success();
      })
      .Case([&](SplitOp split) {
        Buffer source = buffered(split.getSrc());
        int64_t last = source.strides.back();
        source.strides.pop_back();
        buffers[split.getOutLHS()] = source;
        source.offset += last;
        buffers[split.getOutRHS()] = source;
        return success();
      })
      .Case([&](JoinOp join) {
        Buffer joined = allocateFor(join.getResult()), half = joined;
        half.strides.pop_back();
        materialize(join.getLhs(), half);
        half.offset += 1;
        materialize(join.getRhs(), half);
        buffers[join] = joined;
        return success();
      })
      .Case([&](CatOp cat) {
        Buffer joined = allocateFor(cat.getResult()), half = joined;
        materialize(cat.getLhs(), half);
        half.offset += shapeOf(cat.getLhs())[0] * half.strides[0];
        materialize(cat.getRhs(), half);
        buffers[cat] = joined;
        return success();
      })
      .Case([&](UnsplatOp unsplat) {
        Place origin;
        origin.at.assign(shapeOf(unsplat.getSrc()).size(), {zeroIndex, 0});
        Value value = evaluateScalar(unsplat.getSrc(), origin);
        scalars[unsplat] = isa<PointerType>(unsplat.getType()) ? intToPointer(b, value) : value;
        return success();
      })
      .Case([&](arith::ConstantOp constant) {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (!dense) {
          scalars[constant] = arith::ConstantOp::create(b, cast<TypedAttr>(constant.getValue()));
          return success();
        }
        if (dense.isSplat()) return success();
        Buffer buffer = allocateFor(constant);
        int64_t bytes = elementBytes(buffer.element);
        for (auto [i, element] : llvm::enumerate(dense.getValues<Attribute>()))
          cpu::store(b, arith::ConstantOp::create(b, cast<TypedAttr>(element)), pointerAtConstant(b, buffer.base, i * bytes), bytes, false);
        buffers[constant] = buffer;
        return success();
      })
      .Default([&](Operation *other) {
        if (other->getNumResults() == 1 && isTile(other->getResult(0))) return storeResult(other);
        return lowerScalar(other);
      });
}

LogicalResult Lowering::lowerScalar(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op)) {
    Type element = lowered(load.getType());
    Type memory = isa<PointerType>(load.getType()) ? b.getI64Type() : element;
    int64_t bytes = elementBytes(memory);
    auto read = [&] {
      Value value = cpu::load(b, memory, scalar(load.getPtr()), bytes);
      return memory == element ? value : intToPointer(b, value);
    };
    if (!load.getMask()) {
      scalars[load] = read();
      return success();
    }
    Value other;
    if (load.getOther())
      other = scalar(load.getOther());
    else if (isa<FloatType>(element))
      other = constantFloat(b, element, 0);
    else
      other = memory == element ? constantInt(b, element, 0) : intToPointer(b, constantIndex(b, 0));
    auto branch = scf::IfOp::create(b, TypeRange{element}, scalar(load.getMask()), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, read());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, other);
    scalars[load] = branch.getResult(0);
    return success();
  }
  if (auto add = dyn_cast<AddPtrOp>(op)) {
    Value offset = scalarToIndex(scalar(add.getOffset()));
    scalars[add] = pointerAt(b, scalar(add.getPtr()), offset, elementBytes(cast<PointerType>(add.getType()).getPointeeType()));
    return success();
  }
  // Programs are not made of threads here: a barrier inside one has nothing to wait for. Assumptions are hints.
  llvm::StringRef name = op->getName().getStringRef();
  if (op->getNumResults() == 0 && (isMemoryEffectFree(op) || name == "gpu.barrier" || name == "llvm.intr.assume")) return success();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0) {
    refuse(op, "'" + op->getName().getStringRef() + "' is not supported by the cpu back end");
    return failure();
  }
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = scalar(operand);
    operands.push_back(isa<PointerType>(operand.getType()) ? pointerToInt(b, value) : value);
  }
  Value result = emitElementwise(op, operands);
  if (isa<PointerType>(op->getResult(0).getType())) result = intToPointer(b, result);
  scalars[op->getResult(0)] = result;
  return failedAny ? failure() : success();
}

//===------------------------------------------------------------------------------------------------------ control flow

/// Writes the tiles a region yields to the buffers that carry them. A tile that is computed from carried ones goes through a temporary
/// where another slot still reads those.
LogicalResult Lowering::yieldTiles(ValueRange values, llvm::ArrayRef<Buffer> targets, Operation *yield) {
  struct Pending {
    Value tile;
    Buffer from;
    Buffer to;
  };
  llvm::SmallVector<Pending> copies;
  bool alone = values.size() == 1;
  for (auto [value, to] : llvm::zip(values, targets)) {
    auto found = buffers.find(value);
    if (found != buffers.end() && found->second.base == to.base && found->second.strides == to.strides) continue; // in place already
    if (alone && !reads(value, to, true)) {
      materialize(value, to);
      continue;
    }
    // Evaluate first, write after all have been evaluated.
    bool ownBuffer = found != buffers.end() && llvm::none_of(targets, [&](const Buffer &t) { return t.base == found->second.base; });
    Buffer from = ownBuffer ? found->second : allocateFor(value);
    if (!ownBuffer) materialize(value, from);
    copies.push_back({value, from, to});
  }
  for (Pending &copy : copies) {
    auto before = buffers.find(copy.tile);
    std::optional<Buffer> saved = before != buffers.end() ? std::optional<Buffer>(before->second) : std::nullopt;
    buffers[copy.tile] = copy.from;
    materialize(copy.tile, copy.to);
    if (saved)
      buffers[copy.tile] = *saved;
    else
      buffers.erase(copy.tile);
  }
  return success();
}

LogicalResult Lowering::lowerFor(scf::ForOp op) {
  Value lower = scalar(op.getLowerBound()), upper = scalar(op.getUpperBound()), step = scalar(op.getStep());
  llvm::SmallVector<Value> inits;
  llvm::SmallVector<Buffer> tileBuffers;
  llvm::SmallVector<int64_t> tileSlots;
  for (auto [slot, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isTile(init)) {
      inits.push_back(scalar(init));
      continue;
    }
    Buffer buffer = allocateFor(init);
    materialize(init, buffer);
    tileBuffers.push_back(buffer);
    tileSlots.push_back(slot);
  }
  int64_t kept = arenaUsed;
  // How often it turns, for the size of what it writes in all.
  Value span = scalarToIndex(arith::SubIOp::create(b, upper, lower));
  Value stride = arith::MaxSIOp::create(b, scalarToIndex(step), constantIndex(b, 1));
  Value trips = arith::MaxSIOp::create(b, arith::DivSIOp::create(b, span, stride), constantIndex(b, 1));
  auto loop = scf::ForOp::create(b, lower, upper, step, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    enclosingTrips.push_back(trips);
    scalars[op.getInductionVar()] = loop.getInductionVar();
    size_t nextScalar = 0, nextTile = 0;
    for (Value argument : op.getRegionIterArgs()) {
      if (isTile(argument))
        buffers[argument] = tileBuffers[nextTile++];
      else
        scalars[argument] = loop.getRegionIterArg(nextScalar++);
    }
    if (failed(lowerBlock(*op.getBody()))) return failure();
    Operation *yield = op.getBody()->getTerminator();
    b.setLoc(yield->getLoc());
    llvm::SmallVector<Value> tiles, results;
    for (Value value : yield->getOperands())
      if (isTile(value))
        tiles.push_back(value);
      else
        results.push_back(scalar(value));
    if (failed(yieldTiles(tiles, tileBuffers, yield))) return failure();
    if (!results.empty()) scf::YieldOp::create(b, results);
    enclosingTrips.pop_back();
  }
  arenaUsed = kept;
  size_t nextScalar = 0, nextTile = 0;
  for (Value result : op.getResults()) {
    if (isTile(result))
      buffers[result] = tileBuffers[nextTile++];
    else
      scalars[result] = loop.getResult(nextScalar++);
  }
  return success();
}

LogicalResult Lowering::lowerIf(scf::IfOp op) {
  llvm::SmallVector<Type> types;
  llvm::SmallVector<Buffer> tileBuffers;
  for (Value result : op.getResults()) {
    if (isTile(result))
      tileBuffers.push_back(allocateFor(result));
    else
      types.push_back(lowered(result.getType()));
  }
  int64_t kept = arenaUsed;
  auto branch = scf::IfOp::create(b, types, scalar(op.getCondition()), !op.getElseRegion().empty());
  auto side = [&](Region &region, Block *block) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPoint(&block->back());
    else
      b.setInsertionPointToEnd(block);
    if (failed(lowerBlock(region.front()))) return failure();
    llvm::SmallVector<Value> tiles, results;
    Operation *yield = region.front().getTerminator();
    for (Value value : yield->getOperands())
      if (isTile(value))
        tiles.push_back(value);
      else
        results.push_back(scalar(value));
    if (failed(yieldTiles(tiles, tileBuffers, yield))) return failure();
    if (!types.empty()) scf::YieldOp::create(b, results);
    arenaUsed = kept;
    return success();
  };
  if (failed(side(op.getThenRegion(), branch.thenBlock()))) return failure();
  if (!op.getElseRegion().empty() && failed(side(op.getElseRegion(), branch.elseBlock()))) return failure();
  size_t nextScalar = 0, nextTile = 0;
  for (Value result : op.getResults()) {
    if (isTile(result))
      buffers[result] = tileBuffers[nextTile++];
    else
      scalars[result] = branch.getResult(nextScalar++);
  }
  return success();
}

LogicalResult Lowering::lowerWhile(scf::WhileOp op) {
  llvm::SmallVector<Value> inits;
  llvm::SmallVector<Buffer> beforeBuffers, afterBuffers;
  llvm::SmallVector<Type> types;
  for (Value init : op.getInits()) {
    if (!isTile(init)) {
      inits.push_back(scalar(init));
      continue;
    }
    Buffer buffer = allocateFor(init);
    materialize(init, buffer);
    beforeBuffers.push_back(buffer);
  }
  for (Value result : op.getResults()) {
    if (isTile(result))
      afterBuffers.push_back(allocateFor(result));
    else
      types.push_back(lowered(result.getType()));
  }
  int64_t kept = arenaUsed;
  auto loop = scf::WhileOp::create(b, types, inits);
  llvm::SmallVector<Type> beforeTypes;
  for (Value init : inits)
    beforeTypes.push_back(init.getType());
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Block &source, Region &region, llvm::ArrayRef<Type> argumentTypes, llvm::ArrayRef<Buffer> tileBuffers) {
    llvm::SmallVector<Location> locs(argumentTypes.size(), b.getLoc());
    Block *block = b.createBlock(&region, region.end(), argumentTypes, locs);
    size_t nextScalar = 0, nextTile = 0;
    for (Value argument : source.getArguments()) {
      if (isTile(argument))
        buffers[argument] = tileBuffers[nextTile++];
      else
        scalars[argument] = block->getArgument(nextScalar++);
    }
    b.setInsertionPointToEnd(block);
  };
  auto leave = [&](Operation *terminator, ValueRange values, llvm::ArrayRef<Buffer> tileBuffers, llvm::SmallVectorImpl<Value> &results) {
    llvm::SmallVector<Value> tiles;
    for (Value value : values)
      if (isTile(value))
        tiles.push_back(value);
      else
        results.push_back(scalar(value));
    return yieldTiles(tiles, tileBuffers, terminator);
  };
  enter(*op.getBeforeBody(), loop.getBefore(), beforeTypes, beforeBuffers);
  if (failed(lowerBlock(*op.getBeforeBody()))) return failure();
  auto condition = cast<scf::ConditionOp>(op.getBeforeBody()->getTerminator());
  llvm::SmallVector<Value> forwarded, carriedOn;
  if (failed(leave(condition, condition.getArgs(), afterBuffers, forwarded))) return failure();
  scf::ConditionOp::create(b, scalar(condition.getCondition()), forwarded);
  arenaUsed = kept;
  enter(*op.getAfterBody(), loop.getAfter(), types, afterBuffers);
  if (failed(lowerBlock(*op.getAfterBody()))) return failure();
  Operation *yield = op.getAfterBody()->getTerminator();
  if (failed(leave(yield, yield->getOperands(), beforeBuffers, carriedOn))) return failure();
  scf::YieldOp::create(b, carriedOn);
  arenaUsed = kept;
  b.setInsertionPointAfter(loop);
  size_t nextScalar = 0, nextTile = 0;
  for (Value result : op.getResults()) {
    if (isTile(result))
      buffers[result] = afterBuffers[nextTile++];
    else
      scalars[result] = loop.getResult(nextScalar++);
  }
  return success();
}

} // namespace tilewright::cpu
