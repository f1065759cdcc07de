#include "gpu/schedule/dequantize/forwarded_scales.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t byteBits = 8;
constexpr unsigned fragmentRowBits = 3; ///< a thread has rows of an MMA's first operand that are so many bits of the index apart

int64_t trailingZeros(Value tile) {
  DenseIntElementsAttr constant;
  int64_t bits = ttg::elementBits(tile.getType());
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat()) return constant.getSplatValue<APInt>().countr_zero();
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<tt::BitcastOp, arith::TruncIOp, arith::ExtUIOp, arith::ExtSIOp>(op))
    return std::min(bits, trailingZeros(op->getOperand(0)));
  auto shifted = dyn_cast_or_null<arith::ShLIOp>(op);
  if (!shifted || !matchPattern(shifted.getRhs(), m_Constant(&constant)) || !constant.isSplat()) return 0;
  return static_cast<int64_t>(constant.getSplatValue<APInt>().getLimitedValue(bits));
}

/// True if only the upper byte of each element, of 16 bits, may be other than 0: powers of two in fp16.
static bool isInUpperByte(Value tile) {
  return ttg::elementBits(tile.getType()) == 16 && trailingZeros(tile) >= byteBits;
}

/// The bits of a byte, for each element of 16 bits of the tile.
static Value shiftByByte(OpBuilder &b, Location loc, RankedTensorType words) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, Attribute(b.getI16IntegerAttr(byteBits))));
}

/// The upper bytes of a tile's elements.
static Value upperBytes(OpBuilder &b, Value tile) {
  Location loc = tile.getLoc();
  auto type = cast<RankedTensorType>(tile.getType()), words = cast<RankedTensorType>(type.clone(b.getI16Type()));
  Value bits = tt::BitcastOp::create(b, loc, words, tile);
  return arith::TruncIOp::create(b, loc, type.clone(b.getI8Type()), arith::ShRUIOp::create(b, loc, bits, shiftByByte(b, loc, words)));
}

/// Loads a tile from a buffer, which may have the upper bytes of its elements.
static Value loadForwarded(OpBuilder &b, RankedTensorType type, Value buffer) {
  Location loc = buffer.getLoc();
  if (cast<ttg::BufferType>(buffer.getType()).getElementType() == type.getElementType())
    return ttg::LoadSharedOp::create(b, loc, type, buffer);
  auto words = cast<RankedTensorType>(type.clone(b.getI16Type()));
  Value bytes = ttg::LoadSharedOp::create(b, loc, cast<RankedTensorType>(type.clone(b.getI8Type())), buffer);
  Value shift = shiftByByte(b, loc, words);
  Value bits = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, words, bytes), shift);
  return tt::BitcastOp::create(b, loc, type, bits);
}

/// Scales of rows, in an order in which those of the rows that a thread multiplies, eight or half of all apart, are contiguous.
static SharedLayout scalesOfThreads(const Dims &shape, int64_t bits) {
  auto bitsOf = [](int64_t extent) { return static_cast<unsigned>(llvm::Log2_64(static_cast<uint64_t>(extent))); };
  unsigned rowBits = bitsOf(shape[0]), groupBits = bitsOf(shape[1]), half = rowBits - 1;
  SmallVector<unsigned> order = {groupBits + half, groupBits + fragmentRowBits}; // the lowest first
  for (unsigned bit = 0; bit < groupBits; ++bit)
    order.push_back(bit);
  for (unsigned bit = 0; bit < rowBits; ++bit)
    if (bit != half && bit != fragmentRowBits) order.push_back(groupBits + bit);
  SharedLayout layout;
  layout.shape = shape;
  layout.elementBits = bits;
  for (unsigned bit : order)
    layout.bases.push_back(1u << bit);
  return layout;
}

/// A buffer for the tile. Of powers of two in fp16 the upper byte is enough: four stages fit next to a tile that is stored.
static ttg::BufferType bufferOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type element = isInUpperByte(tile) ? Type(IntegerType::get(tile.getContext(), 8)) : type.getElementType();
  return ttg::BufferType::get(1, element, scalesOfThreads(ttg::shapeOf(type), element.getIntOrFloatBitWidth()));
}

void ForwardedScales::plan(Value tile) {
  Operation *op = tile.getDefiningOp();
  scf::ForOp loop = c.loop;
  if (!isTile(tile) || !op || op->getBlock() != loop.getBody() || isa<ttg::DescriptorLoadOp>(op)) return;
  if (!searched.insert(tile).second) return;
  if (isComputedFrom(tile, loop.getBody(), llvm::IsaPred<ttg::DescriptorLoadOp>)) {
    for (Value operand : op->getOperands())
      plan(operand);
    return;
  }
  tile = tt::lookThrough<tt::ExpandDimsOp, tt::BroadcastOp, tt::ReshapeOp, tt::TransOp, ttg::ConvertLayoutOp>(tile);
  auto type = cast<RankedTensorType>(tile.getType());
  bool isNarrow = type.getRank() == 2 && type.getDimSize(0) == c.shapeOfFirst()[0] && type.getDimSize(1) <= maxForwardedScales;
  if (!isNarrow || ttg::elementBits(type) < byteBits || !isComputedFrom(tile, loop.getBody(), llvm::IsaPred<tt::LoadOp>) ||
      llvm::is_contained(scales, tile))
    return;
  if (!byPartition.plan(tile, rowsOfThreads(ttg::shapeOf(type), 1))) return;
  scales.push_back(tile);
  byConsumers.readBy(tile, nullptr);
}

int64_t ForwardedScales::bytes() const {
  int64_t bytes = 0;
  for (Value tile : scales)
    bytes += bufferOf(tile).paddedTileBytes();
  return bytes;
}

void ForwardedScales::store(OpBuilder &b) {
  OpBuilder top(b.getContext());
  for (Value tile : scales) {
    Value made = byPartition.make(tile, rowsOfThreads(ttg::shapeOf(tile.getType()), 1));
    if (isInUpperByte(tile)) made = upperBytes(b, made);
    top.setInsertionPointToStart(scf::ForOp(c.loop).getBody());
    Value buffer = ttg::AllocOp::create(top, tile.getLoc(), bufferOf(tile));
    markOperandPartition(ttg::StoreSharedOp::create(b, tile.getLoc(), made, buffer));
    byConsumers.readBy(tile, [buffer](OpBuilder &at, RankedTensorType type) { return loadForwarded(at, type, buffer); });
  }
}

} // namespace tilewright::gpu
