// Rewrites operands of a scaled dot whose bytes hold two e2m1 numbers along M or N, so that a byte holds two along K, as MMAs read them:
//   before: %a, 64x128 bytes: byte (i, k) holds rows 2 i and 2 i + 1 of column k
//   after:  %even, %odd = the bytes of even and of odd k, 64x64
//           %rows = tt.join (%even & 15 | %odd << 4), (%even >> 4 | %odd & 240)
//           as 128x64 bytes: byte (m, i) holds columns 2 i and 2 i + 1
#include "ir/passes.h"
#include "ir/scaled_dot.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright {

static SmallVector<int64_t> shapeOf(Value tile) {
  return llvm::to_vector(cast<RankedTensorType>(tile.getType()).getShape());
}

static Value reshaped(ImplicitLocOpBuilder &b, Value tile, ArrayRef<int64_t> shape) {
  return tt::ReshapeOp::create(b, RankedTensorType::get(shape, b.getI8Type()), tile, false, false);
}

/// Moves dimension `from` before dimension `to` of the others.
static Value withMovedDim(ImplicitLocOpBuilder &b, Value tile, int64_t from, int64_t to) {
  SmallVector<int32_t> order = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(shapeOf(tile).size())));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, static_cast<int32_t>(from));
  auto shape = llvm::map_to_vector(order, [&](int32_t dim) { return shapeOf(tile)[static_cast<size_t>(dim)]; });
  return tt::TransOp::create(b, RankedTensorType::get(shape, b.getI8Type()), tile, order);
}

/// Returns bytes of two halves: the low (or high) half of a byte of `first`, then that of a byte of `second`.
static Value halves(ImplicitLocOpBuilder &b, Value first, Value second, bool high) {
  auto constant = [&](uint8_t value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(first.getType()), APInt(8, value)));
  };
  Value four = constant(4), lowHalf = constant(0x0f), highHalf = constant(0xf0);
  Value low = high ? Value(arith::ShRUIOp::create(b, first, four)) : arith::AndIOp::create(b, first, lowHalf);
  Value upper = high ? Value(arith::AndIOp::create(b, second, highHalf)) : arith::ShLIOp::create(b, second, four);
  return arith::OrIOp::create(b, low, upper);
}

static Value packedAlongK(ImplicitLocOpBuilder &b, const tt::ScaledOperand &x) {
  int64_t last = x.rank() - 1, depth = x.isLeft ? last : last - 1, outer = x.isLeft ? last - 1 : last;
  SmallVector<int64_t> pairs = shapeOf(x.tile);
  pairs[static_cast<size_t>(depth)] /= 2;
  SmallVector<int64_t> bytes = pairs, numbers = pairs;
  pairs.insert(pairs.begin() + depth + 1, 2);
  numbers[static_cast<size_t>(outer)] *= 2;
  Value inOrder = withMovedDim(b, reshaped(b, x.tile, pairs), depth + 1, x.rank());
  auto split = tt::SplitOp::create(b, RankedTensorType::get(bytes, b.getI8Type()), RankedTensorType::get(bytes, b.getI8Type()), inOrder);
  Value even = split.getResult(0), odd = split.getResult(1);
  bytes.push_back(2);
  Value joined =
      tt::JoinOp::create(b, RankedTensorType::get(bytes, b.getI8Type()), halves(b, even, odd, false), halves(b, even, odd, true));
  return reshaped(b, withMovedDim(b, joined, x.rank(), outer + 1), numbers);
}

void packAlongK(tt::DotScaledOp dot) {
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  if (!dot.getLhsKPack()) dot.getAMutable().assign(packedAlongK(b, leftOf(dot)));
  if (!dot.getRhsKPack()) dot.getBMutable().assign(packedAlongK(b, rightOf(dot)));
  dot.setLhsKPack(true);
  dot.setRhsKPack(true);
}

} // namespace tilewright
