// Replaces a dot of operands in microscaling formats by a dot of the dequantized operands. These are in bf16, or in fp16 if an operand is
// fp16; both represent every fp4 and fp8 number. Upstream does the same for targets without such an MMA:
//   before: %d = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = bf16 : tensor<128x32xi8>, tensor<128x2xi8> * tensor<64x128xbf16> -> ...
//   after:  %scaled = the halves of %a's bytes, interleaved, as bf16, times the 128x2 powers of two of %s, each repeated 32 times
//           tt.dot %scaled, %b, %c : tensor<128x64xbf16> * tensor<64x128xbf16> -> tensor<128x128xf32>
//
// A scale is e8m0, the exponent of an f32, or a small float that is a factor itself. The exponent 0 is 2^-127, and 255 is NaN. In fp16,
// exponents outside the range of fp16 give 0 or infinity. NaN is inserted into the scale before the scale is repeated, because its product
// with any number is NaN. With fastMath, there is no check for 255, which gives infinity.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/scaled_dot.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright;

namespace {

RankedTensorType tileType(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

/// True if the operand has scales of e8m0.
bool isExponents(const tt::ScaledOperand &x) {
  return x.scale && tileType(x.scale).getElementType().isInteger(8);
}

/// Emits operations on tiles of any shape at one insertion point.
class Builder {
public:
  Builder(tt::DotScaledOp op, UnpackE2m1 unpackE2m1, bool narrow)
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
    if (narrow && isExponents(x)) return arith::MulFOp::create(b, numbers, repeated(narrowScale(x.scale, small), depth));
    Value scale = scaleNumbers(x.scale);
    if (small) scale = arith::MulFOp::create(b, scale, sixtyFour(scale));
    return arith::MulFOp::create(b, numbers, repeated(scale, depth));
  }

  /// Returns how far above the smallest exponent scales may be, if fp16 must represent every number times its scale, for e4m3 or e2m1.
  static int64_t maxExponentRange(const tt::ScaledOperand &x) {
    return x.format == tt::ScaleDotElemType::E4M3 ? 21 : 29; // 448 * 2^7; a scale of 2^9, or 2^15 with small numbers
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
    return unpackE2m1 && isHalf && x.format == tt::ScaleDotElemType::E2M1 && x.scale && (isExactInHalf(x) || (narrow && isExponents(x)));
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
  Builder builder(op, unpackE2m1, /*narrow=*/false);
  Value a = builder.operand(left), b = builder.operand(right);
  OpBuilder at(op);
  auto dot = tt::DotOp::create(at, op.getLoc(), op.getType(), a, b, op.getC(), tt::InputPrecision::IEEE, 0);
  op.replaceAllUsesWith(dot.getResult());
  op.erase();
  return success();
}

/// Returns the loop that only accumulates this dot and may run twice, or null.
scf::ForOp repeatableLoop(tt::DotScaledOp op) {
  constexpr int64_t minRows = 64;
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  if (!loop || loop.getUnsignedCmp() || left.rank() != 2 || left.outer() < minRows || right.outer() < minRows) return {};
  if (!problemOf(left, right, op.getC().getType()).empty() || (!isExponents(left) && !isExponents(right))) return {};
  for (const tt::ScaledOperand &x : {left, right}) {
    if (x.format != tt::ScaleDotElemType::E4M3 && x.format != tt::ScaleDotElemType::E2M1) return {};
    if (x.scale && !isExponents(x)) return {};
  }
  int64_t dots = 0;
  for (Operation &each : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<tt::LoadOp>(each);
    dots += isa<tt::DotScaledOp>(each);
    if (each.getNumRegions() != 0 || !(isMemoryEffectFree(&each) || (load && !tt::isVolatileLoad(load)))) return {};
  }
  return dots == 1 ? loop : scf::ForOp();
}

/// True if a value depends on results of `loop`, which is in the persistent loop `tiles`.
bool dependsOn(Value value, scf::ForOp loop, scf::ForOp tiles) {
  return tt::dependsOn(value, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (!op) return source.getParentBlock() == tiles.getBody() ? tt::Search::follow : tt::Search::skip;
    if (!tiles->isProperAncestor(op)) return tt::Search::skip;
    return op->getNumRegions() != 0 ? tt::Search::found : tt::Search::follow; // regions are not analyzed
  });
}

/// Returns the persistent loop around such a loop if it is to run twice as a whole, or null. It must not store to memory that it loads, and
/// its store addresses must not depend on the dots.
scf::ForOp repeatableTiles(tt::DotScaledOp op, scf::ForOp loop, const Assumptions &assumptions) {
  constexpr int64_t minElements = 256 * 128; // of a tile whose operands a separate warpgroup dequantizes
  auto tiles = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!assumptions.noAliasGuard || !tiles || tiles.getUnsignedCmp() || !isa<tt::FuncOp>(tiles->getParentOp())) return {};
  if (leftOf(op).outer() * rightOf(op).outer() < minElements) return {};
  SmallVector<tt::LoadOp> loads;
  SmallVector<tt::StoreOp> stores;
  std::vector<LaunchGuard> guards;
  for (Operation &each : tiles.getBody()->without_terminator()) {
    if (&each == loop) continue;
    auto load = dyn_cast<tt::LoadOp>(each);
    auto store = dyn_cast<tt::StoreOp>(each);
    if (load && !tt::isVolatileLoad(load))
      loads.push_back(load);
    else if (store)
      stores.push_back(store);
    else if (!isMemoryEffectFree(&each))
      return {};
  }
  llvm::append_range(loads, loop.getBody()->getOps<tt::LoadOp>());
  for (tt::StoreOp store : stores) {
    if (dependsOn(store.getPtr(), loop, tiles) || (store.getMask() && dependsOn(store.getMask(), loop, tiles))) return {};
    for (tt::LoadOp load : loads) {
      std::optional<LaunchGuard> guard = assumptions.noAliasGuard(load.getPtr(), store.getPtr());
      if (!guard) return {};
      guards.push_back(*guard);
    }
  }
  assumptions.relyOn(cast<tt::FuncOp>(tiles->getParentOp()), guards);
  return tiles;
}

Value isAbove(ImplicitLocOpBuilder &b, Value tile, int64_t bound) {
  Type word = b.getI32Type();
  auto type = tileType(tile);
  Value limit = arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getI32IntegerAttr(static_cast<int32_t>(bound)))));
  Value above = arith::ExtUIOp::create(b, type, arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, tile, limit));
  Value row = tt::ReshapeOp::create(b, RankedTensorType::get({type.getNumElements()}, word), above, false, false);
  auto largest = tt::ReduceOp::create(b, ValueRange{row}, 0);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&largest.getCombineOp(), {}, {word, word}, {b.getLoc(), b.getLoc()});
    Value larger = arith::MaxUIOp::create(b, block->getArgument(0), block->getArgument(1));
    tt::ReduceReturnOp::create(b, ValueRange{larger});
  }
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, largest.getResult()[0], zero);
}

/// Returns the same loop in fp16, which also carries the largest exponents. `above`: their initial values.
scf::ForOp inHalf(scf::ForOp loop, ValueRange above, UnpackE2m1 unpackE2m1) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  SmallVector<Value> inits(loop.getInitArgs());
  llvm::append_range(inits, above);
  auto fast = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  fast->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  fast.setUnsignedCmp(loop.getUnsignedCmp());
  IRMapping map;
  map.map(loop.getInductionVar(), fast.getInductionVar());
  size_t results = loop.getNumResults();
  for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), fast.getRegionIterArgs().take_front(results)))
    map.map(from, to);
  b.setInsertionPointToStart(fast.getBody());
  tt::DotScaledOp product;
  for (Operation &each : loop.getBody()->without_terminator())
    if (auto copy = dyn_cast<tt::DotScaledOp>(b.clone(each, map))) product = copy;
  Builder builder(product, unpackE2m1, /*narrow=*/true);
  Value left = builder.operand(leftOf(product)), right = builder.operand(rightOf(product));
  b.setInsertionPointToEnd(fast.getBody());
  SmallVector<Value> yielded = llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) { return map.lookupOrDefault(value); });
  for (auto [carried, exponents] : llvm::zip(fast.getRegionIterArgs().drop_front(results), builder.exponents))
    yielded.push_back(arith::MaxUIOp::create(b, carried, exponents));
  scf::YieldOp::create(b, yielded);
  b.setInsertionPoint(product);
  product.replaceAllUsesWith(tt::DotOp::create(b, product.getType(), left, right, product.getC(), tt::InputPrecision::IEEE, 0).getResult());
  product.erase();
  return fast;
}

/// Returns the persistent loop with its inner loop in fp16. It carries the largest exponents from tile to tile.
scf::ForOp tilesInHalf(scf::ForOp tiles, scf::ForOp loop, ValueRange above, UnpackE2m1 unpackE2m1) {
  IRRewriter rewriter(tiles.getContext());
  rewriter.setInsertionPoint(tiles);
  auto keep = [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) { return SmallVector<Value>(carried.begin(), carried.end()); };
  DictionaryAttr attributes = tiles->getDiscardableAttrDictionary();
  auto fresh = cast<scf::ForOp>(*cast<LoopLikeOpInterface>(*tiles).replaceWithAdditionalYields(rewriter, above, false, keep));
  fresh->setDiscardableAttrs(attributes);
  scf::ForOp fast = inHalf(loop, fresh.getRegionIterArgs().take_back(above.size()), unpackE2m1);
  ValueRange results = fast.getResults();
  loop.replaceAllUsesWith(results.drop_back(above.size()));
  loop.erase();
  Operation *yield = fresh.getBody()->getTerminator();
  yield->setOperands(yield->getNumOperands() - static_cast<unsigned>(above.size()), static_cast<unsigned>(above.size()),
                     results.take_back(above.size()));
  return fresh;
}

/// First runs the loop in fp16, which needs half the instructions, and records the largest exponent of the scales. If fp16 could not
/// represent all numbers, the original loop runs too.
///   before: %d = scf.for (%c) { tt.dot_scaled }
///   after:  %x, %above = scf.for (%c, 0) { tt.dot in fp16; the largest exponent }
///           %d = scf.if %above > 21 { scf.for (%c) { tt.dot_scaled } } else { %x }
/// A persistent loop around it runs as a whole if possible. Then no tile waits for the check of the previous tile.
///   before: scf.for { %d = scf.for (%c) { tt.dot_scaled }    tt.store %d }
///   after:  %above = scf.for (0) { %x, %largest = scf.for (%c, %above so far) { tt.dot in fp16; ... }    tt.store %x }
///           scf.if %above > 21 { scf.for { %d = scf.for (%c) { tt.dot_scaled }    tt.store %d {tt.overwrites} } }
void computeInHalfFirst(tt::DotScaledOp op, scf::ForOp loop, UnpackE2m1 unpackE2m1, const Assumptions &assumptions) {
  scf::ForOp tiles = repeatableTiles(op, loop, assumptions), whole = tiles ? tiles : loop;
  ImplicitLocOpBuilder b(whole.getLoc(), whole);
  SmallVector<Value> inits;
  SmallVector<int64_t> limits;
  for (const tt::ScaledOperand &x : {leftOf(op), rightOf(op)}) {
    if (!isExponents(x)) continue;
    auto type = RankedTensorType::get(tileType(x.scale).getShape(), b.getI32Type());
    inits.push_back(arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getI32IntegerAttr(0)))));
    limits.push_back(Builder::maxExponentRange(x));
  }
  scf::ForOp fast, slow = loop;
  if (tiles) {
    slow = tiles.clone();
    slow.walk([&](tt::StoreOp store) { store->setAttr(tt::overwritesName, b.getUnitAttr()); });
    whole = fast = tilesInHalf(tiles, loop, inits, unpackE2m1);
  } else {
    fast = inHalf(loop, inits, unpackE2m1);
  }
  size_t results = slow.getNumResults();
  b.setInsertionPointAfter(whole);
  Value again;
  for (auto [above, limit] : llvm::zip(fast.getResults().drop_front(results), limits)) {
    Value some = isAbove(b, above, limit);
    again = again ? Value(arith::OrIOp::create(b, again, some)) : some;
  }
  auto branch = scf::IfOp::create(b, slow.getResultTypes(), again, /*withElseRegion=*/results != 0);
  for (auto [result, chosen] : llvm::zip(tiles ? fast.getResults().take_front(results) : loop.getResults(), branch.getResults()))
    result.replaceAllUsesWith(chosen);
  if (results != 0) {
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, fast.getResults().take_front(results));
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, slow.getResults());
  }
  if (!tiles) slow->remove();
  branch.thenBlock()->getOperations().push_front(slow);
}

} // namespace

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
