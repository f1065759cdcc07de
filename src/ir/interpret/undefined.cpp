// Operations that move elements run a second time, on the marks: the mark of an undefined element moves with it.
#include "ir/interpret/program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::interp {

void markUndefined(Tile &result, const Tile &mask, Operation *load) {
  auto undefined = std::make_shared<Undefined>(Undefined{llvm::BitVector(result.size()), load});
  for (int64_t i = 0; i < result.size(); ++i)
    if (!mask.elements[mask.size() == 1 ? 0 : i]) undefined->elements.set(i);
  if (undefined->elements.any()) result.undefined = std::move(undefined);
}

static bool isUndefined(const Tile &tile, int64_t element) {
  return tile.undefined && tile.undefined->elements[tile.size() == 1 ? 0 : element];
}

static LogicalResult report(Program &program, Operation *op, const Tile &tile, const Twine &what) {
  return program.fail(op, what + " is undefined: it comes from the load at " + locationText(tile.undefined->load) +
                              ", whose mask is false there and which has no 'other'");
}

/// Checks an access through `pointer`, with `value` (null for loads).
static LogicalResult checkAccess(Program &program, Operation *op, Value pointer, Value mask, ArrayRef<Value> values) {
  const Tile &pointers = program.get(pointer);
  const Tile *on = mask ? &program.get(mask) : nullptr;
  for (int64_t i = 0; i < pointers.size(); ++i) {
    if (on && isUndefined(*on, i)) return report(program, op, *on, "the mask");
    if (on && !on->elements[on->size() == 1 ? 0 : i]) continue;
    if (isUndefined(pointers, i)) return report(program, op, pointers, "the address");
    for (Value value : values)
      if (isUndefined(program.get(value), i)) return report(program, op, program.get(value), "an element that is stored");
  }
  return success();
}

LogicalResult checkDefined(Program &program, Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return bool(program.get(operand).undefined); })) return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tt::LoadOp o) { return checkAccess(program, op, o.getPtr(), o.getMask(), {}); })
      .Case([&](tt::StoreOp o) {
        if (!program.get(o.getPtr()).block) return checkAccess(program, op, o.getPtr(), o.getMask(), {o.getValue()});
        const Tile &value = program.get(o.getValue());
        return value.undefined && value.undefined->elements.all() ? report(program, op, value, "what is stored") : success();
      })
      .Case([&](tt::AtomicRMWOp o) { return checkAccess(program, op, o.getPtr(), o.getMask(), {o.getVal()}); })
      .Case([&](tt::AtomicCASOp o) { return checkAccess(program, op, o.getPtr(), Value(), {o.getCmp(), o.getVal()}); })
      .Case([&](scf::IfOp o) {
        const Tile &condition = program.get(o.getCondition());
        return condition.undefined ? report(program, op, condition, "the condition") : success();
      })
      .Default([](Operation *) { return success(); });
}

/// True if `op` only moves elements of `operand`.
static bool moves(Operation *op, OpOperand &operand) {
  if (isa<tt::GatherOp>(op)) return operand.getOperandNumber() == 0;
  return isa<tt::SplatOp, tt::UnsplatOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::BroadcastOp, tt::TransOp, tt::CatOp, tt::JoinOp, tt::SplitOp>(
      op);
}

/// Returns the marks of the results of `op`, from the marks of its operands.
static FailureOr<SmallVector<Tile>> movedMarks(Program &program, Operation *op, Meaning meaning) {
  SmallVector<Tile> operands, results;
  for (OpOperand &operand : op->getOpOperands()) {
    operands.push_back(program.get(operand.get()));
    if (!moves(op, operand)) continue;
    Tile marks(operands.back().size(), 0);
    for (int64_t i = 0; i < marks.size(); ++i)
      marks.elements[i] = isUndefined(operands.back(), i);
    program.set(operand.get(), std::move(marks));
  }
  for (Value result : op->getResults())
    results.push_back(program.get(result));
  LogicalResult ran = meaning(program, op);
  for (auto [operand, tile] : llvm::zip_equal(op->getOperands(), operands))
    program.set(operand, std::move(tile));
  if (failed(ran)) return failure();
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), results)) {
    Tile marks = program.get(result);
    program.set(result, std::move(tile));
    tile = std::move(marks);
  }
  return results;
}

/// True if element `i` of an elementwise operation's result is undefined.
static bool follows(Program &program, Operation *op, int64_t i) {
  auto at = [&](Value value) { return isUndefined(program.get(value), i); };
  auto bits = [&](Value value) { return program.get(value).elements[program.get(value).size() == 1 ? 0 : i]; };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (at(select.getCondition())) return true;
    return at(bits(select.getCondition()) ? select.getTrueValue() : select.getFalseValue());
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op)) { // one defined operand may decide the result
    bool isAnd = isa<arith::AndIOp>(op);
    uint64_t decides = isAnd ? 0 : formatOf(op->getResult(0).getType()).mask();
    for (Value operand : op->getOperands())
      if (!at(operand) && bits(operand) == decides) return false;
  }
  return llvm::any_of(op->getOperands(), at);
}

/// Marks each line along an axis that has an undefined element in some operand: the whole line, or the elements after that element.
static void followAlong(Program &program, Operation *op, int64_t axis, bool keepsAxis, bool reverse, llvm::BitVector &marks) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  int64_t length = type.getDimSize(axis), inner = 1;
  for (int64_t dim = axis + 1; dim < type.getRank(); ++dim)
    inner *= type.getDimSize(dim);
  for (int64_t line = 0; line < type.getNumElements() / length; ++line) {
    bool seen = false;
    for (int64_t k = 0; k < length; ++k) {
      int64_t element = (line / inner * length + (reverse ? length - 1 - k : k)) * inner + line % inner;
      seen |= llvm::any_of(op->getOperands(), [&](Value operand) { return isUndefined(program.get(operand), element); });
      if (seen && keepsAxis) marks.set(element);
    }
    if (seen && !keepsAxis) marks.set(line);
  }
}

/// Marks the whole line of an undefined element, because sorting may move it anywhere in its line.
static void followSort(Program &program, tt::SortOp op, llvm::BitVector &marks) {
  int64_t length = cast<RankedTensorType>(op.getSrc().getType()).getShape().back();
  int64_t kept = cast<RankedTensorType>(op.getType()).getShape().back();
  const Tile &source = program.get(op.getSrc());
  for (int64_t i = 0; i < source.size(); ++i)
    if (isUndefined(source, i)) marks.set(i / length * kept, (i / length + 1) * kept);
}

/// Marks an element of a dot if an element of its row of A, of its column of B, or its addend is undefined: 0 times any value may be NaN.
static void followDot(Program &program, tt::DotOp op, llvm::BitVector &marks) {
  const Tile &a = program.get(op.getA()), &b = program.get(op.getB()), &c = program.get(op.getC());
  auto type = cast<RankedTensorType>(op.getA().getType());
  int64_t rank = type.getRank(), rows = type.getDimSize(rank - 2), inner = type.getDimSize(rank - 1);
  int64_t columns = cast<RankedTensorType>(op.getType()).getDimSize(rank - 1);
  for (int64_t i = 0; i < static_cast<int64_t>(marks.size()); ++i) {
    int64_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
    bool found = isUndefined(c, i);
    for (int64_t k = 0; k < inner && !found; ++k)
      found = isUndefined(a, (batch * rows + row) * inner + k) || isUndefined(b, (batch * inner + k) * columns + column);
    if (found) marks.set(static_cast<unsigned>(i));
  }
}

LogicalResult followUndefined(Program &program, Operation *op, Meaning meaning) {
  if (op->getNumResults() == 0 || isa<tt::LoadOp>(op)) return success();
  Operation *load = nullptr;
  for (Value operand : op->getOperands())
    if (const Tile &tile = program.get(operand); tile.undefined && !load) load = tile.undefined->load;
  bool isReduction = isa<tt::ReduceOp, tt::ScanOp>(op);
  if (!load || (op->getNumRegions() != 0 && !isReduction) || isa<tt::CallOp>(op))
    return success(); // the operations of the callee have been marked
  SmallVector<llvm::BitVector> marks;
  for (Value result : op->getResults())
    marks.emplace_back(program.get(result).size());
  if (moves(op, op->getOpOperand(0))) {
    FailureOr<SmallVector<Tile>> moved = movedMarks(program, op, meaning);
    if (failed(moved)) return failure();
    for (auto [bits, tile] : llvm::zip_equal(marks, *moved))
      for (int64_t i = 0; i < tile.size(); ++i)
        if (tile.elements[i]) bits.set(i);
  } else if (auto reduce = dyn_cast<tt::ReduceOp>(op)) {
    for (llvm::BitVector &bits : marks)
      followAlong(program, op, reduce.getAxis(), false, false, bits);
  } else if (auto scan = dyn_cast<tt::ScanOp>(op)) {
    for (llvm::BitVector &bits : marks)
      followAlong(program, op, scan.getAxis(), true, scan.getReverse(), bits);
  } else if (auto sort = dyn_cast<tt::SortOp>(op)) {
    followSort(program, sort, marks[0]);
  } else if (auto dot = dyn_cast<tt::DotOp>(op)) {
    followDot(program, dot, marks.front());
  } else {
    bool elementwise = llvm::all_of(op->getOperands(), [&](Value operand) {
      int64_t size = program.get(operand).size();
      return size == 1 || size == static_cast<int64_t>(marks[0].size());
    });
    if (!elementwise) return success();
    for (llvm::BitVector &bits : marks)
      for (unsigned i = 0; i < bits.size(); ++i)
        if (follows(program, op, i)) bits.set(i);
  }
  for (auto [result, bits] : llvm::zip_equal(op->getResults(), marks)) {
    if (bits.none()) continue;
    Tile tile = program.get(result);
    tile.undefined = std::make_shared<Undefined>(Undefined{std::move(bits), load});
    program.set(result, std::move(tile));
  }
  return success();
}

} // namespace tilewright::interp
