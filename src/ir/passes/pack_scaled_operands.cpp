// Packs the operands of a scaled dot as MMAs with block scales read them. Threads compute these bytes, before they are stored to shared
// memory or multiplied.
//
// 1. Bytes that hold two e2m1 numbers along M or N hold two along K:
//   before: %a, 64x128 bytes: byte (i, k) holds rows 2 i and 2 i + 1 of column k
//   after:  %even, %odd = the bytes of even and of odd k, 64x64
//           %rows = tt.join (%even & 15 | %odd << 4), (%even >> 4 | %odd & 240)
//           as 128x64 bytes: byte (m, i) holds columns 2 i and 2 i + 1
// 2. For tcgen05.mma, 16 numbers of 6 bits along K, each in the low bits of a byte, become 12 bytes and 4 bytes of padding.
#include "ir/passes.h"
#include "ir/scaled_dot.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright {

static SmallVector<int64_t> shapeOf(Value tile) {
  return llvm::to_vector(cast<RankedTensorType>(tile.getType()).getShape());
}

namespace {
/// Emits operations on tiles of bytes.
class Packer {
public:
  explicit Packer(tt::DotScaledOp dot) : b(dot.getLoc(), dot) {}

  /// Returns an operand whose bytes hold two numbers along the other dimension with two numbers along K.
  Value alongK(const tt::ScaledOperand &x) {
    int64_t last = x.rank() - 1, depth = x.isLeft ? last : last - 1, outer = x.isLeft ? last - 1 : last;
    SmallVector<int64_t> pairs = shapeOf(x.tile), numbers = pairs;
    pairs[static_cast<size_t>(depth)] /= 2;
    pairs.insert(pairs.begin() + depth + 1, 2);
    numbers[static_cast<size_t>(depth)] /= 2;
    numbers[static_cast<size_t>(outer)] *= 2;
    auto [even, odd] = split(withMovedDim(reshaped(x.tile, pairs), depth + 1, x.rank()));
    Value first = either(low(even, 0x0f), left(odd, 4)), second = either(right(even, 4), low(odd, 0xf0));
    return reshaped(withMovedDim(join(first, second), x.rank(), outer + 1), numbers);
  }

  /// Returns an operand of 6-bit numbers with 12 bytes for each 16 numbers along K, and 4 bytes of padding after them.
  Value inUnits(const tt::ScaledOperand &x) {
    constexpr int64_t unit = 16;
    int64_t last = x.rank() - 1;
    Value rows = x.isLeft ? x.tile : withMovedDim(x.tile, last, last - 1);
    SmallVector<int64_t> shape = shapeOf(rows), units = shape;
    units.back() /= unit;
    units.append(4, 2); // a dimension for each bit of an index in a unit
    SmallVector<Value> numbers{reshaped(rows, units)}, bytes;
    while (numbers.size() < unit) {
      SmallVector<Value> odds;
      for (Value &each : numbers)
        std::tie(each, odds.emplace_back()) = split(each);
      // The last dimension is the lowest bit: later splits give higher ones.
      numbers.append(odds);
    }
    for (size_t i = 0; i < unit; i += 4) { // four numbers are three bytes
      Value a = numbers[i], c = numbers[i + 1], d = numbers[i + 2], e = numbers[i + 3];
      bytes.push_back(either(low(a, 0x3f), left(c, 6)));
      bytes.push_back(either(low(right(c, 2), 0x0f), left(d, 4)));
      bytes.push_back(either(low(right(d, 4), 0x03), left(e, 2)));
    }
    bytes.resize(unit, constant(bytes[0], 0));
    for (size_t half = unit / 2; half > 0; half /= 2) // the last joins are of the lowest bit
      for (size_t i = 0; i < half; ++i)
        bytes[i] = join(bytes[i], bytes[i + half]);
    Value packed = reshaped(bytes[0], shape);
    return x.isLeft ? packed : withMovedDim(packed, last, last - 1);
  }

private:
  RankedTensorType typeOf(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, b.getI8Type()); }
  Value constant(Value like, uint8_t value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(like.getType()), APInt(8, value)));
  }
  Value low(Value x, uint8_t mask) { return arith::AndIOp::create(b, x, constant(x, mask)); }
  Value left(Value x, uint8_t bits) { return arith::ShLIOp::create(b, x, constant(x, bits)); }
  Value right(Value x, uint8_t bits) { return arith::ShRUIOp::create(b, x, constant(x, bits)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value reshaped(Value tile, ArrayRef<int64_t> shape) { return tt::ReshapeOp::create(b, typeOf(shape), tile, false, false); }

  std::pair<Value, Value> split(Value tile) {
    RankedTensorType type = typeOf(ArrayRef(shapeOf(tile)).drop_back());
    auto halves = tt::SplitOp::create(b, type, type, tile);
    return {halves.getResult(0), halves.getResult(1)};
  }

  Value join(Value first, Value second) {
    SmallVector<int64_t> shape = shapeOf(first);
    shape.push_back(2);
    return tt::JoinOp::create(b, typeOf(shape), first, second);
  }

  /// Moves dimension `from` before dimension `to` of the others.
  Value withMovedDim(Value tile, int64_t from, int64_t to) {
    auto order = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(shapeOf(tile).size())));
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, static_cast<int32_t>(from));
    auto shape = llvm::map_to_vector(order, [&](int32_t dim) { return shapeOf(tile)[static_cast<size_t>(dim)]; });
    return tt::TransOp::create(b, typeOf(shape), tile, order);
  }

  ImplicitLocOpBuilder b;
};
} // namespace

void packScaledOperands(tt::DotScaledOp dot, bool inUnits) {
  Packer packer(dot);
  auto packed = [&](const tt::ScaledOperand &x) {
    if (!x.packedAlongK) return packer.alongK(x);
    return inUnits && tt::isSixBits(x.format) ? packer.inUnits(x) : x.tile;
  };
  Value a = packed(leftOf(dot)), b = packed(rightOf(dot));
  dot.getAMutable().assign(a);
  dot.getBMutable().assign(b);
  dot.setLhsKPack(true);
  dot.setRhsKPack(true);
}

} // namespace tilewright
