#include "gpu/schedule/tensor_memory/tensor_columns.h"

#include "gpu/schedule/stage_index.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

TensorTile tensorTileOf(Type value, int64_t depth) {
  auto tile = cast<RankedTensorType>(value);
  return {ttg::TensorMemoryType::get(tile.getContext(), tile.getShape(), tile.getElementType()), depth};
}

int64_t TensorColumns::take(int64_t columns, OperationSpan live) {
  int64_t first = 0;
  for (const Block &other : taken)
    if (other.live.first <= live.last && live.first <= other.live.last && other.first < first + columns) first = std::max(first, other.end);
  taken.insert(llvm::upper_bound(taken, first, [](int64_t column, const Block &block) { return column < block.first; }),
               {first, first + columns, live});
  return first;
}

int64_t TensorColumns::used() const {
  int64_t end = 0;
  for (const Block &block : taken)
    end = std::max(end, block.end);
  return end;
}

int64_t TensorColumns::allocated() const {
  return std::max(minTensorColumns, int64_t(llvm::PowerOf2Ceil(uint64_t(used()))));
}

TensorMemory::TensorMemory(tt::FuncOp function, int64_t columns, bool paired) : function(function), b(function.getContext()) {
  b.setInsertionPointToStart(&function.getBody().front());
  address = ttg::TensorAllocOp::create(b, function.getLoc(), b.getI32Type(), static_cast<uint32_t>(columns), paired);
  zeroConstant = i32Constant(b, function.getLoc(), 0);
}

Value TensorMemory::tile(const TensorTile &tile) {
  Value &made = tiles[{tile.type, tile.depth, tile.column}];
  if (made) return made;
  b.setInsertionPointAfter(zeroConstant.getDefiningOp());
  return made = ttg::TensorTileOp::create(b, function.getLoc(), tile.type, address, static_cast<uint32_t>(tile.column),
                                          static_cast<uint32_t>(tile.depth));
}

Value TensorMemory::barriers(BarrierSet set) {
  if (set.count == 0) return {};
  b.setInsertionPointAfter(zeroConstant.getDefiningOp());
  return ttg::AllocBarriersOp::create(b, function.getLoc(), ttg::BarriersType::get(b.getContext(), set.count),
                                      static_cast<uint32_t>(set.arrivals));
}

void TensorMemory::allocate(ScaleColumns &scales) {
  if (!scales) return;
  b.setInsertionPointAfter(zeroConstant.getDefiningOp());
  scales.address = arith::AddIOp::create(b, function.getLoc(), address, i32Constant(b, function.getLoc(), scales.first));
}

void TensorMemory::free() {
  OpBuilder atEnd(function.getBody().front().getTerminator());
  auto alloc = address.getDefiningOp<ttg::TensorAllocOp>();
  ttg::TensorFreeOp::create(atEnd, function.getLoc(), address, alloc.getColumns(), alloc.getPaired());
}

void assignToMmas(Operation *op) {
  ttg::setPartition(op, ttg::Partition::mmas);
}

void dropMmaWaits(Operation *within) {
  within->walk([](ttg::MmaAsyncWaitOp wait) {
    wait.replaceAllUsesWith(wait.getTiles());
    wait.erase();
  });
}

ttg::BarrierWaitOp waitForResults(OpBuilder &b, Location loc, Value barriers, Value index, Value parity, bool perWarpGroup) {
  return ttg::BarrierWaitOp::create(b, loc, barriers, index, parity, /*firstWarp=*/false, /*tensorMemory=*/true, perWarpGroup);
}

ttg::Tcgen05MmaOp startMma(OpBuilder &b, ttg::MmaAsyncOp mma, Value first, Value second, Value d, Value accumulate, Value scaleColumns) {
  return ttg::Tcgen05MmaOp::create(b, mma.getLoc(), first, second, d, accumulate, /*barriers=*/Value(), /*issued=*/Value(), mma.getAScale(),
                                   mma.getBScale(), scaleColumns, mma.getScalesAttr(), mma.getPaired(),
                                   /*rowBlock=*/IntegerAttr(), /*kRange=*/DenseI32ArrayAttr());
}

int64_t scaleColumnsOf(ttg::MmaAsyncOp mma) {
  if (!mma.getScales()) return 0;
  ArrayRef<int64_t> a = mma.getAScale().getType().getShape(), second = mma.getBScale().getType().getShape();
  return (a[0] * a[1] + second[0] * second[1]) / tensorMemoryLanes;
}

Value scaleSetOf(OpBuilder &b, Location loc, Value number, const ScaleColumns &scales) {
  Value set = arith::AndIOp::create(b, loc, number, i32Constant(b, loc, setsOfScales - 1));
  return arith::AddIOp::create(b, loc, scales.address, arith::MulIOp::create(b, loc, set, i32Constant(b, loc, scales.columns)));
}

} // namespace tilewright::gpu
