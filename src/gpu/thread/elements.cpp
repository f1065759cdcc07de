// See elements.h.
#include "gpu/thread/elements.h"

#include "gpu/thread/lowering_table.h"
#include "gpu/thread/math.h"
#include "gpu/tiles/layouts/layout_cost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

LogicalResult lowerElements(ThreadContext &t, Operation *op, llvm::function_ref<Value(ValueRange)> element) {
  int64_t count = threadValueCount(op->getResult(0).getType());
  ThreadValues results;
  for (int64_t reg = 0; reg < count; ++reg) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      const ThreadValues &from = t.get(operand);
      operands.push_back(from[from.size() == 1 ? 0 : static_cast<size_t>(reg)]);
    }
    Value result = element(operands);
    if (!result) return failure();
    results.push_back(result);
  }
  t.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerAddPtr(ThreadContext &t, tt::AddPtrOp op) {
  Type pointee = cast<tt::PointerType>(getElementTypeOrSelf(op.getType())).getPointeeType();
  int64_t bytes = isa<tt::PointerType>(pointee) ? 8 : std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8);
  return lowerElements(t, op, [&](ValueRange operands) -> Value {
    Value offset = operands[1];
    if (!offset.getType().isInteger(64)) {
      auto extended = arith::ExtSIOp::create(t.b, t.b.getI64Type(), offset);
      if (op->hasAttr(ttg::noWrapName)) extended->setAttr(ttg::noWrapName, t.b.getUnitAttr());
      offset = extended;
    }
    return arith::AddIOp::create(t.b, operands[0], arith::MulIOp::create(t.b, offset, t.i64(bytes)));
  });
}

/// Bounds of the index of the elements that threads hold in a register: the smallest and the largest one, or values beyond them.
static std::pair<int64_t, int64_t> indicesOf(const Layout &layout, int64_t reg) {
  uint32_t first = layout.apply(reg, 0, 0), other = 0;
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : layout.basesOf(axis))
      other |= basis;
  return {first & ~other, first | other};
}

/// Contiguous elements with a uniform comparison use the result of the first one. If 16 divides the length of a row, its mask takes one
/// comparison for every 16 bytes.
static void compareOnce(ThreadContext &t, arith::CmpIOp op) {
  Dims repeats = repeatsOf(op);
  if (repeats.empty()) return;
  Layout layout = ttg::layoutOf(op.getType());
  std::map<Dims, Value> first;
  ThreadValues results = t.get(op.getResult());
  for (auto [reg, result] : llvm::enumerate(results))
    result = first.try_emplace(accessKey(layout, repeats, static_cast<int64_t>(reg)), result).first->second;
  t.set(op.getResult(), std::move(results));
}

/// Columns that are always inside a row, or always outside in this version of the kernel, are not compared with its length.
static LogicalResult lowerCompare(ThreadContext &t, arith::CmpIOp op) {
  if (failed(lowerElementwise(t, op))) return failure();
  compareOnce(t, op);
  auto length = op->getAttrOfType<DenseI64ArrayAttr>(ttg::rowLengthName);
  if (!length) return success();
  int64_t minLength = length[0], maxLength = length[1];
  Layout layout = ttg::layoutOf(op.getType());
  ThreadValues results = t.get(op.getResult());
  for (auto [reg, result] : llvm::enumerate(results)) {
    auto [first, last] = indicesOf(layout, static_cast<int64_t>(reg));
    bool isOutside = first >= maxLength, isInside = last < minLength;
    if (isOutside || isInside) result = t.constant(t.b.getI1Type(), t.b.getBoolAttr(isInside));
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

/// Pointers are integers already.
static LogicalResult lowerPtrToInt(ThreadContext &t, tt::PtrToIntOp op) {
  return lowerElements(t, op, [](ValueRange x) { return x[0]; });
}

static LogicalResult lowerIntToPtr(ThreadContext &t, tt::IntToPtrOp op) {
  return lowerElements(t, op, [](ValueRange x) { return x[0]; });
}

static LogicalResult lowerBitcast(ThreadContext &t, tt::BitcastOp op) {
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  return lowerElements(t, op, [&](ValueRange x) { return bitcast(t, type, x[0]); });
}

static LogicalResult lowerPreciseDiv(ThreadContext &t, tt::PreciseDivFOp op) {
  return lowerElements(t, op, [&](ValueRange x) -> Value { return arith::DivFOp::create(t.b, x[0], x[1]); });
}

static LogicalResult lowerPreciseSqrt(ThreadContext &t, tt::PreciseSqrtOp op) {
  return lowerElements(t, op, [&](ValueRange x) { return mathFunction(t, "sqrt_rn", x); });
}

static LogicalResult lowerFpToFp(ThreadContext &t, tt::FpToFpOp op) {
  return lowerFloatConversion(t, op, op.getRounding() == tt::RoundingMode::RTZ);
}

static LogicalResult lowerMulhi(ThreadContext &t, tt::MulhiUIOp op) {
  return lowerElements(t, op, [&](ValueRange x) -> Value { return arith::MulUIExtendedOp::create(t.b, x[0], x[1]).getHigh(); });
}

static LogicalResult lowerClamp(ThreadContext &t, tt::ClampFOp op) {
  bool propagate = op.getPropagateNan() == tt::PropagateNan::ALL;
  auto clamp = [&](ValueRange x) -> Value {
    if (propagate) return arith::MinimumFOp::create(t.b, arith::MaximumFOp::create(t.b, x[0], x[1]), x[2]);
    return arith::MinNumFOp::create(t.b, arith::MaxNumFOp::create(t.b, x[0], x[1]), x[2]);
  };
  return isByteFloat(getElementTypeOrSelf(op.getType())) ? lowerByteFloats(t, op, clamp) : lowerElements(t, op, clamp);
}

void addElementLowerings(LoweringTable &table) {
  addLowerings<lowerAddPtr, lowerCompare, lowerPtrToInt, lowerIntToPtr, lowerBitcast, lowerPreciseDiv, lowerPreciseSqrt, lowerFpToFp,
               lowerMulhi, lowerClamp>(table);
}

} // namespace tilewright::gpu
