// Operations whose elements come from places that only the running program knows, or from two tiles: one side puts its tile into shared
// memory in row-major order, the other takes what it wants by its index.
#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

void ThreadLowering::storeFlat(Value base, const Parts &held, const Layout &layout, int64_t firstElement) {
  int64_t bytes = memoryType(held.front().getType()).getIntOrFloatBitWidth() / 8;
  Value first = holdsFirstCopy(layout);
  for (auto [reg, value] : llvm::enumerate(held)) {
    Value place = arith::MulIOp::create(b, flatIndex(layout, static_cast<int64_t>(reg)), i32(bytes));
    ptx::StoreSharedOp::create(b, arith::AddIOp::create(b, base, place), ValueRange{toMemory(value)}, first,
                               static_cast<uint32_t>(firstElement * bytes));
  }
}

Value ThreadLowering::loadFlat(Value base, Value index, Type type) {
  Type inMemory = memoryType(type);
  Value place = arith::MulIOp::create(b, index, i32(inMemory.getIntOrFloatBitWidth() / 8));
  auto load = ptx::LoadSharedOp::create(b, TypeRange{inMemory}, arith::AddIOp::create(b, base, place), Value());
  return fromMemory(load.getValues()[0], type);
}

Parts ThreadLowering::loadAllFlat(Value base, const Layout &layout, Type type) {
  Parts results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    results.push_back(loadFlat(base, flatIndex(layout, reg), type));
  return results;
}

LogicalResult ThreadLowering::lowerGather(tt::GatherOp op) {
  auto source = cast<RankedTensorType>(op.getSrc().getType()), result = cast<RankedTensorType>(op.getType());
  int64_t axis = op.getAxis(), inner = 1;
  for (int64_t dim = axis + 1; dim < result.getRank(); ++dim)
    inner *= result.getDimSize(dim);
  int64_t from = source.getDimSize(axis), to = result.getDimSize(axis);
  const Parts held = get(op.getSrc()), indices = get(op.getIndices());
  Layout layout = ttg::layoutOf(result), indexLayout = ttg::layoutOf(op.getIndices().getType());
  FailureOr<Parts> where = indexLayout == layout ? FailureOr<Parts>(indices) : convertParts(op, indices, indexLayout, layout);
  if (failed(where)) return failure();
  Value base = scratch(op);
  ptx::BarrierOp::create(b);
  storeFlat(base, held, ttg::layoutOf(source), 0);
  ptx::BarrierOp::create(b);
  Parts results;
  for (auto [reg, index] : llvm::enumerate(*where)) {
    // flat = (outer * to + i) * inner + rest; i is replaced. An index outside of the tile reads some element of it.
    Value flat = flatIndex(layout, static_cast<int64_t>(reg));
    Value rest = arith::AndIOp::create(b, flat, i32(inner - 1));
    Value outer = arith::ShRUIOp::create(b, flat, i32(llvm::Log2_64(static_cast<uint64_t>(inner * to))));
    Value narrow = index;
    if (index.getType().getIntOrFloatBitWidth() > 32) narrow = arith::TruncIOp::create(b, b.getI32Type(), index);
    if (index.getType().getIntOrFloatBitWidth() < 32) narrow = arith::ExtUIOp::create(b, b.getI32Type(), index);
    Value along = arith::MulIOp::create(b, arith::AndIOp::create(b, narrow, i32(from - 1)), i32(inner));
    Value place = arith::AddIOp::create(b, arith::MulIOp::create(b, outer, i32(inner * from)), arith::AddIOp::create(b, along, rest));
    results.push_back(loadFlat(base, place, held.front().getType()));
  }
  set(op.getResult(), std::move(results));
  return success();
}

/// Counters in shared memory, to which everybody adds.
LogicalResult ThreadLowering::lowerHistogram(tt::HistogramOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  if (!tile.getElementType().isInteger(32)) return op.emitError("a histogram of this type is not built for GPUs");
  int64_t bins = tile.getNumElements(), threads = config.getWarps() * 32;
  Layout layout = ttg::layoutOf(op.getSrc().getType());
  Value base = scratch(op);
  ptx::BarrierOp::create(b);
  for (int64_t start = 0; start < bins; start += threads) {
    Value place = arith::AddIOp::create(b, base, arith::MulIOp::create(b, thread, i32(4)));
    Value inside;
    if (start + threads > bins) inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, i32(bins - start));
    ptx::StoreSharedOp::create(b, place, ValueRange{i32(0)}, inside, static_cast<uint32_t>(4 * start));
  }
  ptx::BarrierOp::create(b);
  Value first = holdsFirstCopy(layout);
  for (auto [reg, value] : llvm::enumerate(get(op.getSrc()))) {
    Type type = value.getType();
    int64_t bits = type.getIntOrFloatBitWidth();
    Value counts; // a value outside of the bins counts nowhere
    if (bits >= 63 || bins < int64_t(1) << bits)
      counts = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, constant(type, b.getIntegerAttr(type, bins)));
    for (Value also : {first, op.getMask() ? get(op.getMask())[reg] : Value()})
      if (also) counts = counts ? Value(arith::AndIOp::create(b, counts, also)) : also;
    Value bin = value;
    if (bits > 32) bin = arith::TruncIOp::create(b, b.getI32Type(), value);
    if (bits < 32) bin = arith::ExtUIOp::create(b, b.getI32Type(), value);
    Value place = arith::AddIOp::create(b, base, arith::MulIOp::create(b, bin, i32(4)));
    ptx::AddSharedOp::create(b, place, i32(1), counts);
  }
  ptx::BarrierOp::create(b);
  set(op.getResult(), loadAllFlat(base, ttg::layoutOf(tile), b.getI32Type()));
  return success();
}

LogicalResult ThreadLowering::lowerCat(tt::CatOp op) {
  Layout half = ttg::layoutOf(op.getLhs().getType()), whole = ttg::layoutOf(op.getType());
  const Parts first = get(op.getLhs()), second = get(op.getRhs());
  if (whole == half.concatenated(0)) {
    Parts results = first;
    llvm::append_range(results, second);
    set(op.getResult(), std::move(results));
    return success();
  }
  Value base = scratch(op);
  ptx::BarrierOp::create(b);
  storeFlat(base, first, half, 0);
  storeFlat(base, second, half, elementCount(half.shape));
  ptx::BarrierOp::create(b);
  set(op.getResult(), loadAllFlat(base, whole, first.front().getType()));
  return success();
}

} // namespace tilewright::gpu
