// What threads, and the correction partition, do in loops whose MMAs have a partition (chain_partition.cpp): they wait for results, load
// them, write operands, and multiply sums by factors.
#include "gpu/cost_model/hardware.h"
#include "gpu/machine/ptx.h"
#include "gpu/schedule/accumulators/chain_expansion.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/zeros.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

void ChainExpansion::storeInits() {
  for (auto [mma, resource] : llvm::zip(chain->mmas, resources))
    if (mma.storesInit)
      ttg::TensorStoreOp::create(b, loop.getLoc(), loop.getInitArgs()[*mma.carried], resource.result, DenseI32ArrayAttr());
}

/// A wait for results or operands, of the thread's row group.
void ChainExpansion::waitInGroup(Location loc, Value barriers, Value stage, Value parity) {
  waitFor(loc, barriers, barrierOf(loc, stage, 0), parity, /*perWarpGroup=*/plan.rowGroups > 1);
}

void ChainExpansion::arriveInGroup(Location loc, Value barriers, Value stage) {
  ttg::BarrierArriveOp::create(b, loc, barriers, barrierOf(loc, stage, 0), Value(), /*inAllCtas=*/false, /*firstWarp=*/false,
                               /*perWarpGroup=*/plan.rowGroups > 1);
}

void ChainExpansion::expandThreads() {
  waitForReaders();
  for (size_t number = 0; number < chain->mmas.size(); ++number) {
    ChainedMma &mma = chain->mmas[number];
    if (mma.factorBuffer)
      sendFactors(number);
    else if (mma.isRescaled)
      loadRescaled(number);
    else if (mma.wait)
      loadResult(number);
    if (!mma.isEarly) writeOperands(number);
  }
  for (ttg::MmaAsyncWaitOp wait : chain->waits) {
    wait.replaceAllUsesWith(wait.getTiles());
    wait.erase();
  }
}

void ChainExpansion::writeOperands(size_t number) {
  ChainedMma &mma = chain->mmas[number];
  MmaResources &resource = resources[number];
  Location loc = mma.op.getLoc();
  b.setInsertionPoint(mma.op);
  Value operand = operandAt(number, count), next = resource.pingPong ? waitForPreviousGroup(number) : Value();
  for (size_t part = 0; part < resource.ready.size(); ++part) {
    if (operand) ttg::TensorStoreOp::create(b, loc, mma.op.getA(), operand, rangeOfPart(number, part));
    if (part == 0 && mma.hasOtherTile()) waitForPrevious(loc, number); // `ready` counts the arrivals of one iteration
    bool storesSum = part == 0 && !mma.isInPlace() && !mma.factors && !tt::isZeros(mma.op.getC());
    if (storesSum) ttg::TensorStoreOp::create(b, loc, mma.op.getC(), resource.result, DenseI32ArrayAttr());
    arriveInGroup(loc, resource.ready[part], zero);
    // The thread program has this arrival after the special functions of the last part (pipelineTensorStores).
    if (next && part == 0) ttg::BarrierArriveOp::create(b, loc, resource.pingPong, next, Value());
  }
}

/// Waits until the previous row group has computed its operand: for the first one, in the previous iteration. Returns the number of the
/// next group.
Value ChainExpansion::waitForPreviousGroup(size_t number) {
  Location loc = chain->mmas[number].op.getLoc();
  Value next, isFirst;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    Value group = arith::ShRUIOp::create(b, loc, ptx::WarpIdOp::create(b, loc), i32(loc, warpGroupBit));
    isFirst = arith::ExtUIOp::create(b, loc, b.getI32Type(), arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, zero));
    next = arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, group, i32(loc, 1)), i32(loc, plan.rowGroups - 1));
  }
  Value parity = arith::XOrIOp::create(b, loc, stageAt(loc, count, 1).second, isFirst);
  ttg::BarrierWaitOp::create(b, loc, resources[number].pingPong, zero, parity, /*firstWarp=*/false, /*tensorMemory=*/false,
                             /*perWarpGroup=*/true);
  return next;
}

static Operation *firstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!isa<scf::YieldOp>(user) && (!first || user->isBeforeInBlock(first))) first = user;
  return first;
}

/// Before threads change what an MMA reads or adds to, they wait for the last such MMA of the previous iteration.
void ChainExpansion::waitForReaders() {
  llvm::MapVector<size_t, Operation *> firsts; // by MMA: the first change
  auto change = [&](size_t number, Operation *op) {
    Operation *&first = firsts[number];
    if (!first || op->isBeforeInBlock(first)) first = op;
  };
  for (auto [number, mma] : llvm::enumerate(chain->mmas)) {
    if (mma.isEarly) continue;
    if (!mma.hasOtherTile()) change(number, mma.op);
    if (mma.isRescaled && !mma.factorBuffer) change(number, firstUser(loop.getRegionIterArg(*mma.carried)));
    for (Value buffer : mma.op.buffers())
      for (Operation *access : accessesOf(allocOf(buffer)))
        if (loop->isProperAncestor(access) && isa<ttg::StoreSharedOp>(access)) change(size_t(mma.lastReader), access);
  }
  for (auto [number, op] : firsts) {
    b.setInsertionPoint(op);
    waitForPrevious(op->getLoc(), number);
  }
}

/// Waits until a late MMA of the previous iteration is complete.
void ChainExpansion::waitForPrevious(Location loc, size_t number) {
  Value before = arith::SubIOp::create(b, loc, count, i32(loc, 1));
  auto [stage, parity] = stageAt(loc, before, 1);
  waitInGroup(loc, resources[number].done, stage, parity);
}

void ChainExpansion::loadResult(size_t number) {
  ChainedMma &mma = chain->mmas[number];
  Location loc = mma.wait.getLoc();
  Value d = mma.op.getD();
  b.setInsertionPoint(mma.wait);
  auto [stage, parity] = stageAt(loc, count, mma.result.depth);
  waitInGroup(loc, resources[number].done, stage, parity);
  Value loaded = ttg::TensorLoadOp::create(b, loc, d.getType(), stageOf(number, stage));
  for (auto [tile, passed] : llvm::zip(mma.wait.getTiles(), mma.wait.getResults()))
    if (tile == d) passed.replaceAllUsesWith(loaded);
}

/// The sum is in tensor memory from one iteration to the next one.
void ChainExpansion::loadRescaled(size_t number) {
  ChainedMma &mma = chain->mmas[number];
  BlockArgument sum = loop.getRegionIterArg(*mma.carried);
  b.setInsertionPoint(firstUser(sum));
  if (mma.factors) {
    ttg::TensorScaleOp::create(b, mma.op.getLoc(), mma.factors, resources[number].result, IntegerAttr());
  } else {
    Value loaded = ttg::TensorLoadOp::create(b, mma.op.getLoc(), sum.getType(), resources[number].result);
    sum.replaceAllUsesWith(loaded);
  }
  loop.getTiedLoopYieldedValue(sum)->set(sum);
}

//===------------------------------------------------------------------------------------------------------- correction partition

/// Moves what a value is computed from to where its operands are known.
static void computeEarly(Value value, scf::ForOp loop) {
  llvm::SetVector<Operation *> seen;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody() && op->getNumRegions() == 0 && isMemoryEffectFree(op); };
  (void)getBackwardSlice(value, &seen, options);
  for (Operation *op : seen) { // operands first
    if (scratchBytes(op) != 0) continue;
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == op->getBlock() && (!last || last->isBeforeInBlock(from)))
        last = from;
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(&loop.getBody()->front());
  }
}

/// Of two tiles, the consumers fill one for this iteration. The correction partition has read what the previous but one left there: it
/// arrived at `ready` afterwards, and the consumers have waited for that MMA.
void ChainExpansion::sendFactors(size_t number) {
  ChainedMma &mma = chain->mmas[number];
  MmaResources &resource = resources[number];
  Location loc = mma.op.getLoc();
  BlockArgument sum = loop.getRegionIterArg(*mma.carried);
  loop.getTiedLoopYieldedValue(sum)->set(sum);
  computeEarly(mma.factors, loop);
  b.setInsertionPointAfterValue(mma.factors);
  auto [stage, parity] = stageAt(loc, count, 2);
  Value tile =
      ttg::StageOp::create(b, loc, withDepth(cast<ttg::BufferType>(resource.factorBuffer.getType()), 1), resource.factorBuffer, stage);
  ttg::StoreSharedOp::create(b, loc, mma.factors, tile);
  arriveInGroup(loc, resource.factorsFull, stage);
  for (int64_t group = 0; group < plan.rowGroups; ++group)
    correct(number, tile, stage, parity, group);
}

/// The correction partition multiplies the rows of one row group.
void ChainExpansion::correct(size_t number, Value factors, Value stage, Value parity, int64_t group) {
  ChainedMma &mma = chain->mmas[number];
  MmaResources &resource = resources[number];
  Location loc = mma.op.getLoc();
  auto mark = [&](Operation *op) { ttg::setPartition(op, ttg::Partition::correction); };
  mark(waitFor(loc, resource.factorsFull, barrierOf(loc, stage, group), parity));
  Dims shape = ttg::shapeOf(mma.op.getType());
  IntegerAttr block;
  if (plan.rowGroups > 1) {
    shape[0] = tensorMemoryLanes;
    block = b.getI32IntegerAttr(static_cast<int32_t>(group));
    auto whole = cast<ttg::BufferType>(factors.getType());
    auto rows = SharedLayout::rowMajor({shape[0]}, whole.getElementType().getIntOrFloatBitWidth(), {0});
    auto part = ttg::BufferType::get(b.getContext(), 1, whole.getElementType(), ttg::SharedAttr::get(b.getContext(), rows));
    factors = ttg::ViewOp::create(b, loc, part, factors, ArrayRef<int32_t>(), static_cast<uint32_t>(group * tensorMemoryLanes));
  }
  // The partition has one warp group; further warps would hold copies.
  Layout rows = Layout::tensorMemory(shape, warpsOfGroup).withoutDim(1);
  rows.basesOf(Axis::warp).resize(llvm::Log2_64(uint64_t(config.getWarps())), 0);
  auto type = RankedTensorType::get({shape[0]}, cast<RankedTensorType>(mma.factors.getType()).getElementType(),
                                    ttg::LayoutAttr::get(b.getContext(), rows));
  Value loaded = ttg::LoadSharedOp::create(b, loc, type, factors);
  mark(loaded.getDefiningOp());
  Value before = arith::SubIOp::create(b, loc, count, i32(loc, 1));
  mark(waitFor(loc, resource.done, barrierOf(loc, zero, group), stageAt(loc, before, 1).second));
  mark(ttg::TensorScaleOp::create(b, loc, loaded, resource.result, block));
  mark(ttg::BarrierArriveOp::create(b, loc, resource.ready.front(), barrierOf(loc, zero, group), Value()));
}

/// After the loop: its sums.
void ChainExpansion::loadResults() {
  for (auto [mma, resource] : llvm::zip(chain->mmas, resources)) {
    if (!mma.carried || loop.getResult(*mma.carried).use_empty()) continue;
    Value result = loop.getResult(*mma.carried);
    Value sum = ttg::TensorLoadOp::create(b, loop.getLoc(), result.getType(), resource.result);
    result.replaceAllUsesWith(mma.storesInit ? sum : sumOrInit(b, loop, *mma.carried, sum));
  }
}

} // namespace tilewright::gpu
