// What the consumers do in loops whose MMAs have a partition (chained_partition.cpp): they wait for results, load them, and write operands
// and factors.
#include "gpu/machine/ptx.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/schedule/tensor_memory/chained_dots/chained_expansion.h"
#include "gpu/schedule/tensor_memory/tensor_accumulators.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// Waits for results or operands of the thread's row group.
static void waitInGroup(OpBuilder &b, Location loc, const ChainExpansion &chain, Value barriers, const StageState &stage) {
  waitForResults(b, loc, barriers, barrierOf(b, loc, chain, stage.index, 0), stage.parity, /*perWarpGroup=*/chain.plan.rowGroups > 1);
}

static void arriveInGroup(OpBuilder &b, Location loc, const ChainExpansion &chain, Value barriers, Value stage) {
  ttg::BarrierArriveOp::create(b, loc, barriers, barrierOf(b, loc, chain, stage, 0), Value(), /*inAllCtas=*/false, /*firstWarp=*/false,
                               /*perWarpGroup=*/chain.plan.rowGroups > 1);
}

/// Waits until a late MMA of the previous iteration is complete.
static void waitForPrevious(OpBuilder &b, Location loc, const ChainExpansion &chain, const ExpandedMma &mma) {
  waitInGroup(b, loc, chain, mma.done, stageAt(b, loc, chain, previousCount(b, loc, chain), 1));
}

static Operation *firstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!isa<scf::YieldOp>(user) && (!first || user->isBeforeInBlock(first))) first = user;
  return first;
}

/// Before threads change what an MMA reads or adds to, they wait for the last such MMA of the previous iteration.
static void waitForReaders(OpBuilder &b, ChainExpansion &chain) {
  llvm::MapVector<size_t, Operation *> firsts; // by MMA: the first change
  auto change = [&](size_t number, Operation *op) {
    Operation *&first = firsts[number];
    if (!first || op->isBeforeInBlock(first)) first = op;
  };
  for (auto [number, mma] : llvm::enumerate(chain.mmas)) {
    LateMma *late = mma.late();
    if (!late) continue;
    if (!late->hasOtherTile()) change(number, mma.op);
    auto *rescaled = std::get_if<RescaledSum>(&late->sum);
    if (rescaled && !rescaled->factorBuffer) change(number, firstUser(chain.loop.getRegionIterArg(rescaled->number)));
    for (Value buffer : mma.op.buffers())
      for (Operation *access : accessesOf(allocOf(buffer)))
        if (chain.loop->isProperAncestor(access) && isa<ttg::StoreSharedOp>(access)) change(late->lastReader, access);
  }
  for (auto [number, op] : firsts) {
    b.setInsertionPoint(op);
    waitForPrevious(b, op->getLoc(), chain, chain.mmas[number]);
  }
}

//===---------------------------------------------------------------------------------------------------------------- sums

void storeInits(OpBuilder &b, ChainExpansion &chain) {
  for (ExpandedMma &mma : chain.mmas)
    if (mma.storesInit())
      ttg::TensorStoreOp::create(b, chain.loop.getLoc(), chain.loop.getInitArgs()[*mma.carriedSum()], mma.results, DenseI32ArrayAttr());
}

static void loadResult(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, ttg::MmaAsyncWaitOp wait) {
  Location loc = wait.getLoc();
  Value passed = afterWait(mma.op);
  b.setInsertionPoint(wait);
  StageState stage = stageAt(b, loc, chain, chain.count, mma.result.depth);
  waitInGroup(b, loc, chain, mma.done, stage);
  passed.replaceAllUsesWith(ttg::TensorLoadOp::create(b, loc, passed.getType(), resultAt(b, mma, stage.index)));
}

/// The sum is in tensor memory from one iteration to the next one.
static void loadRescaled(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, const RescaledSum &rescaled) {
  BlockArgument sum = chain.loop.getRegionIterArg(rescaled.number);
  b.setInsertionPoint(firstUser(sum));
  if (rescaled.factors)
    ttg::TensorScaleOp::create(b, mma.op.getLoc(), rescaled.factors, mma.results, IntegerAttr());
  else
    sum.replaceAllUsesWith(ttg::TensorLoadOp::create(b, mma.op.getLoc(), sum.getType(), mma.results));
}

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
static void sendFactors(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, const RescaledSum &rescaled) {
  Location loc = mma.op.getLoc();
  computeEarly(rescaled.factors, chain.loop);
  b.setInsertionPointAfterValue(rescaled.factors);
  StageState stage = stageAt(b, loc, chain, chain.count, factorTiles);
  auto tiles = cast<ttg::BufferType>(mma.factorTiles.getType());
  Value tile = ttg::StageOp::create(b, loc, withDepth(tiles, 1), mma.factorTiles, stage.index);
  ttg::StoreSharedOp::create(b, loc, rescaled.factors, tile);
  arriveInGroup(b, loc, chain, mma.factorsFull, stage.index);
  for (int64_t group = 0; group < chain.plan.rowGroups; ++group)
    correctSum(b, chain, mma, tile, stage, group);
}

void loadResults(OpBuilder &b, ChainExpansion &chain) {
  scf::ForOp loop = chain.loop;
  for (ExpandedMma &mma : chain.mmas) {
    std::optional<unsigned> number = mma.carriedSum();
    if (!number || loop.getResult(*number).use_empty()) continue;
    Value result = loop.getResult(*number);
    Value sum = ttg::TensorLoadOp::create(b, loop.getLoc(), result.getType(), mma.results);
    result.replaceAllUsesWith(mma.storesInit() ? sum : sumOrInit(b, loop, *number, sum));
  }
}

//===------------------------------------------------------------------------------------------------------------- operands

/// Waits until the previous row group has computed its operand: for the first one, in the previous iteration. Returns the number of the
/// next group.
static Value waitForPreviousGroup(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma) {
  Location loc = mma.op.getLoc();
  Value next, isFirst;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(chain.loop);
    Value group = arith::ShRUIOp::create(b, loc, ptx::WarpIdOp::create(b, loc), i32Constant(b, loc, warpGroupBit));
    isFirst = arith::ExtUIOp::create(b, loc, b.getI32Type(), arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, chain.zero));
    Value following = arith::AddIOp::create(b, loc, group, i32Constant(b, loc, 1));
    next = arith::AndIOp::create(b, loc, following, i32Constant(b, loc, chain.plan.rowGroups - 1));
  }
  Value parity = arith::XOrIOp::create(b, loc, stageAt(b, loc, chain, chain.count, 1).parity, isFirst);
  ttg::BarrierWaitOp::create(b, loc, mma.pingPong, chain.zero, parity, /*firstWarp=*/false, /*tensorMemory=*/false, /*perWarpGroup=*/true);
  return next;
}

/// True if threads store what the MMA adds to in each iteration.
static bool storesSum(ExpandedMma &mma) {
  bool isStored = std::visit(llvm::makeVisitor([](const LoadedSum &) { return true; }, [](const InPlaceSum &) { return false; },
                                               [](const RescaledSum &sum) { return !sum.factors; }),
                             mma.late()->sum);
  return isStored && !tt::isZeros(mma.op.getC());
}

static void writeOperands(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma) {
  Location loc = mma.op.getLoc();
  b.setInsertionPoint(mma.op);
  Value operand = operandAt(b, chain, mma, chain.count), next = mma.pingPong ? waitForPreviousGroup(b, chain, mma) : Value();
  for (auto [part, ready] : llvm::enumerate(mma.ready)) {
    if (operand) ttg::TensorStoreOp::create(b, loc, mma.op.getA(), operand, rangeOfPart(b, mma, part));
    if (part == 0 && mma.late()->hasOtherTile()) waitForPrevious(b, loc, chain, mma); // `ready` counts the arrivals of one iteration
    if (part == 0 && storesSum(mma)) ttg::TensorStoreOp::create(b, loc, mma.op.getC(), mma.results, DenseI32ArrayAttr());
    arriveInGroup(b, loc, chain, ready, chain.zero);
    // The thread program has this arrival after the special functions of the last part (pipelineTensorStores).
    if (next && part == 0) ttg::BarrierArriveOp::create(b, loc, mma.pingPong, next, Value());
  }
}

static void expandSum(OpBuilder &b, ChainExpansion &chain, ExpandedMma &mma, const LateMma &late) {
  auto expandRescaled = [&](const RescaledSum &sum) {
    sum.factorBuffer ? sendFactors(b, chain, mma, sum) : loadRescaled(b, chain, mma, sum);
  };
  std::visit(
      llvm::makeVisitor([&](const LoadedSum &sum) { loadResult(b, chain, mma, sum.wait); }, [](const InPlaceSum &) {}, expandRescaled),
      late.sum);
}

void expandConsumers(OpBuilder &b, ChainExpansion &chain) {
  waitForReaders(b, chain);
  for (ExpandedMma &mma : chain.mmas)
    std::visit(llvm::makeVisitor([&](const EarlyMma &early) { loadResult(b, chain, mma, early.wait); },
                                 [&](const LateMma &late) {
                                   expandSum(b, chain, mma, late);
                                   writeOperands(b, chain, mma);
                                 }),
               mma.kind);
  dropMmaWaits(chain.loop);
}

} // namespace tilewright::gpu
