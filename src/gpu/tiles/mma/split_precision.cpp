// Emulates f32 dots by tf32 or bf16 tensor cores, which have 11 or 8 bits of mantissa. Each operand becomes a sum of such parts, and the
// dot becomes several dots (Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores", 2022):
//   before: tt.dot %a, %b, %c, inputPrecision = tf32x3 : f32
//   after:  a = a0 + a1, b = b0 + b1 in tf32     %s = a1 b0 + a0 b1     dot(a0, b0, %c) + %s
// bf16x3 does the same in bf16; bf16x6 has three parts of each operand. The omitted terms are smaller than the last bits of f32, or of the
// parts for bf16x3. An infinity's second part is NaN, and so is %s; a select then drops %s and keeps the first dot.
#include "gpu/passes.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright::gpu {

using Precision = tt::InputPrecision;

static bool isBf16(Precision precision) {
  return precision == Precision::BF16x3 || precision == Precision::BF16x6;
}

/// True if tensor cores support the dots of the parts.
static bool hasTensorCore(tt::DotOp op, int64_t warps, const GpuTarget &target) {
  bool isBf = isBf16(op.getInputPrecision());
  if (isBf && (!target.bf16Mma || ttg::shapeOf(op.getA().getType()).back() * 16 < mmaDepthBytes * 8)) return false;
  return multipliesAsTf32(op, warps, target); // tiles that suit tf32 suit bf16
}

static Value constantTile(ImplicitLocOpBuilder &b, RankedTensorType type, Attribute value) {
  return arith::ConstantOp::create(b, type, DenseElementsAttr::get(type, value));
}

/// Keeps the bits of `mask` of f32 numbers. A NaN may become an infinity.
static Value maskBits(ImplicitLocOpBuilder &b, Value tile, uint32_t mask) {
  RankedTensorType bits = cast<RankedTensorType>(tile.getType()).clone(b.getI32Type());
  Value kept = constantTile(b, bits, b.getI32IntegerAttr(static_cast<int32_t>(mask)));
  return tt::BitcastOp::create(b, tile.getType(), arith::AndIOp::create(b, tt::BitcastOp::create(b, bits, tile), kept));
}

/// Rounds numbers toward zero to tf32. Tensor cores do not read the other bits, which may be all that a NaN has.
static Value toTf32(ImplicitLocOpBuilder &b, Value tile) {
  constexpr uint32_t tf32Bits = 0xffffe000;
  auto type = cast<RankedTensorType>(tile.getType());
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, tile, tile);
  Value nan = constantTile(b, type, b.getFloatAttr(type.getElementType(), APFloat::getQNaN(APFloat::IEEEsingle())));
  return arith::SelectOp::create(b, isNumber, maskBits(b, tile, tf32Bits), nan);
}

/// Rounds numbers toward zero that are finite, but would be infinite in bf16.
static Value withoutOverflow(ImplicitLocOpBuilder &b, Value tile) {
  constexpr uint32_t bf16Bits = 0xffff0000, magnitude = 0x7fffffff;
  constexpr int32_t first = 0x7f7f8000, infinity = 0x7f800000; // the first number that becomes infinite
  RankedTensorType bits = cast<RankedTensorType>(tile.getType()).clone(b.getI32Type());
  auto constant = [&](int32_t value) { return constantTile(b, bits, b.getI32IntegerAttr(value)); };
  Value above = arith::SubIOp::create(b, tt::BitcastOp::create(b, bits, maskBits(b, tile, magnitude)), constant(first));
  Value overflows = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, above, constant(infinity - first));
  return arith::SelectOp::create(b, overflows, maskBits(b, tile, bf16Bits), tile);
}

/// Returns parts that add up to the tile, the largest first.
static SmallVector<Value> splitIntoParts(ImplicitLocOpBuilder &b, Value tile, Precision precision) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<Value> parts;
  size_t count = precision == Precision::BF16x6 ? 3 : 2;
  for (Value rest = tile; parts.size() < count;) {
    Value part = !isBf16(precision) ? toTf32(b, rest) : parts.empty() ? withoutOverflow(b, rest) : rest;
    parts.push_back(isBf16(precision) ? arith::TruncFOp::create(b, type.clone(b.getBF16Type()), part).getResult() : part);
    if (parts.size() < count)
      rest = arith::SubFOp::create(b, rest, isBf16(precision) ? arith::ExtFOp::create(b, type, parts.back()).getResult() : part);
  }
  return parts;
}

static void split(tt::DotOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Precision precision = op.getInputPrecision(), each = isBf16(precision) ? Precision::IEEE : Precision::TF32;
  SmallVector<Value> left = splitIntoParts(b, op.getA(), precision), right = splitIntoParts(b, op.getB(), precision);
  auto type = cast<RankedTensorType>(op.getType());
  Attribute valid = op->getAttr(tt::validExtentName);
  auto multiply = [&](Value a, Value with, Value c) -> Value {
    auto dot = tt::DotOp::create(b, type, a, with, c, each, 0);
    if (valid) dot->setAttr(tt::validExtentName, valid);
    return dot;
  };
  Value zero = constantTile(b, type, b.getF32FloatAttr(0)), small = zero;
  for (size_t order = left.size() - 1; order > 0; --order) // the smallest first
    for (size_t i = 0; i <= order; ++i)
      small = multiply(left[order - i], right[i], small);
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, small, small);
  small = arith::SelectOp::create(b, isNumber, small, zero);
  Value large = multiply(left[0], right[0], op.getC());
  op.replaceAllUsesWith(arith::AddFOp::create(b, large, small).getResult());
  op.erase();
}

LogicalResult splitPrecision(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    SmallVector<tt::DotOp> dots;
    function.walk([&](tt::DotOp op) {
      bool asks = op.getInputPrecision() != Precision::TF32 && op.getInputPrecision() != Precision::IEEE;
      bool isF32 = getElementTypeOrSelf(op.getA().getType()).isF32() && getElementTypeOrSelf(op.getType()).isF32();
      if (asks && isF32 && hasTensorCore(op, config.getWarps(), target)) dots.push_back(op);
    });
    for (tt::DotOp op : dots)
      split(op);
    return success();
  });
}

} // namespace tilewright::gpu
