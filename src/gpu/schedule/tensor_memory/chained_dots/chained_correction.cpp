// What the correction partition does in loops whose MMAs have a partition (chained_partition.cpp). It is a warp group next to the
// consumers:
//   wait: the factors of i are there    load them    wait: the MMA of i - 1 is done    scale the sum    arrive: the sum is ready
#include "gpu/schedule/tensor_memory/chained_dots/chained_expansion.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

/// The factors of a row group's rows.
static Value factorsOfGroup(OpBuilder &b, Location loc, Value factors, int64_t group) {
  auto whole = cast<ttg::BufferType>(factors.getType());
  auto rows = SharedLayout::rowMajor({tensorMemoryLanes}, whole.getElementType().getIntOrFloatBitWidth(), {0});
  auto part = ttg::BufferType::get(1, whole.getElementType(), rows);
  return ttg::ViewOp::create(b, loc, part, factors, ArrayRef<int32_t>(), static_cast<uint32_t>(group * tensorMemoryLanes));
}

void correctSum(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, Value factors, const StageState &stage, int64_t group) {
  Location loc = mma.op.getLoc();
  auto mark = [&](Operation *op) { ttg::setPartition(op, ttg::Partition::correction); };
  mark(waitForResults(b, loc, mma.factorsFull, barrierOf(b, loc, chain, stage.index, group), stage.parity));
  Dims shape = ttg::shapeOf(mma.op.getType());
  IntegerAttr block;
  if (chain.plan.rowGroups > 1) {
    shape[0] = tensorMemoryLanes;
    block = b.getI32IntegerAttr(static_cast<int32_t>(group));
    factors = factorsOfGroup(b, loc, factors, group);
  }
  // The partition has one warp group; further warps would hold copies.
  Layout rows = Layout::tensorMemory(shape, warpsOfGroup).withoutDim(1);
  rows.basesOf(Axis::warp).resize(llvm::Log2_64(uint64_t(chain.plan.warps)), 0);
  auto type = RankedTensorType::get({shape[0]}, cast<ttg::BufferType>(factors.getType()).getElementType(),
                                    ttg::LayoutAttr::get(b.getContext(), rows));
  Value loaded = ttg::LoadSharedOp::create(b, loc, type, factors);
  mark(loaded.getDefiningOp());
  mark(waitForMma(b, loc, chain, mma, previousCount(b, loc, chain), group));
  mark(ttg::TensorScaleOp::create(b, loc, loaded, mma.results, block));
  mark(ttg::BarrierArriveOp::create(b, loc, mma.ready.front(), barrierOf(b, loc, chain, chain.zero, group), Value()));
}

} // namespace tilewright::gpu
