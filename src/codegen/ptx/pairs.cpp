// Threads compute one float at a time, and memory accesses take words. Two 16-bit floats in one word have often been computed in the same
// way. The GPU can compute both at once:
//   before: %x = arith.mulf %a, %s : bf16    %y = arith.mulf %b, %s : bf16    ptx.pack %x, %y
//   after:  arith.mulf (%a, %b), (%s, %s) : vector<2xbf16>
// A kernel with `pairConversions` (lower-to-threads decides) converts f32 values to 16 bits in pairs. A value without a partner is paired
// with zero.
#include "codegen/ptx/asm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::ptx_print {

using namespace mlir;

static arith::MulFOp multiplicationOf(Value value) {
  auto multiplication = value.getDefiningOp<arith::MulFOp>();
  bool isShort = multiplication && isa<Float16Type, BFloat16Type>(value.getType());
  return isShort ? multiplication : arith::MulFOp();
}

/// The f32 operand of a conversion to 16 bits, or null.
static Value unconvertedOf(Value value) {
  auto converted = value.getDefiningOp<arith::TruncFOp>();
  bool isShort = converted && isa<Float16Type, BFloat16Type>(value.getType());
  return isShort && converted.getIn().getType().isF32() ? converted.getIn() : Value();
}

static Value constantAsF32(PrintContext &at, Value value) {
  FloatAttr number;
  if (!isa<Float16Type, BFloat16Type>(value.getType()) || !mlir::matchPattern(value, mlir::m_Constant(&number))) return {};
  return arith::ConstantOp::create(at.b, at.b.getF32FloatAttr(static_cast<float>(number.getValueAsDouble())));
}

Value convertedPair(PrintContext &at, Value low, Value high) {
  if (!at.pairsConversions) return {};
  Value first = unconvertedOf(low), second = unconvertedOf(high);
  if (!first && !second) return {};
  if (!first) first = constantAsF32(at, low);
  if (!second) second = constantAsF32(at, high);
  if (!first || !second) return {};
  std::string name = std::string("llvm.nvvm.ff2") + (low.getType().isBF16() ? "bf16x2" : "f16x2") + ".rn";
  return at.intrinsic(name, VectorType::get({2}, low.getType()), {second, first});
}

void convertNextToZeros(PrintContext &at) {
  SmallVector<arith::TruncFOp> conversions;
  at.function->walk([&](arith::TruncFOp op) {
    if (unconvertedOf(op.getResult()) && !op->use_empty()) conversions.push_back(op);
  });
  for (arith::TruncFOp op : conversions) {
    at.b.setInsertionPoint(op);
    at.b.setLoc(op.getLoc());
    Asm code(at);
    std::string to = code.out(op.getType()), from = code.in(op.getIn()), format = op.getType().isBF16() ? "bf16x2" : "f16x2";
    // Uses cvt.u16, because ptxas treats a move of half a word as a separate conversion.
    Value converted = code.emit(
        "{ .reg .b32 pair; cvt.rn." + format + ".f32 pair, 0f00000000, " + from + "; cvt.u16.u32 " + to + ", pair; }", Effect::none)[0];
    replace(op, converted);
  }
}

bool isSameComputation(Value low, Value high) {
  arith::MulFOp first = multiplicationOf(low), second = multiplicationOf(high);
  return first && second && low.getType() == high.getType() && first.getFastmath() == second.getFastmath();
}

Value pairOf(PrintContext &at, Value low, Value high, int64_t depth) {
  auto type = VectorType::get({2}, low.getType());
  if (depth > 0 && isSameComputation(low, high)) {
    arith::MulFOp first = multiplicationOf(low), second = multiplicationOf(high);
    Value lhs = pairOf(at, first.getLhs(), second.getLhs(), depth - 1), rhs = pairOf(at, first.getRhs(), second.getRhs(), depth - 1);
    return arith::MulFOp::create(at.b, lhs, rhs, first.getFastmath());
  }
  Value vector = LLVM::PoisonOp::create(at.b, type);
  vector = LLVM::InsertElementOp::create(at.b, vector, low, at.i32(0));
  return LLVM::InsertElementOp::create(at.b, vector, high, at.i32(1));
}

} // namespace tilewright::ptx_print
