// Values that a thread knows from its position, and operations that only change which element a register stands for.
#include "gpu/thread/lowering_table.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// Lowers a constant tile with different elements. The bits of the thread's lane and warp select among those that the register has in
/// different threads: one select for each element of the tile.
static LogicalResult lowerTable(ThreadContext &t, arith::ConstantOp op, DenseElementsAttr table) {
  constexpr int64_t largest = 1 << 14; // elements, about one select each
  if (table.getNumElements() > largest)
    return refuse(op, Diag::notOnGpus, {"a constant tile of more than " + std::to_string(largest) + " different elements", "load it"});
  Layout layout = ttg::layoutOf(op.getType());
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  SmallVector<std::pair<uint32_t, Value>> threadBits; // how each moves the element's index, and whether it is set
  for (auto [axis, index] : {std::pair(Axis::lane, t.threads.lane), std::pair(Axis::warp, t.threads.warp)})
    for (auto [bit, basis] : llvm::enumerate(layout.basesOf(axis))) {
      if (!basis) continue;
      Value isolated = arith::AndIOp::create(t.b, index, t.i32(int64_t(1) << bit));
      threadBits.push_back({basis, arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, isolated, t.i32(0))});
    }
  SmallVector<Attribute> elements(table.getValues<Attribute>());
  DenseMap<Attribute, Value> constants;
  ThreadValues results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    SmallVector<uint32_t> indices{layout.apply(reg, 0, 0)};
    for (auto [basis, isSet] : threadBits)
      for (size_t i = 0, count = indices.size(); i < count; ++i)
        indices.push_back(indices[i] ^ basis);
    ThreadValues left;
    for (uint32_t index : indices) {
      Value &constant = constants[elements[index]];
      if (!constant) constant = t.constant(type, elements[index]);
      left.push_back(constant);
    }
    for (auto [basis, isSet] : llvm::reverse(threadBits)) { // the second half has the last bit set
      size_t half = left.size() / 2;
      for (size_t i = 0; i < half; ++i)
        left[i] = t.b.createOrFold<arith::SelectOp>(isSet, left[half + i], left[i]);
      left.truncate(half);
    }
    results.push_back(left.front());
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

static LogicalResult lowerConstant(ThreadContext &t, arith::ConstantOp op) {
  Type type = scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  Attribute value = op.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat()) return lowerTable(t, op, dense);
    value = dense.getSplatValue<Attribute>();
  }
  Value scalar = t.constant(type, value);
  t.set(op->getResult(0), ThreadValues(static_cast<size_t>(threadValueCount(op->getResult(0).getType())), scalar));
  return success();
}

static LogicalResult lowerProgramId(ThreadContext &t, tt::GetProgramIdOp op) {
  t.set(op.getResult(), {programId(t, static_cast<int64_t>(op.getAxis()))});
  return success();
}

static LogicalResult lowerProgramCount(ThreadContext &t, tt::GetNumProgramsOp op) {
  t.set(op.getResult(), {programCount(t, static_cast<int64_t>(op.getAxis()))});
  return success();
}

static LogicalResult lowerWarpId(ThreadContext &t, ptx::WarpIdOp op) {
  t.set(op.getResult(), {t.threads.warp});
  return success();
}

static LogicalResult lowerRange(ThreadContext &t, tt::MakeRangeOp op) {
  Layout layout = ttg::layoutOf(op.getType());
  ThreadValues results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    results.push_back(arith::AddIOp::create(t.b, flatIndex(t, layout, reg), t.i32(op.getStart())));
  t.set(op.getResult(), std::move(results));
  return success();
}

static LogicalResult mapRegisters(ThreadContext &t, Operation *op, Value from, const std::function<uint32_t(uint32_t)> &map) {
  Layout result = ttg::layoutOf(op->getResult(0).getType());
  const ThreadValues &held = t.get(from);
  ThreadValues results;
  for (std::optional<int64_t> reg : sourceRegisters(result, ttg::layoutOf(from.getType()), map)) {
    if (!reg) return bug(op, "its layout does not match that of its operand");
    results.push_back(held[static_cast<size_t>(*reg)]);
  }
  t.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerJoin(ThreadContext &t, tt::JoinOp op) {
  Layout halves = ttg::layoutOf(op.getLhs().getType());
  if (ttg::layoutOf(op.getType()) != halves.joined() || ttg::layoutOf(op.getRhs().getType()) != halves)
    return bug(op, "its layout does not match those of its operands");
  ThreadValues results;
  for (auto [first, second] : llvm::zip(t.get(op.getLhs()), t.get(op.getRhs()))) {
    results.push_back(first);
    results.push_back(second);
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

/// All threads hold the single element.
static LogicalResult lowerUnsplat(ThreadContext &t, tt::UnsplatOp op) {
  t.set(op.getResult(), {t.get(op.getSrc()).front()});
  return success();
}

static LogicalResult lowerSplit(ThreadContext &t, tt::SplitOp op) {
  std::optional<Halves> halves = ttg::layoutOf(op.getSrc().getType()).splitHalves();
  if (!halves) return bug(op, "a thread does not hold both halves of its operand");
  for (Value half : {op.getOutLHS(), op.getOutRHS()})
    if (ttg::layoutOf(half.getType()) != halves->layout) return bug(op, "its layouts do not match that of its operand");
  ThreadValues first, second;
  for (auto [reg, value] : llvm::enumerate(t.get(op.getSrc())))
    (reg >> halves->registerBit & 1 ? second : first).push_back(value);
  t.set(op.getOutLHS(), std::move(first));
  t.set(op.getOutRHS(), std::move(second));
  return success();
}

static LogicalResult lowerSplat(ThreadContext &t, tt::SplatOp op) {
  t.set(op.getResult(), ThreadValues(static_cast<size_t>(threadValueCount(op.getType())), t.getScalar(op.getSrc())));
  return success();
}

/// Elements keep their row-major index.
template <typename Op> static LogicalResult keepIndices(ThreadContext &t, Op op) {
  return mapRegisters(t, op, op.getSrc(), [](uint32_t flat) { return flat; });
}

static LogicalResult lowerBroadcast(ThreadContext &t, tt::BroadcastOp op) {
  Dims fromShape = ttg::shapeOf(op.getSrc().getType()), toShape = ttg::shapeOf(op.getType());
  return mapRegisters(t, op, op.getSrc(), [=](uint32_t flat) {
    std::vector<int64_t> at = coordinatesOf(toShape, flat);
    for (size_t i = 0; i < at.size(); ++i)
      if (fromShape[i] == 1) at[i] = 0;
    return flatOf(fromShape, at);
  });
}

static LogicalResult lowerTrans(ThreadContext &t, tt::TransOp op) {
  Dims fromShape = ttg::shapeOf(op.getSrc().getType()), toShape = ttg::shapeOf(op.getType());
  SmallVector<int32_t> order(op.getOrder());
  return mapRegisters(t, op, op.getSrc(), [=](uint32_t flat) {
    std::vector<int64_t> at = coordinatesOf(toShape, flat), back(at.size());
    for (size_t i = 0; i < at.size(); ++i)
      back[static_cast<size_t>(order[i])] = at[i];
    return flatOf(fromShape, back);
  });
}

void addShapeLowerings(LoweringTable &table) {
  addLowerings<lowerConstant, lowerProgramId, lowerProgramCount, lowerWarpId, lowerRange, lowerSplat, lowerUnsplat,
               keepIndices<tt::ExpandDimsOp>, keepIndices<tt::ReshapeOp>, lowerBroadcast, lowerTrans, lowerJoin, lowerSplit>(table);
}

} // namespace tilewright::gpu
