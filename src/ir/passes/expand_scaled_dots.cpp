// A product of operands in microscaling formats is the product of the numbers that they stand for, in bf16 (in fp16 if an operand is fp16),
// which hold every fp4 and fp8 number; upstream computes so where a machine has no such product:
//   before: %d = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = bf16 : tensor<128x32xi8>, tensor<128x2xi8> * tensor<64x128xbf16> -> ...
//   after:  the halves of %a's bytes, side by side, as bf16; times the 128x2 powers of two of %s, each repeated 32 times;
//           tt.dot %scaled, %b, %c : tensor<128x64xbf16> * tensor<64x128xbf16> -> tensor<128x128xf32>
//
// A scale is e8m0, the exponent of an f32, 255 for NaN; or a small float, whose values multiply as they are. An exponent of 0 is the number
// 0, as upstream has it, and in fp16 exponents outside of that format's range are 0 or infinite. NaN is put into the scale, before it is
// repeated: the product with anything is NaN. With fastMath nobody looks, and 255 is an infinity.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/scaled_dot.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// Operations at one place, on tiles of any shape.
class Builder {
public:
  Builder(tt::DotScaledOp op, UnpackE2m1 unpackE2m1)
      : b(op.getLoc(), op), unpackE2m1(unpackE2m1), fastMath(op.getFastMath()), group(scaleGroup(leftOf(op), rightOf(op))),
        isHalf(op.getAElemType() == tt::ScaleDotElemType::FP16 || op.getBElemType() == tt::ScaleDotElemType::FP16),
        number(isHalf ? Type(b.getF16Type()) : Type(b.getBF16Type())) {}

  /// The numbers of an operand.
  Value operand(const tt::ScaledOperand &x) {
    int64_t last = x.rank() - 1, depth = x.isLeft ? last : last - 1, outer = x.isLeft ? last - 1 : last;
    Value numbers =
        x.format == tt::ScaleDotElemType::E2M1 ? pairs(x.tile, x.packedAlongK ? depth : outer) : toNumber(withFormat(x.tile, x.format));
    if (!x.scale) return numbers;
    return arith::MulFOp::create(b, numbers, repeated(scaleNumbers(x.scale), depth));
  }

private:
  static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }
  static Type withElement(Value tile, Type element) { return typeOf(tile).clone(element); }
  Value constant(Value like, Type element, int64_t value) {
    auto type = cast<ShapedType>(withElement(like, element));
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getIntegerAttr(element, value))));
  }

  /// The bits of a float format, given as integers, as that format.
  Value withFormat(Value tile, tt::ScaleDotElemType format) {
    if (isa<FloatType>(typeOf(tile).getElementType())) return tile;
    Type element = b.getF16Type();
    if (format == tt::ScaleDotElemType::E4M3) element = b.getType<Float8E4M3FNType>();
    if (format == tt::ScaleDotElemType::E5M2) element = b.getType<Float8E5M2Type>();
    if (format == tt::ScaleDotElemType::BF16) element = b.getBF16Type();
    return tt::BitcastOp::create(b, withElement(tile, element), tile);
  }

  Value toNumber(Value floats) {
    Type from = typeOf(floats).getElementType();
    if (from == number) return floats;
    bool rounds = from.getIntOrFloatBitWidth() >= 16;
    auto nearest = rounds ? tt::RoundingModeAttr::get(b.getContext(), tt::RoundingMode::RTNE) : tt::RoundingModeAttr();
    return tt::FpToFpOp::create(b, withElement(floats, number), floats, nearest);
  }

  /// The two numbers of each byte, along `dim`.
  Value pairs(Value bytes, int64_t dim) {
    Value numbers = unpackE2m1 ? unpackE2m1(b, bytes, dim, number) : Value();
    return numbers ? numbers : fourBits(unpack(bytes, dim));
  }

  /// Two elements for each byte along `dim`, the low half first; each in a byte of its own.
  Value unpack(Value bytes, int64_t dim) {
    Type byte = b.getI8Type();
    Value low = arith::AndIOp::create(b, bytes, constant(bytes, byte, 15));
    Value high = arith::ShRUIOp::create(b, bytes, constant(bytes, byte, 4));
    SmallVector<int64_t> shape(typeOf(bytes).getShape());
    shape.push_back(2);
    Value pairs = tt::JoinOp::create(b, RankedTensorType::get(shape, byte), low, high);
    return merged(turned(pairs, typeOf(bytes).getRank(), dim + 1), dim);
  }

  /// Dimension `from` of a tile brought in front of dimension `to`.
  Value turned(Value tile, int64_t from, int64_t to) {
    if (from == to) return tile;
    SmallVector<int32_t> order;
    for (int64_t dim = 0, rank = typeOf(tile).getRank(); dim < rank; ++dim)
      if (dim != from) order.push_back(static_cast<int32_t>(dim));
    order.insert(order.begin() + to, static_cast<int32_t>(from));
    SmallVector<int64_t> shape;
    for (int32_t dim : order)
      shape.push_back(typeOf(tile).getDimSize(dim));
    return tt::TransOp::create(b, RankedTensorType::get(shape, typeOf(tile).getElementType()), tile, order);
  }

  /// Dimension `dim` and the one behind it as one.
  Value merged(Value tile, int64_t dim) {
    SmallVector<int64_t> shape(typeOf(tile).getShape());
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
    return tt::ReshapeOp::create(b, RankedTensorType::get(shape, typeOf(tile).getElementType()), tile, false, false);
  }

  /// e2m1 in the low half of bytes: a sign, two bits of exponent and one of fraction. 0 and 1 are 0 and 0.5; the bits of the others lie as
  /// those of a wider float do, whose exponent has another bias.
  Value fourBits(Value bytes) {
    Type word = b.getI16Type();
    int64_t fraction = isHalf ? 10 : 7, half = isHalf ? 0x3800 : 0x3f00; // the bits of 0.5: an exponent one below the bias
    Value bits = arith::ExtUIOp::create(b, withElement(bytes, word), bytes);
    Value magnitude = arith::AndIOp::create(b, bits, constant(bits, word, 7));
    Value aligned = arith::ShLIOp::create(b, magnitude, constant(bits, word, fraction - 1));
    Value normal = arith::AddIOp::create(b, aligned, constant(bits, word, half));
    Value small = arith::MulIOp::create(b, magnitude, constant(bits, word, half));
    Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, magnitude, constant(bits, word, 2));
    Value sign = arith::ShLIOp::create(b, arith::AndIOp::create(b, bits, constant(bits, word, 8)), constant(bits, word, 12));
    Value result = arith::OrIOp::create(b, arith::SelectOp::create(b, isSmall, small, normal), sign);
    return tt::BitcastOp::create(b, withElement(bits, number), result);
  }

  Value scaleNumbers(Value scale) {
    if (isa<FloatType>(typeOf(scale).getElementType())) return toNumber(scale);
    // In fp16 by way of f32, whose exponents are these.
    Type word = isHalf ? b.getI32Type() : b.getI16Type();
    Value exponent = arith::ExtUIOp::create(b, withElement(scale, word), scale);
    Value bits = arith::ShLIOp::create(b, exponent, constant(exponent, word, isHalf ? 23 : 7));
    if (!fastMath) {
      Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, exponent, constant(exponent, word, 255));
      bits = arith::SelectOp::create(b, isNan, constant(exponent, word, isHalf ? 0x7fc00000 : 0x7fc0), bits);
    }
    Value power = tt::BitcastOp::create(b, withElement(scale, isHalf ? Type(b.getF32Type()) : number), bits);
    return isHalf ? toNumber(power) : power;
  }

  /// A scale for each group of an operand, [outer, groups], as one for each element: [outer, depth], or [depth, outer] where the inner
  /// dimension comes first.
  Value repeated(Value scale, int64_t depth) {
    int64_t rank = typeOf(scale).getRank();
    Value inOrder = turned(scale, rank - 1, depth);
    SmallVector<int64_t> shape(typeOf(inOrder).getShape());
    shape.insert(shape.begin() + depth + 1, 1);
    auto axis = static_cast<uint32_t>(depth + 1);
    Value expanded = tt::ExpandDimsOp::create(b, RankedTensorType::get(shape, number), inOrder, axis);
    shape[depth + 1] = group;
    return merged(tt::BroadcastOp::create(b, RankedTensorType::get(shape, number), expanded), depth);
  }

  ImplicitLocOpBuilder b;
  UnpackE2m1 unpackE2m1;
  bool fastMath;
  int64_t group;
  bool isHalf;
  Type number;
};

LogicalResult expand(tt::DotScaledOp op, UnpackE2m1 unpackE2m1) {
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  if (std::string problem = problemOf(left, right, op.getC().getType()); !problem.empty())
    return refuse(op, Diag::invalidArgument, {problem, ""});
  Builder builder(op, unpackE2m1);
  Value a = builder.operand(left), b = builder.operand(right);
  OpBuilder at(op);
  auto dot = tt::DotOp::create(at, op.getLoc(), op.getType(), a, b, op.getC(), tt::InputPrecision::IEEE, 0);
  op.replaceAllUsesWith(dot.getResult());
  op.erase();
  return success();
}

} // namespace

LogicalResult tilewright::expandScaledDots(ModuleOp module) {
  return expandScaledDots(module, UnpackE2m1());
}

LogicalResult tilewright::expandScaledDots(ModuleOp module, UnpackE2m1 unpackE2m1) {
  WalkResult walk =
      module.walk([&](tt::DotScaledOp op) { return succeeded(expand(op, unpackE2m1)) ? WalkResult::advance() : WalkResult::interrupt(); });
  return failure(walk.wasInterrupted());
}
