// Operations whose element indices are known only at run time, or that join two tiles. One side writes its tile to shared memory in
// row-major order, and the other reads elements by index.
#include "gpu/thread/exchange/exchange.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/flat_tiles.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static LogicalResult lowerGather(ThreadContext &t, tt::GatherOp op) {
  auto source = cast<RankedTensorType>(op.getSrc().getType()), result = cast<RankedTensorType>(op.getType());
  int64_t axis = op.getAxis(), inner = 1;
  for (int64_t dim = axis + 1; dim < result.getRank(); ++dim)
    inner *= result.getDimSize(dim);
  int64_t from = source.getDimSize(axis), to = result.getDimSize(axis);
  const ThreadValues held = t.get(op.getSrc()), indices = t.get(op.getIndices());
  Layout layout = ttg::layoutOf(result), indexLayout = ttg::layoutOf(op.getIndices().getType());
  FailureOr<ThreadValues> where =
      indexLayout == layout ? FailureOr<ThreadValues>(indices) : convertThreadValues(t, op, indices, indexLayout, layout);
  if (failed(where)) return failure();
  Value base = scratch(t, op);
  ctaBarrier(t);
  storeFlat(t, base, held, ttg::layoutOf(source), 0);
  ctaBarrier(t);
  ThreadValues results;
  for (auto [reg, index] : llvm::enumerate(*where)) {
    // flat = (outer * to + i) * inner + rest; i is replaced. An index out of bounds reads some element of the tile.
    Value flat = flatIndex(t, layout, static_cast<int64_t>(reg));
    Value rest = arith::AndIOp::create(t.b, flat, t.i32(inner - 1));
    Value outer = arith::ShRUIOp::create(t.b, flat, t.i32(llvm::Log2_64(static_cast<uint64_t>(inner * to))));
    Value index32 = index;
    if (index.getType().getIntOrFloatBitWidth() > 32) index32 = arith::TruncIOp::create(t.b, t.b.getI32Type(), index);
    if (index.getType().getIntOrFloatBitWidth() < 32) index32 = arith::ExtUIOp::create(t.b, t.b.getI32Type(), index);
    Value inside = arith::AndIOp::create(t.b, index32, t.i32(from - 1));
    (index32 == index ? inside : index32).getDefiningOp()->setAttr(ptx::indexBelowName, t.b.getI64IntegerAttr(from));
    Value along = arith::MulIOp::create(t.b, inside, t.i32(inner));
    Value source =
        arith::AddIOp::create(t.b, arith::MulIOp::create(t.b, outer, t.i32(inner * from)), arith::AddIOp::create(t.b, along, rest));
    results.push_back(loadFlat(t, base, source, held.front().getType()));
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

/// Uses counters in shared memory, which all threads increment atomically.
static LogicalResult lowerHistogram(ThreadContext &t, tt::HistogramOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  if (!tile.getElementType().isInteger(32))
    return refuse(op, Diag::notOnGpus, {"a histogram of " + mlirText(tile.getElementType()), "count in 32 bits"});
  int64_t bins = tile.getNumElements(), threads = t.threads.warps << laneBits;
  Layout layout = ttg::layoutOf(op.getSrc().getType());
  Value base = scratch(t, op);
  ctaBarrier(t);
  for (int64_t start = 0; start < bins; start += threads) {
    Value address = arith::AddIOp::create(t.b, base, arith::MulIOp::create(t.b, t.threads.index, t.i32(4)));
    Value inside;
    if (start + threads > bins) inside = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ult, t.threads.index, t.i32(bins - start));
    ptx::StoreSharedOp::create(t.b, address, ValueRange{t.i32(0)}, inside, static_cast<uint32_t>(4 * start));
  }
  ctaBarrier(t);
  Value first = holdsFirstCopy(t, layout);
  for (auto [reg, value] : llvm::enumerate(t.get(op.getSrc()))) {
    Type type = value.getType();
    int64_t bits = type.getIntOrFloatBitWidth();
    Value counts; // a value outside the bins is not counted
    if (bits >= 63 || bins < int64_t(1) << bits)
      counts = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ult, value, t.constant(type, t.b.getIntegerAttr(type, bins)));
    for (Value also : {first, op.getMask() ? t.get(op.getMask())[reg] : Value()})
      if (also) counts = counts ? Value(arith::AndIOp::create(t.b, counts, also)) : also;
    Value bin = value;
    if (bits > 32) bin = arith::TruncIOp::create(t.b, t.b.getI32Type(), value);
    if (bits < 32) bin = arith::ExtUIOp::create(t.b, t.b.getI32Type(), value);
    Value address = arith::AddIOp::create(t.b, base, arith::MulIOp::create(t.b, bin, t.i32(4)));
    ptx::AddSharedOp::create(t.b, address, t.i32(1), counts);
  }
  ctaBarrier(t);
  t.set(op.getResult(), loadAllFlat(t, base, ttg::layoutOf(tile), t.b.getI32Type()));
  return success();
}

static LogicalResult lowerCat(ThreadContext &t, tt::CatOp op) {
  Layout half = ttg::layoutOf(op.getLhs().getType()), whole = ttg::layoutOf(op.getType());
  const ThreadValues first = t.get(op.getLhs()), second = t.get(op.getRhs());
  if (whole == half.concatenated(0)) {
    ThreadValues results = first;
    llvm::append_range(results, second);
    t.set(op.getResult(), std::move(results));
    return success();
  }
  Value base = scratch(t, op);
  ctaBarrier(t);
  storeFlat(t, base, first, half, 0);
  storeFlat(t, base, second, half, elementCount(half.shape));
  ctaBarrier(t);
  t.set(op.getResult(), loadAllFlat(t, base, whole, first.front().getType()));
  return success();
}

void addGatherLowerings(LoweringTable &table) {
  addLowerings<lowerGather, lowerHistogram, lowerCat>(table);
}

} // namespace tilewright::gpu
