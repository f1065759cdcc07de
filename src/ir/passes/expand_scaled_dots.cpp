// Replaces a dot of operands in microscaling formats by a dot of the dequantized operands. These are in bf16, or in fp16 if an operand is
// fp16; both represent every fp4 and fp8 number. Upstream does the same for targets without such an MMA:
//   before: %d = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = bf16 : tensor<128x32xi8>, tensor<128x2xi8> * tensor<64x128xbf16> -> ...
//   after:  %scaled = the halves of %a's bytes, interleaved, as bf16, times the 128x2 powers of two of %s, each repeated 32 times
//           tt.dot %scaled, %b, %c : tensor<128x64xbf16> * tensor<64x128xbf16> -> tensor<128x128xf32>
//
// A scale is e8m0, the exponent of an f32, or a small float that is a factor itself. The exponent 0 is 2^-127, and 255 is NaN. In fp16,
// exponents outside the range of fp16 give 0 or infinity. NaN is inserted into the scale before the scale is repeated, because its product
// with any number is NaN. With fastMath, there is no check for 255, which gives infinity.
#include "ir/passes/scaled_dots.h"
#include "ir/refusal.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::scaled_dots;

namespace {

/// Emits operations on tiles of any shape at one insertion point.
class Dequantizer {
public:
  Dequantizer(tt::DotScaledOp op, UnpackE2m1 unpackE2m1, bool narrow)
      : b(op.getLoc(), op), unpackE2m1(unpackE2m1), fastMath(op.getFastMath()), narrow(narrow), group(scaleGroup(leftOf(op), rightOf(op))),
        isHalf(narrow || op.getAElemType() == tt::ScaleDotElemType::FP16 || op.getBElemType() == tt::ScaleDotElemType::FP16 ||
               (unpackE2m1 && isExactInHalf(leftOf(op)) && isExactInHalf(rightOf(op)))),
        number(isHalf ? Type(b.getF16Type()) : Type(b.getBF16Type())) {}

  /// Returns the dequantized operand.
  Value operand(const tt::ScaledOperand &x) {
    int64_t last = x.rank() - 1, depth = x.isLeft ? last : last - 1, outer = x.isLeft ? last - 1 : last;
    bool small = isSmall(x, narrow);
    Value numbers = x.format == tt::ScaleDotElemType::E2M1 ? pairs(x.tile, x.packedAlongK ? depth : outer, small)
                    : tt::isSixBits(x.format)              ? sixBits(x.tile, x.format == tt::ScaleDotElemType::E2M3 ? 3 : 2)
                                                           : toNumber(withFormat(x.tile, x.format));
    if (!x.scale) return numbers;
    if (narrow && hasExponents(x)) return arith::MulFOp::create(b, numbers, repeated(narrowScale(x.scale, small), depth));
    Value scale = scaleNumbers(x.scale);
    if (small) scale = arith::MulFOp::create(b, scale, sixtyFour(scale));
    return arith::MulFOp::create(b, numbers, repeated(scale, depth));
  }

  SmallVector<Value> exponents; ///< of narrow scales, above the smallest one

private:
  static constexpr int64_t minExponent = 113; // 2^-14
  static constexpr int64_t smaller = 6;       // numbers of e2m1 are scaled by 2^-6 and their scales by 2^6
  /// True if fp16, like bf16, represents each number times its scale: from 0.5 * 2^-9 to 6 * 448, in six bits.
  static bool isExactInHalf(const tt::ScaledOperand &x) {
    return x.format == tt::ScaleDotElemType::E2M1 && x.scale && isa<Float8E4M3FNType>(typeOf(x.scale).getElementType());
  }
  /// True if the target scales the operand's numbers down, and fp16 can represent the larger scales.
  bool isSmall(const tt::ScaledOperand &x, bool narrow) const {
    return unpackE2m1 && isHalf && x.format == tt::ScaleDotElemType::E2M1 && x.scale && (isExactInHalf(x) || (narrow && hasExponents(x)));
  }
  Value sixtyFour(Value like) {
    auto type = cast<ShapedType>(like.getType());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getFloatAttr(number, 1 << smaller))));
  }
  static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }
  static Type withElement(Value tile, Type element) { return typeOf(tile).clone(element); }
  Value constant(Value like, Type element, int64_t value) {
    auto type = cast<ShapedType>(withElement(like, element));
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getIntegerAttr(element, value))));
  }

  /// Returns integers that are the bits of a float format as that format.
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

  /// Returns the two numbers of each byte, along `dim`.
  Value pairs(Value bytes, int64_t dim, bool small) {
    if (Value numbers = unpackE2m1 ? unpackE2m1(b, bytes, dim, number, small) : Value()) return numbers;
    Value numbers = fourBits(unpack(bytes, dim));
    return small ? Value(arith::DivFOp::create(b, numbers, sixtyFour(numbers))) : numbers;
  }

  /// Returns two bytes for each byte along `dim`: the low half, then the high half.
  Value unpack(Value bytes, int64_t dim) {
    Type byte = b.getI8Type();
    Value low = arith::AndIOp::create(b, bytes, constant(bytes, byte, 15));
    Value high = arith::ShRUIOp::create(b, bytes, constant(bytes, byte, 4));
    SmallVector<int64_t> shape(typeOf(bytes).getShape());
    shape.push_back(2);
    Value pairs = tt::JoinOp::create(b, RankedTensorType::get(shape, byte), low, high);
    return merged(moveDim(pairs, typeOf(bytes).getRank(), dim + 1), dim);
  }

  /// Moves dimension `from` of a tile before dimension `to`.
  Value moveDim(Value tile, int64_t from, int64_t to) {
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

  /// Merges dimension `dim` with the one after it.
  Value merged(Value tile, int64_t dim) {
    SmallVector<int64_t> shape(typeOf(tile).getShape());
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
    return tt::ReshapeOp::create(b, RankedTensorType::get(shape, typeOf(tile).getElementType()), tile, false, false);
  }

  /// Converts e2m1 in the low half of bytes: a sign, two exponent bits, one fraction bit. The bit patterns 0 and 1 are 0 and 0.5. The other
  /// patterns are those of a wider float with another bias.
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

  /// Converts e2m3 or e3m2 in the low bits of bytes: a sign, an exponent, a fraction of `fraction` bits. The bias of the exponent is
  /// changed. Of a subnormal number, 1 is subtracted from the factor of the power.
  Value sixBits(Value bytes, int64_t fraction) {
    Type word = b.getI16Type();
    int64_t bias = (1 << (4 - fraction)) - 1, wideFraction = isHalf ? 10 : 7, wideBias = isHalf ? 15 : 127;
    Value bits = arith::ExtUIOp::create(b, withElement(bytes, word), bytes);
    Value magnitude = arith::AndIOp::create(b, bits, constant(bits, word, 31));
    Value aligned = arith::ShLIOp::create(b, magnitude, constant(bits, word, wideFraction - fraction));
    auto withBias = [&](int64_t exponent) -> Value {
      Value sum = arith::AddIOp::create(b, aligned, constant(bits, word, exponent << wideFraction));
      return tt::BitcastOp::create(b, withElement(bits, number), sum);
    };
    Value smallest = tt::BitcastOp::create(b, withElement(bits, number), constant(bits, word, (wideBias - bias + 1) << wideFraction));
    Value subnormal = arith::SubFOp::create(b, withBias(wideBias - bias + 1), smallest);
    Value isSubnormal = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, magnitude, constant(bits, word, 1 << fraction));
    Value result = arith::SelectOp::create(b, isSubnormal, subnormal, withBias(wideBias - bias));
    Value sign = arith::ShLIOp::create(b, arith::AndIOp::create(b, bits, constant(bits, word, 32)), constant(bits, word, 10));
    Value signedBits = arith::OrIOp::create(b, tt::BitcastOp::create(b, withElement(bits, word), result), sign);
    return tt::BitcastOp::create(b, withElement(bits, number), signedBits);
  }

  Value scaleNumbers(Value scale) {
    if (isa<FloatType>(typeOf(scale).getElementType())) return toNumber(scale);
    return isHalf ? toNumber(powerOf(scale, b.getF32Type(), 23)) : powerOf(scale, number, 7);
  }

  /// Returns 2^(scale - 127) in a float type with 8 bits of exponent, and `fraction` bits after them. The highest bit of the fraction makes
  /// NaN of the exponent 255, and 2^-127, a subnormal number, of the exponent 0. For fp16 the exponent 0 may as well be 0.
  Value powerOf(Value scale, Type type, int64_t fraction) {
    Type byte = b.getI8Type(), word = b.getIntegerType(type.getIntOrFloatBitWidth());
    Value exponent = arith::ExtUIOp::create(b, withElement(scale, word), scale);
    Value bits = arith::ShLIOp::create(b, exponent, constant(exponent, word, fraction));
    if (!fastMath || !isHalf) {
      Value next = fastMath ? scale : Value(arith::AddIOp::create(b, scale, constant(scale, byte, 1))); // 0 for 255, and 1 for 0
      Value isSpecial = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, next, constant(scale, byte, fastMath ? 0 : 1));
      Value special = arith::OrIOp::create(b, bits, constant(exponent, word, int64_t(1) << (fraction - 1)));
      bits = arith::SelectOp::create(b, isSpecial, special, bits);
    }
    return tt::BitcastOp::create(b, withElement(scale, type), bits);
  }

  /// Repeats a scale for each group of an operand, [outer, groups], for each element: [outer, depth], or [depth, outer] if the inner
  /// dimension comes first.
  Value repeated(Value scale, int64_t depth) {
    int64_t rank = typeOf(scale).getRank();
    Value inOrder = moveDim(scale, rank - 1, depth);
    SmallVector<int64_t> shape(typeOf(inOrder).getShape());
    shape.insert(shape.begin() + depth + 1, 1);
    auto axis = static_cast<uint32_t>(depth + 1);
    Value expanded = tt::ExpandDimsOp::create(b, RankedTensorType::get(shape, number), inOrder, axis);
    shape[depth + 1] = group;
    return merged(tt::BroadcastOp::create(b, RankedTensorType::get(shape, number), expanded), depth);
  }

  /// Returns the scale as 0 or a power of two that is a normal number of fp16, larger for small numbers. Records how far its exponent is
  /// above the smallest one. The exponent 0, which fp16 cannot represent, counts as far above, except where a mask gives it: the scale is 0
  /// there.
  Value narrowScale(Value scale, bool small) {
    Type word = b.getI32Type();
    int64_t smallest = small ? minExponent - smaller : minExponent;
    Value exponent = arith::ExtUIOp::create(b, withElement(scale, word), scale);
    Value zero = constant(exponent, word, 0), below = constant(exponent, word, smallest - 1);
    Value above = arith::SubIOp::create(b, exponent, constant(exponent, word, smallest));
    auto load = scale.getDefiningOp<tt::LoadOp>();
    if (load && load.getMask() && (!load.getOther() || matchPattern(load.getOther(), m_Zero())))
      above = arith::SelectOp::create(b, load.getMask(), above, zero);
    exponents.push_back(above);
    Value biased = arith::SubIOp::create(b, arith::MaxUIOp::create(b, exponent, below), below);
    Value bits = arith::ShLIOp::create(b, biased, constant(exponent, word, 10));
    return tt::BitcastOp::create(b, withElement(scale, number), arith::TruncIOp::create(b, withElement(scale, b.getI16Type()), bits));
  }

  ImplicitLocOpBuilder b;
  UnpackE2m1 unpackE2m1;
  bool fastMath, narrow;
  int64_t group;
  bool isHalf;
  Type number;
};

LogicalResult expand(tt::DotScaledOp op, UnpackE2m1 unpackE2m1) {
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  if (std::string problem = problemOf(left, right, op.getC().getType()); !problem.empty())
    return refuse(op, Diag::invalidArgument, {problem, ""});
  Dequantizer dequantizer(op, unpackE2m1, /*narrow=*/false);
  Value a = dequantizer.operand(left), b = dequantizer.operand(right);
  OpBuilder at(op);
  auto dot = tt::DotOp::create(at, op.getLoc(), op.getType(), a, b, op.getC(), tt::InputPrecision::IEEE, 0);
  op.replaceAllUsesWith(dot.getResult());
  op.erase();
  return success();
}

} // namespace

bool scaled_dots::hasExponents(const tt::ScaledOperand &x) {
  return x.scale && cast<RankedTensorType>(x.scale.getType()).getElementType().isInteger(8);
}

int64_t scaled_dots::maxExponentRange(const tt::ScaledOperand &x) {
  return x.format == tt::ScaleDotElemType::E4M3 ? 21 : 29; // 448 * 2^7; a scale of 2^9, or 2^15 with small numbers
}

scaled_dots::HalfOperands scaled_dots::inHalf(tt::DotScaledOp op, UnpackE2m1 unpackE2m1) {
  Dequantizer dequantizer(op, unpackE2m1, /*narrow=*/true);
  Value left = dequantizer.operand(leftOf(op)), right = dequantizer.operand(rightOf(op));
  return {left, right, dequantizer.exponents};
}

LogicalResult tilewright::expandScaledDots(ModuleOp module) {
  return expandScaledDots(module, UnpackE2m1(), Assumptions());
}

LogicalResult tilewright::expandScaledDots(ModuleOp module, UnpackE2m1 unpackE2m1, const Assumptions &assumptions,
                                           llvm::function_ref<bool(tt::DotScaledOp)> isNative) {
  SmallVector<tt::DotScaledOp> dots;
  module.walk([&](tt::DotScaledOp op) { dots.push_back(op); });
  for (tt::DotScaledOp op : dots)
    if (scf::ForOp loop = unpackE2m1 && !(isNative && isNative(op)) ? repeatableLoop(op) : scf::ForOp())
      computeInHalfFirst(op, loop, unpackE2m1, assumptions);
  WalkResult walk = module.walk([&](tt::DotScaledOp op) {
    bool isDone = (isNative && isNative(op)) || succeeded(expand(op, unpackE2m1));
    return isDone ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
