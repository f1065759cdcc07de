// In a loop in which threads compute between dots, as in attention, a warp of its own issues the MMAs:
//   before: for i { wait: K is full   %s = mma_async %q, %k   wait for it   arrive: K is empty   %p = softmax %s
//                   wait: V is full   %o = mma_async %p, %v, scaled %o   wait for it   arrive: V is empty }
//   after:  arrive: operands from before the loop are ready
//           for i { MMA warp: wait: K of i + 1 is full   tcgen05_mma %q, %k, %s[(i + 1) % 2]   commit: %s is done   commit: K is empty
//                   wait: %s[i % 2] is done   tensor_load   softmax   wait: the product of i - 1 is done   scale %o
//                   tensor_store %p   arrive: %p and %o are ready
//                   MMA warp: wait: V is full   wait: %p and %o are ready   tcgen05_mma %p, %v, %o   commit: it is done   commit: V is
//                   empty }
// An MMA that needs nothing of the threads in its iteration is early: if its results have two tiles, it runs an iteration ahead, under the
// threads' computation. If each warp group has 128 rows to itself, MMAs and barriers are those of a row group, and one group computes while
// another one's MMAs run. This is the pipeline of FlashAttention-4 (Zadouri et al., 2026), with its two tiles of queries.
// Barriers: an early MMA overwrites what threads have read before they arrived at the barrier `ready` of a later MMA, which the MMA warp
// has waited for. Threads overwrite an operand after a wait for the last MMA that reads it. Each warp waits for each phase of a barrier.
#include "gpu/schedule/accumulators/chain_partition.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/accumulators/chain_expansion.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/zeros.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult ChainExpansion::run() {
  b.setInsertionPointToStart(&function.getBody().front());
  address = ttg::TensorAllocOp::create(b, function.getLoc(), b.getI32Type(), static_cast<uint32_t>(plan.columns));
  zero = arith::ConstantOp::create(b, function.getLoc(), b.getI32IntegerAttr(0));
  SmallVector<Operation *> order(llvm::make_first_range(plan.loops)); // a loop with MMAs is in no other one
  for (Operation *op : order)
    if (failed(partition(cast<scf::ForOp>(op), plan.loops[op]))) return failure();
  b.setInsertionPoint(function.getBody().front().getTerminator());
  ttg::TensorFreeOp::create(b, function.getLoc(), address);
  return success();
}

LogicalResult ChainExpansion::partition(scf::ForOp of, ChainLoop &chain) {
  loop = of, its = &chain;
  allocate();
  hoistBuffers();
  // The counter of iterations, in all runs of the loop, and of these runs.
  Value start = allocBarriers(1, config.getWarps()), end = allocBarriers(1, 1);
  Operation *first = loop.getBody()->getTerminator();
  FailureOr<SmallVector<Value>> iterations = carryState(first, {zero}, [&](ValueRange state) -> SmallVector<Value> {
    count = state[0];
    b.setInsertionPoint(first);
    return {arith::AddIOp::create(b, first->getLoc(), count, i32(first->getLoc(), 1))};
  });
  if (failed(iterations)) return failure();
  loop = cast<scf::ForOp>(first->getParentOp());
  return LogicalResult(carryState(loop, {zero}, [&](ValueRange state) -> SmallVector<Value> {
    Location loc = loop.getLoc();
    b.setInsertionPoint(loop);
    storeInits();
    ttg::BarrierArriveOp::create(b, loc, start, zero, Value());
    assign(waitFor(loc, start, zero, state[0]));
    expandThreads();
    issue();
    b.setInsertionPointAfter(loop);
    assign(ttg::Tcgen05CommitOp::create(b, loc, end, zero));
    waitFor(loc, end, zero, state[0]);
    loadResults();
    erase();
    return {arith::XOrIOp::create(b, loc, state[0], i32(loc, 1))};
  }));
}

Value ChainExpansion::allocBarriers(int64_t barriers, int64_t arrivals) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(zero.getDefiningOp());
  return ttg::AllocBarriersOp::create(b, function.getLoc(), ttg::BarriersType::get(b.getContext(), barriers),
                                      static_cast<uint32_t>(arrivals));
}

/// Loops have the same tiles in the same columns.
Value ChainExpansion::tileAt(Type of, int64_t column, int64_t depth, int64_t blockColumns) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(zero.getDefiningOp());
  auto type = cast<RankedTensorType>(of);
  auto memory = ttg::TensorMemoryType::get(b.getContext(), type.getShape(), type.getElementType(), blockColumns);
  Value &made = tiles[{column, depth, memory}];
  if (!made)
    made = ttg::TensorTileOp::create(b, function.getLoc(), memory, address, static_cast<uint32_t>(column), static_cast<uint32_t>(depth));
  return made;
}

void ChainExpansion::allocate() {
  int64_t column = 0, factors = 0, warps = config.getWarps() / plan.rowGroups;
  auto packed = [](Type tile) {
    auto type = cast<RankedTensorType>(tile);
    return ttg::TensorMemoryType::packedColumns(type.getShape(), type.getElementType());
  };
  SmallVector<int64_t> columns;
  places.assign(its->mmas.size(), {});
  for (auto [mma, place] : llvm::zip(its->mmas, places)) {
    int64_t depth = its->depthOf(mma);
    columns.push_back(column);
    place.result = tileAt(mma.op.getType(), column, depth, packed(mma.op.getType()));
    column += depth * tensorColumnsOf(mma.op.getType());
    if (auto operand = dyn_cast<RankedTensorType>(mma.op.getA().getType())) {
      if (mma.columnsOf) {
        place.operand = tileAt(operand, columns[*mma.columnsOf], operandDepthOf(mma), packed(its->mmas[*mma.columnsOf].op.getType()));
      } else {
        place.operand = tileAt(operand, column, 1, packed(operand));
        column += tensorColumnsOf(operand);
      }
    }
    place.done = allocBarriers(depth * plan.rowGroups, 1);
    for (size_t part = 0, parts = std::max<size_t>(mma.partEnds.size(), 1); !mma.isEarly && part < parts; ++part)
      place.ready.push_back(allocBarriers(plan.rowGroups, warps + (hasCorrection(mma) && part == 0 ? warpsOfGroup : 0)));
    if (its->pingPong == columns.size() - 1) place.pingPong = allocBarriers(plan.rowGroups, warps);
    if (!hasCorrection(mma)) continue;
    Value &buffer = factorBuffers[{factorBufferOf(mma), factors++}]; // loops use the same ones, one after the other
    if (!buffer) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfter(zero.getDefiningOp());
      buffer = ttg::AllocOp::create(b, function.getLoc(), factorBufferOf(mma), ttg::Lifetime::throughout);
    }
    place.factorBuffer = buffer;
    place.factorsFull = allocBarriers(2 * plan.rowGroups, warps);
  }
}

/// Buffers that threads write in the loop are in use in all of it, by MMAs of the previous iteration, too.
void ChainExpansion::hoistBuffers() {
  for (ChainedMma &mma : its->mmas)
    for (Value buffer : mma.op.buffers())
      if (ttg::AllocOp alloc = allocOf(buffer); loop->isProperAncestor(alloc)) alloc->moveBefore(loop);
}

void ChainExpansion::erase() {
  for (ChainedMma &mma : llvm::reverse(its->mmas)) {
    if (mma.inPlace) loop.getTiedLoopYieldedValue(loop.getRegionIterArg(*mma.inPlace))->set(loop.getRegionIterArg(*mma.inPlace));
    mma.op.erase();
  }
  for (auto &[barriers, full] : its->fullWaits)
    full.erase();
  for (auto [arrive, after] : its->releases)
    arrive.erase();
}

//===------------------------------------------------------------------------------------------------------------- both sides

Value ChainExpansion::i32(Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// The tile or barrier of iteration `number`, and the phase's parity.
std::pair<Value, Value> ChainExpansion::stageAt(Location loc, Value number, int64_t depth) {
  Value one = i32(loc, 1);
  if (depth == 1) return {zero, arith::AndIOp::create(b, loc, number, one)};
  Value lap = arith::ShRUIOp::create(b, loc, number, one);
  return {arith::AndIOp::create(b, loc, number, one), arith::AndIOp::create(b, loc, lap, one)};
}

/// A stage of an MMA's results.
Value ChainExpansion::stageOf(size_t number, Value stage) {
  if (its->depthOf(its->mmas[number]) == 1) return places[number].result;
  return ttg::TensorStageOp::create(b, its->mmas[number].op.getLoc(), places[number].result, stage);
}

/// An MMA's operand A in tensor memory; null if it is not there.
Value ChainExpansion::operandAt(size_t number, Value iteration) {
  const ChainedMma &mma = its->mmas[number];
  Location loc = ttg::MmaAsyncOp(mma.op).getLoc();
  int64_t depth = operandDepthOf(mma);
  if (!places[number].operand || depth == 1) return places[number].operand;
  return ttg::TensorStageOp::create(b, loc, places[number].operand, stageAt(loc, iteration, depth).first);
}

/// The elements of K that are a part of an operand; null if it has one part.
DenseI32ArrayAttr ChainExpansion::rangeOfPart(size_t number, size_t part) {
  ArrayRef<int32_t> ends = its->mmas[number].partEnds;
  if (ends.size() < 2) return {};
  return b.getDenseI32ArrayAttr({part ? ends[part - 1] : 0, ends[part]});
}

/// The index of a row group's barrier of a stage: each stage has one for each row group.
Value ChainExpansion::barrierOf(Location loc, Value stage, int64_t group) {
  if (plan.rowGroups == 1) return stage;
  if (stage == zero) return group ? i32(loc, group) : zero;
  Value first = arith::MulIOp::create(b, loc, stage, i32(loc, plan.rowGroups));
  return group ? arith::AddIOp::create(b, loc, first, i32(loc, group)) : first;
}

Operation *ChainExpansion::waitFor(Location loc, Value barriers, Value index, Value parity) {
  return ttg::BarrierWaitOp::create(b, loc, barriers, index, parity, /*firstWarp=*/false, /*tensorMemory=*/true);
}

bool ChainExpansion::startsFromZero(const ChainedMma &mma) const {
  return tt::isZeros(scf::ForOp(loop).getInitArgs()[*mma.inPlace]);
}

//===---------------------------------------------------------------------------------------------------------------- the step

FailureOr<Result<void>> partitionChainedMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  Result<ChainPlan> plan = planChains(function, config, target);
  if (!plan) return Result<void>(Failure{plan.error()});
  if (failed(ChainExpansion(function, config, *plan).run())) return failure();
  return Result<void>();
}

} // namespace tilewright::gpu
