// Threads compute one float at a time, and memory takes words: two 16-bit floats that end up
// in one word have often been computed in the same way. The chip can compute both at once:
//   before: %x = arith.mulf %a, %s : bf16    %y = arith.mulf %b, %s : bf16    ptx.pack %x, %y
//   after:  arith.mulf (%a, %b), (%s, %s) : vector<2xbf16>
#include "codegen/ptx/asm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::spell {

using namespace mlir;

static arith::MulFOp productOf(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  bool isShort = product && isa<Float16Type, BFloat16Type>(value.getType());
  return isShort ? product : arith::MulFOp();
}

bool computedAlike(Value low, Value high) {
  arith::MulFOp first = productOf(low), second = productOf(high);
  return first && second && low.getType() == high.getType() && first.getFastmath() == second.getFastmath();
}

Value pairOf(Place &at, Value low, Value high, int64_t depth) {
  auto type = VectorType::get({2}, low.getType());
  if (depth > 0 && computedAlike(low, high)) {
    arith::MulFOp first = productOf(low), second = productOf(high);
    Value lhs = pairOf(at, first.getLhs(), second.getLhs(), depth - 1), rhs = pairOf(at, first.getRhs(), second.getRhs(), depth - 1);
    return arith::MulFOp::create(at.b, lhs, rhs, first.getFastmath());
  }
  Value vector = LLVM::PoisonOp::create(at.b, type);
  vector = LLVM::InsertElementOp::create(at.b, vector, low, at.i32(0));
  return LLVM::InsertElementOp::create(at.b, vector, high, at.i32(1));
}

} // namespace tilewright::spell
