// Threads compute one float at a time, and memory takes words: two 16-bit floats that end up
// in one word have often been computed in the same way. The chip can compute both at once:
//   before: %x = arith.mulf %a, %s : bf16    %y = arith.mulf %b, %s : bf16    ptx.pack %x, %y
//   after:  arith.mulf (%a, %b), (%s, %s) : vector<2xbf16>
// Where a product's sums are narrowed one by one, ptxas makes pairs of them itself, at a time when it sees that as a use among the
// products, and lets each product wait for the one before (C7514, seen where warps hand registers to one another). There numbers are
// narrowed in pairs from the beginning, and one that has no other one beside it with a zero.
#include "codegen/ptx/asm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::spell {

using namespace mlir;

static arith::MulFOp productOf(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  bool isShort = product && isa<Float16Type, BFloat16Type>(value.getType());
  return isShort ? product : arith::MulFOp();
}

/// What is narrowed to a value of 16 bits, or null.
static Value wideOf(Value value) {
  auto narrowed = value.getDefiningOp<arith::TruncFOp>();
  bool isShort = narrowed && isa<Float16Type, BFloat16Type>(value.getType());
  return isShort && narrowed.getIn().getType().isF32() ? narrowed.getIn() : Value();
}

static Value wideConstant(PrintContext &at, Value value) {
  FloatAttr number;
  if (!isa<Float16Type, BFloat16Type>(value.getType()) || !mlir::matchPattern(value, mlir::m_Constant(&number))) return {};
  return arith::ConstantOp::create(at.b, at.b.getF32FloatAttr(static_cast<float>(number.getValueAsDouble())));
}

Value narrowedPair(PrintContext &at, Value low, Value high) {
  if (!at.narrowsInPairs) return {};
  Value first = wideOf(low), second = wideOf(high);
  if (!first && !second) return {};
  if (!first) first = wideConstant(at, low);
  if (!second) second = wideConstant(at, high);
  if (!first || !second) return {};
  std::string name = std::string("llvm.nvvm.ff2") + (low.getType().isBF16() ? "bf16x2" : "f16x2") + ".rn";
  return at.intrinsic(name, VectorType::get({2}, low.getType()), {second, first});
}

void narrowNextToZeros(PrintContext &at) {
  SmallVector<arith::TruncFOp> alone;
  at.function->walk([&](arith::TruncFOp op) {
    if (wideOf(op.getResult()) && !op->use_empty()) alone.push_back(op);
  });
  for (arith::TruncFOp op : alone) {
    at.b.setInsertionPoint(op);
    at.b.setLoc(op.getLoc());
    Asm code(at);
    std::string to = code.out(op.getType()), from = code.in(op.getIn()), format = op.getType().isBF16() ? "bf16x2" : "f16x2";
    // cvt.u16, because ptxas takes a move of half a word for a number that is narrowed alone
    Value narrow = code.emit("{ .reg .b32 pair; cvt.rn." + format + ".f32 pair, 0f00000000, " + from + "; cvt.u16.u32 " + to + ", pair; }",
                             Effect::none)[0];
    replace(op, narrow);
  }
}

bool computedAlike(Value low, Value high) {
  arith::MulFOp first = productOf(low), second = productOf(high);
  return first && second && low.getType() == high.getType() && first.getFastmath() == second.getFastmath();
}

Value pairOf(PrintContext &at, Value low, Value high, int64_t depth) {
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
