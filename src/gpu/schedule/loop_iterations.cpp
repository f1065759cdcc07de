// A copy that runs ahead needs the addresses of a later iteration. What a loop adds in every iteration has a closed form.
//   %x = scf.for %i ... iter_args(%d = %start) {              two iterations ahead:
//     %p = tt.addptr %base, %d                                  %e = %d + 2 * %by     %q = tt.addptr %base, %e
//     scf.yield (%d + %by)
// What it computes otherwise is computed iteration by iteration: with a scalar that is loaded, %d + %by(%i) + %by(%i + 1).
// The stage of an iteration has none: it survives all loops around a copy, which carry it, and so do branches.
#include "gpu/schedule/loop_iterations.h"

#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cassert>

using namespace mlir;

namespace tilewright::gpu {

static Value constantLike(OpBuilder &b, Location loc, Type type, int64_t value) {
  auto scalar = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto tile = dyn_cast<ShapedType>(type)) return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(tile, scalar));
  return arith::ConstantOp::create(b, loc, scalar);
}

/// The offset of a pointer with 64 bits, as tt.addptr extends it.
static Value extended(OpBuilder &b, Location loc, Value offset) {
  Type type = offset.getType(), wide = b.getI64Type();
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() >= 64) return offset;
  if (auto tile = dyn_cast<ShapedType>(type)) wide = tile.clone(wide);
  return b.createOrFold<arith::ExtSIOp>(loc, wide, offset);
}

//===------------------------------------------------------------------------------------------------------- other iterations

/// What the loop adds to a carried value in every iteration; null if it does something
/// else to it. A value that does not change has no increment: it stands for itself.
Value LoopIterations::increment(BlockArgument carried) {
  Value next = loop.getYieldedValues()[carried.getArgNumber() - 1];
  if (next == carried) return carried;
  Operation *op = next.getDefiningOp();
  Value by;
  if (isa_and_nonnull<arith::AddIOp, tt::AddPtrOp>(op)) {
    if (op->getOperand(0) == carried) by = op->getOperand(1);
    if (isa<arith::AddIOp>(op) && op->getOperand(1) == carried) by = op->getOperand(0);
  }
  bool stays = by && (loop.isDefinedOutsideOfLoop(by) || by.getDefiningOp<arith::ConstantOp>());
  return stays ? by : Value();
}

LoopIterations::LoopIterations(scf::ForOp loop, ArrayRef<LaterScalar> scalars) : loop(loop) {
  ValueRange carried = loop.getRegionIterArgs();
  for (const LaterScalar &each : scalars)
    ofPresent[{each.iterations, carried[each.carried]}] = {carried[each.later]};
}

bool LoopIterations::canClone(Value value) {
  llvm::DenseSet<Value> seen;
  return canClone(value, seen);
}

bool LoopIterations::canClone(Value value, llvm::DenseSet<Value> &seen) {
  if (loop.isDefinedOutsideOfLoop(value) || !seen.insert(value).second)
    return true; // of those seen, one that cannot be cloned ends the search
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody()) return false;
    if (argument == loop.getInductionVar() || increment(argument)) return true;
    return !isa<RankedTensorType>(argument.getType()) && canClone(loop.getTiedLoopYieldedValue(argument)->get(), seen);
  }
  Operation *op = value.getDefiningOp();
  bool isScalarLoad = isa<tt::LoadOp>(op) && !isa<RankedTensorType>(value.getType());
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 || !(isMemoryEffectFree(op) || isScalarLoad)) return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return canClone(operand, seen); });
}

llvm::SetVector<Value> LoopIterations::dependencies(ValueRange values) {
  llvm::SetVector<Value> seen;
  seen.insert_range(values);
  seen.insert_range(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  for (size_t i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar()) continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value by = increment(argument);
      seen.insert_range(ValueRange{loop.getTiedLoopInit(argument)->get(), by ? by : loop.getTiedLoopYieldedValue(argument)->get()});
    } else {
      seen.insert_range(value.getDefiningOp()->getOperands());
    }
  }
  return seen;
}

llvm::SetVector<Value> LoopIterations::sourcesOutside(ValueRange values) {
  llvm::SetVector<Value> sources = dependencies(values);
  sources.remove_if([&](Value value) { return !loop.isDefinedOutsideOfLoop(value); });
  return sources;
}

SmallVector<tt::LoadOp> LoopIterations::loads(ValueRange values) {
  SmallVector<tt::LoadOp> loads;
  for (Value value : dependencies(values))
    if (auto load = value.getDefiningOp<tt::LoadOp>(); load && loop->isAncestor(load)) loads.push_back(load);
  return loads;
}

SmallVector<BlockArgument> LoopIterations::recurrences(ValueRange values) {
  SmallVector<BlockArgument> carried;
  for (Value value : dependencies(values))
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar() && !increment(argument))
      carried.push_back(argument);
  return carried;
}

Value LoopIterations::advanced(OpBuilder &b, Value start, Value by, int64_t iterations) {
  Location loc = start.getLoc();
  if (!loop.isDefinedOutsideOfLoop(by)) by = b.clone(*by.getDefiningOp())->getResult(0);
  bool advancesPointers = isa<tt::PointerType>(getElementTypeOrSelf(start.getType()));
  if (iterations > 1 && advancesPointers) by = extended(b, loc, by); // each of the additions extends its step
  if (iterations > 1) by = b.createOrFold<arith::MulIOp>(loc, by, constantLike(b, loc, by.getType(), iterations));
  if (isa<IntegerType, IndexType>(getElementTypeOrSelf(start.getType()))) return b.createOrFold<arith::AddIOp>(loc, start, by);
  return tt::AddPtrOp::create(b, loc, start.getType(), start, by);
}

Value LoopIterations::argumentOf(OpBuilder &b, BlockArgument argument, const Origin &origin, int64_t iterations) {
  bool isNumber = argument == loop.getInductionVar();
  if (iterations == 0) return isNumber ? origin.number : origin.start(argument);
  if (!isNumber) {
    if (Value by = increment(argument))
      return by == argument ? origin.start(argument) : advanced(b, origin.start(argument), by, iterations);
    return clone(b, loop.getTiedLoopYieldedValue(argument)->get(), origin, iterations - 1);
  }
  Location loc = loop.getLoc();
  Value step = loop.getStep();
  Value way = b.createOrFold<arith::MulIOp>(loc, step, constantLike(b, loc, step.getType(), iterations));
  return b.createOrFold<arith::AddIOp>(loc, origin.number, way);
}

static Operation *nextOf(OpBuilder &b) {
  return b.getInsertionPoint() == b.getInsertionBlock()->end() ? nullptr : &*b.getInsertionPoint();
}

/// True if a value that has been computed before is surely known at the insertion point.
bool LoopIterations::isKnownAt(OpBuilder &b, const Clone &clone) {
  Operation *op = clone.value ? clone.value.getDefiningOp() : nullptr, *next = nextOf(b);
  if (!op) return clone.value != nullptr;
  if (op->getBlock() != b.getInsertionBlock()) return false;
  return !next || next == clone.next || op->isBeforeInBlock(next); // the last one numbers the operations of the block
}

Value LoopIterations::clone(OpBuilder &b, Value value, const Origin &origin, int64_t iterations) {
  if (loop.isDefinedOutsideOfLoop(value)) return value;
  if (Clone known = origin.clones.lookup({iterations, value}); isKnownAt(b, known)) return known.value;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value result = argumentOf(b, argument, origin, iterations);
    origin.clones[{iterations, value}] = {result, nextOf(b)};
    return result;
  }
  Operation *op = value.getDefiningOp();
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, clone(b, operand, origin, iterations));
  Value mask;
  if (auto load = dyn_cast<tt::LoadOp>(op)) {
    mask = origin.exists(b, iterations);
    if (mask && load.getMask()) mask = b.createOrFold<arith::AndIOp>(load.getLoc(), mask, operands.lookup(load.getMask()));
  }
  Operation *copy = b.clone(*op, operands);
  if (mask) cast<tt::LoadOp>(copy).getMaskMutable().assign(mask);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    origin.clones[{iterations, from}] = {to, nextOf(b)};
  return origin.clones.lookup({iterations, value}).value;
}

SmallVector<Value> LoopIterations::cloneAt(OpBuilder &b, ValueRange values, const Origin &origin, int64_t iterations) {
  return llvm::map_to_vector(values, [&](Value value) { return clone(b, value, origin, iterations); });
}

SmallVector<Value> LoopIterations::later(OpBuilder &b, ValueRange values, int64_t iterations) {
  auto exists = [&](OpBuilder &at, int64_t number) { return number == 0 ? Value() : existsLater(at, number); };
  return cloneAt(b, values, {loop.getInductionVar(), [](BlockArgument carried) { return carried; }, exists, ofPresent}, iterations);
}

SmallVector<Value> LoopIterations::ofIteration(OpBuilder &b, ValueRange values, int64_t iteration) {
  auto init = [&](BlockArgument carried) { return loop.getTiedLoopInit(carried)->get(); };
  auto exists = [&](OpBuilder &at, int64_t number) { return existsIteration(at, number); };
  return cloneAt(b, values, {loop.getLowerBound(), init, exists, ofFirst}, iteration);
}

/// True if `room`, the distance to the bound as a positive unsigned number, is more than so many steps, which are unsigned as well.
static Value isBeyond(OpBuilder &b, Location loc, Value room, Value step, int64_t iterations) {
  llvm::APInt known;
  bool overflows = iterations > 1;
  if (matchPattern(step, m_ConstantInt(&known)))
    (void)known.umul_ov(llvm::APInt(known.getBitWidth(), static_cast<uint64_t>(iterations)), overflows);
  auto constant = [&](int64_t value) { return constantLike(b, loc, step.getType(), value); };
  if (!overflows) {
    Value way = b.createOrFold<arith::MulIOp>(loc, step, constant(iterations));
    return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, room, way);
  }
  // The product may not fit: room > step * n where (room - 1) / n >= step.
  Value last = b.createOrFold<arith::SubIOp>(loc, room, constant(1));
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, b.createOrFold<arith::DivUIOp>(loc, last, constant(iterations)),
                                       step);
}

/// The induction variable is below the bound, so their distance is a positive number if it is read as unsigned.
Value LoopIterations::existsLater(OpBuilder &b, int64_t iterations) {
  Location loc = loop.getLoc();
  Value room = b.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), loop.getInductionVar());
  return isBeyond(b, loc, room, loop.getStep(), iterations);
}

Value LoopIterations::existsIteration(OpBuilder &b, int64_t iteration) {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  llvm::APInt by;
  bool fromZero = matchPattern(lower, m_Zero()) && !loop.getUnsignedCmp(), overflows = false;
  if (fromZero && matchPattern(step, m_ConstantInt(&by)) && by.isStrictlyPositive()) {
    llvm::APInt way = by.smul_ov(llvm::APInt(by.getBitWidth(), static_cast<uint64_t>(iteration)), overflows);
    Value last = arith::ConstantOp::create(b, loc, b.getIntegerAttr(step.getType(), way));
    if (!overflows) return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, upper, last);
  }
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value begins = b.createOrFold<arith::CmpIOp>(loc, less, lower, upper);
  if (iteration == 0) return begins;
  Value room = b.createOrFold<arith::SubIOp>(loc, upper, lower);
  return b.createOrFold<arith::AndIOp>(loc, begins, isBeyond(b, loc, room, step, iteration));
}

Value LoopIterations::count(OpBuilder &b, int64_t modulus) {
  Location loc = loop.getLoc();
  Type type = loop.getStep().getType();
  auto constant = [&](int64_t value) { return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value)); };
  // ceil(length / step) of a positive length is (length - 1) / step + 1.
  Value length = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  Value last = arith::DivUIOp::create(b, loc, arith::SubIOp::create(b, loc, length, constant(1)), loop.getStep());
  Value some = arith::RemUIOp::create(b, loc, arith::AddIOp::create(b, loc, last, constant(1)), constant(modulus));
  Value rest = arith::SelectOp::create(b, loc, existsIteration(b, 0), some, constant(0));
  if (type == b.getI32Type()) return rest;
  if (type.isIndex()) return arith::IndexCastOp::create(b, loc, b.getI32Type(), rest);
  return cast<IntegerType>(type).getWidth() > 32 ? Value(arith::TruncIOp::create(b, loc, b.getI32Type(), rest))
                                                 : Value(arith::ExtUIOp::create(b, loc, b.getI32Type(), rest));
}

//===------------------------------------------------------------------------------------------------------------- state

scf::ForOp withMoreCarried(scf::ForOp loop, ValueRange inits) {
  OpBuilder b(loop);
  SmallVector<Value> all(loop.getInitArgs());
  llvm::append_range(all, inits);
  auto fresh = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), all,
                                  [](OpBuilder &, Location, Value, ValueRange) {});
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  fresh.setUnsignedCmp(loop.getUnsignedCmp());
  fresh.getRegion().takeBody(loop.getRegion());
  for (Value init : inits)
    fresh.getBody()->addArgument(init.getType(), init.getLoc());
  loop->replaceAllUsesWith(fresh->getResults().take_front(loop->getNumResults()));
  loop->erase();
  return fresh;
}

void appendYielded(scf::ForOp loop, ValueRange values) {
  Operation *yield = loop.getBody()->getTerminator();
  yield->insertOperands(yield->getNumOperands(), values);
}

scf::ForOp carryLater(scf::ForOp loop, ArrayRef<BlockArgument> scalars, int64_t iterations, SmallVectorImpl<LaterScalar> &made) {
  OpBuilder b(loop);
  SmallVector<LaterScalar> added;
  for (auto [number, scalar] : llvm::enumerate(scalars))
    added.push_back({scalar.getArgNumber() - 1, loop.getNumRegionIterArgs() + static_cast<unsigned>(number), iterations});
  SmallVector<Value> values(scalars.begin(), scalars.end());
  scf::ForOp fresh = withMoreCarried(loop, LoopIterations(loop).ofIteration(b, values, iterations));
  b.setInsertionPointToStart(fresh.getBody()); // what it loads is on its way during the iteration
  SmallVector<Value> steps = llvm::map_to_vector(added, [&](const LaterScalar &each) { return fresh.getYieldedValues()[each.carried]; });
  appendYielded(fresh, LoopIterations(fresh, added).later(b, steps, iterations));
  llvm::append_range(made, added);
  return fresh;
}

scf::IfOp withMoreResults(scf::IfOp branch, TypeRange more) {
  OpBuilder b(branch);
  SmallVector<Type> types(branch.getResultTypes());
  llvm::append_range(types, more);
  auto fresh = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
  fresh->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  fresh.getThenRegion().takeBody(branch.getThenRegion());
  if (branch.getElseRegion().empty()) {
    b.setInsertionPointToEnd(fresh.elseBlock());
    scf::YieldOp::create(b, branch.getLoc());
  } else {
    fresh.getElseRegion().takeBody(branch.getElseRegion());
  }
  branch->replaceAllUsesWith(fresh->getResults().take_front(branch->getNumResults()));
  branch->erase();
  return fresh;
}

scf::WhileOp withMoreCarried(scf::WhileOp loop, ValueRange inits) {
  OpBuilder b(loop);
  SmallVector<Value> all(loop.getInits());
  llvm::append_range(all, inits);
  SmallVector<Type> types(loop.getResultTypes());
  llvm::append_range(types, inits.getTypes());
  auto fresh = scf::WhileOp::create(b, loop.getLoc(), types, all);
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  fresh.getBefore().takeBody(loop.getBefore());
  fresh.getAfter().takeBody(loop.getAfter());
  for (Value init : inits) {
    Value before = fresh.getBeforeBody()->addArgument(init.getType(), loop.getLoc());
    fresh.getAfterBody()->addArgument(init.getType(), loop.getLoc());
    fresh.getConditionOp().getArgsMutable().append(before);
  }
  loop->replaceAllUsesWith(fresh->getResults().take_front(loop->getNumResults()));
  loop->erase();
  return fresh;
}

FailureOr<SmallVector<Value>> carryState(Operation *op, ArrayRef<Value> initial, function_ref<SmallVector<Value>(ValueRange)> update) {
  SmallVector<Operation *> around; // outermost first; a partition runs once
  for (Operation *parent = op->getParentOp(); parent && !isa<tt::FuncOp, ttg::WarpSpecializeOp>(parent); parent = parent->getParentOp())
    around.insert(around.begin(), parent);
  for (Operation *parent : around)
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(parent)) return bug(parent, "it cannot carry a counter of an operation in it");
  auto count = static_cast<unsigned>(initial.size());
  SmallVector<Value> state(initial);
  for (Operation *&parent : around) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      auto fresh = withMoreCarried(loop, state);
      state = SmallVector<Value>(fresh.getRegionIterArgs().take_back(count));
      parent = fresh;
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      bool inThen = branch.getThenRegion().isAncestor(op->getParentRegion());
      auto fresh = withMoreResults(branch, ValueRange(state).getTypes());
      Operation *other = (inThen ? fresh.elseBlock() : fresh.thenBlock())->getTerminator();
      other->insertOperands(other->getNumOperands(), state);
      parent = fresh;
    } else {
      auto fresh = withMoreCarried(cast<scf::WhileOp>(parent), state);
      ValueRange before = fresh.getBeforeArguments().take_back(count), after = fresh.getAfterArguments().take_back(count);
      bool inCondition = fresh.getBefore().isAncestor(op->getParentRegion());
      if (inCondition) fresh.getYieldOp()->insertOperands(fresh.getYieldOp()->getNumOperands(), after);
      state = SmallVector<Value>(inCondition ? before : after);
      parent = fresh;
    }
  }
  Region *inner = op->getParentRegion();
  state = update(state);
  for (Operation *parent : llvm::reverse(around)) {
    Operation *end = inner->front().getTerminator();
    if (isa<scf::ConditionOp>(end))
      end->setOperands(end->getNumOperands() - count, count, state); // in place of the one before
    else
      end->insertOperands(end->getNumOperands(), state);
    state = SmallVector<Value>(parent->getResults().take_back(count));
    inner = parent->getParentRegion();
  }
  return state;
}

} // namespace tilewright::gpu
