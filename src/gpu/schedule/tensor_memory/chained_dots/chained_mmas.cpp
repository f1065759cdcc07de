// The program of the warp that issues the MMAs of a loop in which threads compute between them (chained_partition.cpp).
//   two tiles of early results:     early MMAs of i + 1, then for each row group: late MMAs of i where their operands are ready
//   one tile, several row groups:   for each row group: late MMAs of i, then early MMAs of i + 1
//   one tile, one row group:        early MMAs of i, then late MMAs of i
// All of them are in the loop: a barrier of all warps may stand before it. A producer's copies have two stages at least (chained_loop.cpp),
// so those of i + 1 arrive before the late MMAs of i have released theirs.
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/tensor_memory/chained_dots/chained_expansion.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/zeros.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// A full barrier's phase in the iteration for which MMAs are issued.
struct FullPhase {
  StageState stage;
  Value name; ///< the stage, as the loop names it
  bool hasWaited = false;
};

/// The iteration for which MMAs are issued.
struct Iteration {
  Value count;
  llvm::MapVector<Value, FullPhase> full; ///< by barriers
};

Iteration thisIteration(ChainExpansion &chain) {
  Iteration iteration{chain.count, {}};
  for (auto &[barriers, wait] : chain.its.fullWaits) {
    StageState stage(wait.getIndex(), wait.getParity(), wait.getBarriers().getType().getCount());
    iteration.full[barriers] = {stage, wait.getIndex()};
  }
  return iteration;
}

Iteration nextIteration(OpBuilder &b, Location loc, ChainExpansion &chain) {
  Iteration iteration = thisIteration(chain);
  for (auto &[barriers, full] : iteration.full)
    full.stage = full.stage.next(b, loc);
  iteration.count = arith::AddIOp::create(b, loc, chain.count, i32Constant(b, loc, 1));
  return iteration;
}

/// The stage that an index of the loop names in the iteration.
Value stageFor(const Iteration &iteration, Value index) {
  for (const auto &[barriers, full] : iteration.full)
    if (full.name == index) return full.stage.index;
  return index;
}

/// A buffer operand, at the iteration's stage.
Value forIteration(OpBuilder &b, const Iteration &iteration, Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (!isa<ttg::ViewOp, ttg::StageOp>(op)) return buffer;
  IRMapping map;
  map.map(op->getOperand(0), forIteration(b, iteration, op->getOperand(0)));
  if (auto stage = dyn_cast<ttg::StageOp>(op)) map.map(stage.getIndex(), stageFor(iteration, stage.getIndex()));
  return b.clone(*op, map)->getResult(0);
}

/// Waits for what a producer copies, once for each full barrier.
void waitForCopies(OpBuilder &b, ChainExpansion &chain, Iteration &iteration, ExpandedMma &mma) {
  for (Value buffer : mma.op.buffers()) {
    auto barriers = chain.plan.fullBarriers.find(allocOf(buffer));
    if (barriers == chain.plan.fullBarriers.end() || !iteration.full.contains(barriers->second)) continue;
    FullPhase &full = iteration.full[barriers->second];
    if (full.hasWaited) continue;
    full.hasWaited = true;
    assignToMmas(ttg::BarrierWaitOp::create(b, mma.op.getLoc(), barriers->second, full.stage.index, full.stage.parity));
  }
}

/// Waits until no late MMA of iteration `of` reads an operand that is in the columns of an early MMA's result. The hardware orders no such
/// pair of MMAs (PTX ISA 9.7.16.6.2).
void waitForColumns(OpBuilder &b, ChainExpansion &chain, Value of, int64_t group) {
  for (ExpandedMma &mma : chain.mmas) {
    if (!mma.late() || !mma.late()->operand || !mma.late()->operand->sharesColumns) continue;
    assignToMmas(waitForMma(b, mma.op.getLoc(), chain, mma, of, group));
  }
}

/// Issues an MMA, or a part of one.
void multiply(OpBuilder &b, ChainExpansion &chain, Iteration &iteration, ExpandedMma &mma, int64_t group, Value result, Value accumulate,
              DenseI32ArrayAttr kRange = {}) {
  Value operand = operandAt(b, chain, mma, iteration.count);
  Value first = operand ? operand : forIteration(b, iteration, mma.op.getA()), second = forIteration(b, iteration, mma.op.getB());
  IntegerAttr block = chain.plan.rowGroups == 1 ? IntegerAttr() : b.getI32IntegerAttr(static_cast<int32_t>(group));
  ttg::Tcgen05MmaOp started = startMma(b, mma.op, first, second, result, accumulate);
  started.setRowBlockAttr(block);
  started.setKRangeAttr(kRange);
  assignToMmas(started);
}

/// Commits say that an MMA is complete, and release the copies that it is the last to read.
void commit(OpBuilder &b, ChainExpansion &chain, Iteration &iteration, ExpandedMma &mma, int64_t group, Value stage) {
  Location loc = mma.op.getLoc();
  assignToMmas(ttg::Tcgen05CommitOp::create(b, loc, mma.done, barrierOf(b, loc, chain, stage, group)));
  if (group + 1 != chain.plan.rowGroups) return;
  for (auto [arrive, after] : chain.its.releases)
    if (&chain.mmas[after] == &mma)
      assignToMmas(ttg::Tcgen05CommitOp::create(b, loc, arrive.getBarriers(), stageFor(iteration, arrive.getIndex())));
}

/// The early MMAs of one iteration and row group.
void issueEarly(OpBuilder &b, ChainExpansion &chain, Iteration &iteration, int64_t group) {
  for (ExpandedMma &mma : chain.mmas) {
    if (!mma.isEarly()) continue;
    Location loc = mma.op.getLoc();
    waitForCopies(b, chain, iteration, mma);
    Value stage = stageAt(b, loc, chain, iteration.count, mma.result.depth).index;
    Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    multiply(b, chain, iteration, mma, group, resultAt(b, mma, stage), no);
    commit(b, chain, iteration, mma, group, stage);
  }
}

void issueLate(OpBuilder &b, ChainExpansion &chain, Iteration &iteration, ExpandedMma &mma, int64_t group, Value isLater) {
  Location loc = chain.loop.getLoc();
  auto constant = [&](bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)).getResult(); };
  waitForCopies(b, chain, iteration, mma);
  StageState stage = stageAt(b, loc, chain, iteration.count, 1);
  bool overwrites = std::holds_alternative<InPlaceSum>(mma.late()->sum) && !mma.storesInit(); // in the first iteration
  Value accumulate = overwrites ? isLater : constant(!tt::isZeros(mma.op.getC()));
  for (auto [part, ready] : llvm::enumerate(mma.ready)) {
    assignToMmas(waitForResults(b, loc, ready, barrierOf(b, loc, chain, stage.index, group), stage.parity));
    multiply(b, chain, iteration, mma, group, mma.results, part ? constant(true) : accumulate, rangeOfPart(b, mma, part));
  }
  commit(b, chain, iteration, mma, group, stage.index);
}

void inBranch(OpBuilder &b, Location loc, Value condition, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false).thenBlock());
  emit();
}

} // namespace

void issueMmas(OpBuilder &b, ChainExpansion &chain) {
  scf::ForOp loop = chain.loop;
  Location loc = loop.getLoc();
  auto groups = llvm::seq<int64_t>(0, chain.plan.rowGroups);
  b.setInsertionPointToStart(loop.getBody());
  Iteration now = thisIteration(chain), next;
  Value existsLater, before = previousCount(b, loc, chain);
  auto comparedToFirst = [&](arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(b, loc, predicate, loop.getInductionVar(), loop.getLowerBound());
  };
  // `of`: the last iteration with results in the same columns.
  auto issueNext = [&](Value of, int64_t group) {
    waitForColumns(b, chain, of, group); // in the last iteration, too: each phase is waited for
    inBranch(b, loc, existsLater, [&] { issueEarly(b, chain, next, group); });
  };
  ttg::EarlyMmas early = chain.its.earlyMmas;
  if (early != ttg::EarlyMmas::in_iteration) {
    Iteration first = now;
    inBranch(b, loc, comparedToFirst(arith::CmpIPredicate::eq), [&] {
      for (int64_t group : groups)
        issueEarly(b, chain, first, group);
    });
    next = nextIteration(b, loc, chain);
    existsLater = LoopIterations(loop).existsLater(b, 1);
  }
  for (int64_t group : groups) {
    switch (early) {
    case ttg::EarlyMmas::prefetched: issueNext(before, group); break;
    case ttg::EarlyMmas::in_iteration:
      waitForColumns(b, chain, before, group);
      issueEarly(b, chain, now, group);
      break;
    case ttg::EarlyMmas::interleaved: // after the late ones
      break;
    }
  }
  Value isLater = comparedToFirst(arith::CmpIPredicate::ne);
  Operation *last = chain.mmas[chain.its.lastLate].op;
  for (int64_t group : groups) {
    for (ExpandedMma &mma : chain.mmas) {
      if (mma.isEarly()) continue;
      b.setInsertionPoint(chain.plan.rowGroups == 1 ? mma.op.getOperation() : last); // operands of all row groups are known there
      issueLate(b, chain, now, mma, group, isLater);
    }
    if (early == ttg::EarlyMmas::interleaved) issueNext(chain.count, group);
  }
}

} // namespace tilewright::gpu
