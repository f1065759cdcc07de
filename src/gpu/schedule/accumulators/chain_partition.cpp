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
#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/accumulators/chain_expansion.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult ChainExpansion::run() {
  SmallVector<Operation *> order(llvm::make_first_range(plan.loops)); // a loop with MMAs is in no other one
  for (Operation *op : order)
    if (failed(partition(cast<scf::ForOp>(op), plan.loops[op]))) return failure();
  memory.free();
  return success();
}

LogicalResult ChainExpansion::partition(scf::ForOp of, ChainLoop &planned) {
  loop = of, chain = &planned;
  resources.clear();
  for (size_t number = 0; number < chain->mmas.size(); ++number)
    resources.push_back(allocate(number));
  hoistBuffers();
  // The counter of iterations, in all runs of the loop, and of these runs.
  Value start = memory.barriers(1, config.getWarps()), end = memory.barriers(1);
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

ChainExpansion::MmaResources ChainExpansion::allocate(size_t number) {
  ChainedMma &mma = chain->mmas[number];
  int64_t warps = config.getWarps() / plan.rowGroups, groups = plan.rowGroups;
  MmaResources made;
  made.result = memory.tile(mma.result);
  if (mma.operand) made.operand = memory.tile(*mma.operand);
  made.done = memory.barriers(mma.result.depth * groups);
  for (size_t part = 0, parts = std::max<size_t>(mma.partEnds.size(), 1); !mma.isEarly && part < parts; ++part)
    made.ready.push_back(memory.barriers(groups, warps + (mma.factorBuffer && part == 0 ? warpsOfGroup : 0)));
  if (chain->pingPong == number) made.pingPong = memory.barriers(groups, warps);
  if (!mma.factorBuffer) return made;
  made.factorBuffer = factorBuffer(*mma.factorBuffer);
  made.factorsFull = memory.barriers(2 * groups, warps);
  return made;
}

Value ChainExpansion::factorBuffer(size_t number) {
  Value &buffer = factorBuffers[number];
  if (buffer) return buffer;
  b.setInsertionPointAfter(zero.getDefiningOp());
  buffer = ttg::AllocOp::create(b, function.getLoc(), plan.factorBuffers[number], ttg::Lifetime::throughout);
  return buffer;
}

/// Buffers that threads write in the loop are in use in all of it, by MMAs of the previous iteration, too.
void ChainExpansion::hoistBuffers() {
  for (ChainedMma &mma : chain->mmas)
    for (Value buffer : mma.op.buffers())
      if (ttg::AllocOp alloc = allocOf(buffer); loop->isProperAncestor(alloc)) alloc->moveBefore(loop);
}

void ChainExpansion::erase() {
  for (ChainedMma &mma : llvm::reverse(chain->mmas)) {
    if (mma.carried) loop.getTiedLoopYieldedValue(loop.getRegionIterArg(*mma.carried))->set(loop.getRegionIterArg(*mma.carried));
    mma.op.erase();
  }
  for (auto &[barriers, full] : chain->fullWaits)
    full.erase();
  for (auto [arrive, after] : chain->releases)
    arrive.erase();
}

//===------------------------------------------------------------------------------------------------------------- both sides

Value ChainExpansion::i32(Location loc, int64_t value) {
  return i32Constant(b, loc, value);
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
  if (chain->mmas[number].result.depth == 1) return resources[number].result;
  return ttg::TensorStageOp::create(b, chain->mmas[number].op.getLoc(), resources[number].result, stage);
}

/// An MMA's operand A in tensor memory; null if it is not there.
Value ChainExpansion::operandAt(size_t number, Value iteration) {
  ChainedMma &mma = chain->mmas[number];
  if (!mma.operand || mma.operand->depth == 1) return resources[number].operand;
  Location loc = mma.op.getLoc();
  return ttg::TensorStageOp::create(b, loc, resources[number].operand, stageAt(loc, iteration, mma.operand->depth).first);
}

/// The elements of K that are a part of an operand; null if it has one part.
DenseI32ArrayAttr ChainExpansion::rangeOfPart(size_t number, size_t part) {
  ArrayRef<int32_t> ends = chain->mmas[number].partEnds;
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

Operation *ChainExpansion::waitFor(Location loc, Value barriers, Value index, Value parity, bool perWarpGroup) {
  return ttg::BarrierWaitOp::create(b, loc, barriers, index, parity, /*firstWarp=*/false, /*tensorMemory=*/true, perWarpGroup);
}

//===---------------------------------------------------------------------------------------------------------------- the step

LogicalResult expandChains(tt::FuncOp function, ttg::ConfigAttr config, ChainPlan plan) {
  return ChainExpansion(function, config, plan).run();
}

} // namespace tilewright::gpu
