// Atomic operations, printing and assertions: one element at a time, in index order.

#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/roots.h"
#include "cpu/scratch.h"
#include "support/host_names.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

void lowerAtomic(Context &ctx, Operation *op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto rmw = dyn_cast<AtomicRMWOp>(op);
  auto cas = dyn_cast<AtomicCASOp>(op);
  Value pointer = rmw ? rmw.getPtr() : cas.getPtr();
  Value result = op->getResult(0);
  Value mask = rmw ? rmw.getMask() : Value();
  auto apply = [&](Value address, llvm::ArrayRef<Value> operands) -> Value {
    if (rmw) {
      bool isFloat = isa<FloatType>(operands[0].getType());
      return LLVM::AtomicRMWOp::create(b, binaryOf(rmw.getAtomicRmwOp(), isFloat), address, operands[0], orderingOf(rmw.getSem()));
    }
    Value expected = operands[0], desired = operands[1];
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
  };
  if (!isTile(pointer)) {
    llvm::SmallVector<Value> operands;
    if (rmw)
      operands = {scalar(ctx, rmw.getVal())};
    else
      operands = {scalar(ctx, cas.getCmp()), scalar(ctx, cas.getVal())};
    Value address = scalar(ctx, pointer);
    if (!mask) {
      ctx.scalars[result] = apply(address, operands);
      return;
    }
    Type type = operands[0].getType();
    Value zero = isa<FloatType>(type) ? constantFloat(b, type, 0) : constantInt(b, type, 0);
    auto branch = scf::IfOp::create(b, TypeRange{type}, scalar(ctx, mask), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, apply(address, operands));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, zero);
    ctx.scalars[result] = branch.getResult(0);
    return;
  }
  std::optional<Buffer> buffer;
  if (!result.use_empty()) buffer = allocateFor(ctx, result);
  auto shape = shapeOf(pointer);
  LoopSpec spec = loopsOver(shape, -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<Place> places) {
        const Place &place = places[0];
        Value address = intToPointer(b, evaluateScalar(ctx, pointer, place));
        llvm::SmallVector<Value> operands;
        if (rmw)
          operands = {evaluateScalar(ctx, rmw.getVal(), place)};
        else
          operands = {evaluateScalar(ctx, cas.getCmp(), place), evaluateScalar(ctx, cas.getVal(), place)};
        auto update = [&] {
          Value before = apply(address, operands);
          if (buffer) storeChunk(ctx, *buffer, before, place);
        };
        if (!mask) return update();
        auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(ctx, mask, place), false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        update();
      },
      -1);
  if (buffer) ctx.buffers[result] = *buffer;
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
    if (op.getArgs().size() > 1) format += "(operand " + std::to_string(number) + ") ";
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
                   [&](const Place &place, Value index) { call(format, index, bitsOf(evaluateScalar(ctx, tile, place))); });
  }
}

void lowerAssert(Context &ctx, AssertOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  std::string place;
  if (auto at = op->getLoc()->findInstanceOf<FileLineColLoc>())
    place = at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" + std::to_string(at.getColumn());
  Value condition = op.getCondition();
  std::string format = (isTile(condition) ? extentsText(shapeOf(condition)) : ";") + place + "\n" + op.getMessage().str();
  auto check = [&](Value holds, Value element) {
    if (!holds.getType().isInteger(1))
      holds = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, holds, constantInt(b, holds.getType(), 0));
    auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, holds, constantInt(b, b.getI1Type(), 1)), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    callFunction(b, hostNames.assertFailed, {}, {ctx.programId[0], ctx.programId[1], ctx.programId[2], constantText(b, format), element});
  };
  if (!isTile(condition)) return check(scalar(ctx, condition), constantIndex(b, 0));
  forEachElement(ctx, shapeOf(condition), [&](const Place &at, Value index) { check(evaluateScalar(ctx, condition, at), index); });
}

} // namespace tilewright::cpu
