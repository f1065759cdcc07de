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
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/tensor_memory/chained_dots/chained_expansion.h"
#include "gpu/ttg/buffer_accesses.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

//===--------------------------------------------------------------------------------------------------- what the roles share

StageState stageAt(OpBuilder &b, Location loc, const ChainExpansion &chain, Value number, int64_t depth) {
  Value one = i32Constant(b, loc, 1);
  if (depth == 1) return {chain.zero, arith::AndIOp::create(b, loc, number, one), depth};
  Value lap = arith::ShRUIOp::create(b, loc, number, one);
  Value index = arith::AndIOp::create(b, loc, number, one);
  return {index, arith::AndIOp::create(b, loc, lap, one), depth};
}

Value resultAt(OpBuilder &b, ExpandedMma &mma, Value stage) {
  return mma.result.depth == 1 ? mma.results : Value(ttg::TensorStageOp::create(b, mma.op.getLoc(), mma.results, stage));
}

Value operandAt(OpBuilder &b, const ChainExpansion &chain, ExpandedMma &mma, Value number) {
  int64_t depth = mma.operands ? mma.late()->operand->tile.depth : 1;
  if (depth == 1) return mma.operands;
  Location loc = mma.op.getLoc();
  return ttg::TensorStageOp::create(b, loc, mma.operands, stageAt(b, loc, chain, number, depth).index);
}

DenseI32ArrayAttr rangeOfPart(OpBuilder &b, const ExpandedMma &mma, size_t part) {
  if (mma.late()->partCount() == 1) return {};
  ArrayRef<int32_t> ends = mma.late()->operand->partEnds;
  return b.getDenseI32ArrayAttr({part ? ends[part - 1] : 0, ends[part]});
}

Value barrierOf(OpBuilder &b, Location loc, const ChainExpansion &chain, Value stage, int64_t group) {
  if (chain.plan.rowGroups == 1) return stage;
  if (stage == chain.zero) return group ? i32Constant(b, loc, group) : chain.zero;
  Value first = arith::MulIOp::create(b, loc, stage, i32Constant(b, loc, chain.plan.rowGroups));
  return group ? arith::AddIOp::create(b, loc, first, i32Constant(b, loc, group)).getResult() : first;
}

Value previousCount(OpBuilder &b, Location loc, const ChainExpansion &chain) {
  return arith::SubIOp::create(b, loc, chain.count, i32Constant(b, loc, 1));
}

ttg::BarrierWaitOp waitForMma(OpBuilder &b, Location loc, const ChainExpansion &chain, const ExpandedMma &mma, Value number,
                              int64_t group) {
  Value barrier = barrierOf(b, loc, chain, chain.zero, group);
  return waitForResults(b, loc, mma.done, barrier, stageAt(b, loc, chain, number, 1).parity);
}

//===-------------------------------------------------------------------------------------------------- the frame of a loop

/// Allocates the buffer of a sum's factors, unless another loop has.
static Value factorTilesOf(const ChainExpansion &chain, size_t number, MutableArrayRef<Value> factorBuffers) {
  Value &tiles = factorBuffers[number];
  if (tiles) return tiles;
  OpBuilder b(chain.zero.getContext());
  b.setInsertionPointAfterValue(chain.zero);
  return tiles = ttg::AllocOp::create(b, chain.zero.getLoc(), chain.plan.factorBuffers[number], ttg::Lifetime::throughout);
}

/// Allocates an MMA's tiles and barriers. `factorBuffers`: those of the plan.
static void allocate(ExpandedMma &mma, const ChainExpansion &chain, TensorMemory &memory, MutableArrayRef<Value> factorBuffers) {
  ChainedMmaBarriers barriers = chain.plan.barriersOf(mma);
  LateMma *late = mma.late();
  mma.results = memory.tile(mma.result);
  if (late && late->operand) mma.operands = memory.tile(late->operand->tile);
  mma.done = memory.barriers(barriers.done);
  for (const BarrierSet &part : barriers.ready)
    mma.ready.push_back(memory.barriers(part));
  mma.pingPong = memory.barriers(barriers.pingPong);
  if (late && late->isCorrected()) mma.factorTiles = factorTilesOf(chain, *mma.scaledSum()->factorBuffer, factorBuffers);
  mma.factorsFull = memory.barriers(barriers.factorsFull);
}

/// Buffers that threads write in the loop are in use in all of it, by MMAs of the previous iteration, too.
static void hoistBuffers(ChainExpansion &chain) {
  for (ExpandedMma &mma : chain.mmas)
    for (Value buffer : mma.op.buffers())
      if (ttg::AllocOp alloc = allocOf(buffer); chain.loop->isProperAncestor(alloc)) alloc->moveBefore(chain.loop);
}

static void eraseReplaced(ChainExpansion &chain) {
  for (ExpandedMma &mma : llvm::reverse(chain.mmas)) {
    if (std::optional<unsigned> number = mma.carriedSum())
      chain.loop.getTiedLoopYieldedValue(chain.loop.getRegionIterArg(*number))->set(chain.loop.getRegionIterArg(*number));
    mma.op.erase();
  }
  for (auto &[barriers, full] : chain.its.fullWaits)
    full.erase();
  for (auto [arrive, after] : chain.its.releases)
    arrive.erase();
}

static LogicalResult partition(ChainExpansion &chain, TensorMemory &memory, MutableArrayRef<Value> factorBuffers) {
  for (const ChainedMma &planned : chain.its.mmas)
    allocate(chain.mmas.emplace_back(planned), chain, memory, factorBuffers);
  hoistBuffers(chain);
  OpBuilder b(chain.loop);
  // The loop carries the number of its iterations, in all runs. Those around it carry the parity of its runs.
  ChainLoopBarriers barriers = chain.plan.loopBarriers();
  Value start = memory.barriers(barriers.start), end = memory.barriers(barriers.end);
  Operation *first = chain.loop.getBody()->getTerminator();
  FailureOr<SmallVector<Value>> iterations = carryState(first, {chain.zero}, [&](ValueRange state) -> SmallVector<Value> {
    chain.count = state[0];
    b.setInsertionPoint(first);
    return {arith::AddIOp::create(b, first->getLoc(), chain.count, i32Constant(b, first->getLoc(), 1))};
  });
  if (failed(iterations)) return failure();
  chain.loop = cast<scf::ForOp>(first->getParentOp());
  return LogicalResult(carryState(chain.loop, {chain.zero}, [&](ValueRange state) -> SmallVector<Value> {
    Location loc = chain.loop.getLoc();
    b.setInsertionPoint(chain.loop);
    storeInits(b, chain);
    ttg::BarrierArriveOp::create(b, loc, start, chain.zero, Value());
    assignToMmas(waitForResults(b, loc, start, chain.zero, state[0]));
    expandConsumers(b, chain);
    issueMmas(b, chain);
    b.setInsertionPointAfter(chain.loop);
    assignToMmas(ttg::Tcgen05CommitOp::create(b, loc, end, chain.zero));
    waitForResults(b, loc, end, chain.zero, state[0]);
    loadResults(b, chain);
    eraseReplaced(chain);
    return {arith::XOrIOp::create(b, loc, state[0], i32Constant(b, loc, 1))};
  }));
}

LogicalResult expandChains(tt::FuncOp function, ChainPlan plan) {
  TensorMemory memory(function, plan.columns);
  SmallVector<Value> factorBuffers(plan.factorBuffers.size());
  for (auto &[loop, its] : plan.loops) { // a loop with MMAs is in no other one
    ChainExpansion chain{plan, its, cast<scf::ForOp>(loop), memory.zero()};
    if (failed(partition(chain, memory, factorBuffers))) return failure();
  }
  dropMmaWaits(function); // of sums, after the loops
  memory.free();
  return success();
}

} // namespace tilewright::gpu
