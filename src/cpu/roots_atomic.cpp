// Atomic operations, printing and assertions: one element at a time, in index order.

#include "cpu/lowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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

void Lowering::lowerAtomic(Operation *op) {
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
      operands = {scalar(rmw.getVal())};
    else
      operands = {scalar(cas.getCmp()), scalar(cas.getVal())};
    Value address = scalar(pointer);
    if (!mask) {
      scalars[result] = apply(address, operands);
      return;
    }
    Type type = operands[0].getType();
    Value zero = isa<FloatType>(type) ? constantFloat(b, type, 0) : constantInt(b, type, 0);
    auto branch = scf::IfOp::create(b, TypeRange{type}, scalar(mask), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, apply(address, operands));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, zero);
    scalars[result] = branch.getResult(0);
    return;
  }
  std::optional<Buffer> buffer;
  if (!result.use_empty()) buffer = allocateFor(result);
  auto shape = shapeOf(pointer);
  LoopSpec spec;
  spec.shape = shape;
  spec.chunk.assign(shape.size(), 1);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) spec.order.push_back(d);
  emitLoops(
      spec,
      [&](llvm::ArrayRef<Place> places) {
        const Place &place = places[0];
        Value address = intToPointer(b, evaluateScalar(pointer, place));
        llvm::SmallVector<Value> operands;
        if (rmw)
          operands = {evaluateScalar(rmw.getVal(), place)};
        else
          operands = {evaluateScalar(cas.getCmp(), place), evaluateScalar(cas.getVal(), place)};
        auto update = [&] {
          Value before = apply(address, operands);
          if (buffer) storeChunk(*buffer, before, place);
        };
        if (!mask) return update();
        auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(mask, place), false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        update();
      },
      -1);
  if (buffer) buffers[result] = *buffer;
}

void Lowering::lowerPrint(PrintOp op) {
  refuse(op, "tl.device_print is not supported by the cpu back end; run the kernel with the interpreter");
}

void Lowering::lowerAssert(AssertOp op) {
  refuse(op, "tl.device_assert is not supported by the cpu back end; run the kernel with the interpreter");
}

} // namespace tilewright::cpu
