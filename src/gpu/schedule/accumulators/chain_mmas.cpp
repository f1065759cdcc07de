// The program of the warp that issues the MMAs of a loop in which threads compute between them (chain_partition.cpp).
//   two tiles of early results:     early MMAs of i + 1, then for each row group: late MMAs of i where their operands are ready
//   one tile, several row groups:   for each row group: late MMAs of i, then early MMAs of i + 1
//   one tile, one row group:        early MMAs of i, then late MMAs of i
// All of them are in the loop: a barrier of all warps may stand before it.
#include "gpu/schedule/accumulators/chain_expansion.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/zeros.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::gpu {

void ChainExpansion::assign(Operation *op) {
  ttg::setPartition(op, ttg::Partition::mmas);
}

ChainExpansion::Iteration ChainExpansion::thisIteration() {
  Iteration iteration;
  iteration.count = count;
  for (auto &[barriers, wait] : chain->fullWaits)
    iteration.full[barriers] = {wait.getIndex(), wait.getParity(), wait.getIndex()};
  return iteration;
}

ChainExpansion::Iteration ChainExpansion::nextIteration(Location loc) {
  Iteration iteration = thisIteration();
  for (auto &[barriers, full] : iteration.full) {
    int64_t depth = cast<ttg::BarriersType>(barriers.getType()).getCount();
    StageState next = StageState(full.stage, full.parity, depth).next(b, loc);
    full.stage = next.index, full.parity = next.parity;
  }
  iteration.count = arith::AddIOp::create(b, loc, count, i32(loc, 1));
  return iteration;
}

void ChainExpansion::inBranch(Location loc, Value condition, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false).thenBlock());
  emit();
}

void ChainExpansion::issue() {
  Location loc = loop.getLoc();
  b.setInsertionPointToStart(loop.getBody());
  Iteration now = thisIteration(), next;
  Value existsLater;
  Value before = arith::SubIOp::create(b, loc, count, i32(loc, 1));
  if (chain->prefetches || chain->interleaves) {
    Iteration first = now;
    inBranch(loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, loop.getInductionVar(), loop.getLowerBound()), [&] {
      for (int64_t group = 0; group < plan.rowGroups; ++group)
        issueEarly(first, group);
    });
    next = nextIteration(loc);
    existsLater = LoopIterations(loop).existsLater(b, 1);
    for (int64_t group = 0; chain->prefetches && group < plan.rowGroups; ++group)
      issueNext(next, existsLater, before, group);
  } else {
    for (int64_t group = 0; group < plan.rowGroups; ++group) {
      waitForColumns(before, group);
      issueEarly(now, group);
    }
  }
  Value isLater = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
  ttg::MmaAsyncOp last = chain->mmas[chain->lastLate].op;
  for (int64_t group = 0; group < plan.rowGroups; ++group) {
    for (auto [number, mma] : llvm::enumerate(chain->mmas)) {
      if (mma.isEarly) continue;
      b.setInsertionPoint(plan.rowGroups == 1 ? mma.op : last); // operands of all row groups are known there
      issueLate(now, number, group, isLater);
    }
    if (chain->interleaves) issueNext(next, existsLater, count, group);
  }
}

/// Waits until no late MMA of iteration `of` reads an operand that is in the columns of an early MMA's result. The hardware orders no such
/// pair of MMAs (PTX ISA 9.7.16.6.2).
void ChainExpansion::waitForColumns(Value of, int64_t group) {
  for (auto [mma, resource] : llvm::zip(chain->mmas, resources)) {
    if (!mma.columnsOf) continue;
    Location loc = mma.op.getLoc();
    assign(waitFor(loc, resource.done, barrierOf(loc, zero, group), stageAt(loc, of, 1).second));
  }
}

/// A row group's early MMAs of the next iteration. `before`: the last iteration with results in the same columns.
void ChainExpansion::issueNext(Iteration &next, Value exists, Value before, int64_t group) {
  inBranch(loop.getLoc(), exists, [&] {
    waitForColumns(before, group);
    issueEarly(next, group);
  });
}

void ChainExpansion::issueLate(Iteration &iteration, size_t number, int64_t group, Value isLater) {
  ChainedMma &mma = chain->mmas[number];
  Location loc = loop.getLoc();
  auto constant = [&](bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)).getResult(); };
  waitForCopies(iteration, mma);
  auto [stage, parity] = stageAt(loc, iteration.count, 1);
  Value accumulate = mma.isInPlace() && !mma.storesInit ? isLater : constant(!tt::isZeros(mma.op.getC()));
  for (auto [part, ready] : llvm::enumerate(resources[number].ready)) {
    assign(waitFor(loc, ready, barrierOf(loc, stage, group), parity));
    multiply(iteration, number, group, resources[number].result, part ? constant(true) : accumulate, rangeOfPart(number, part));
  }
  commit(iteration, number, group, stage);
}

/// The early MMAs of one iteration and row group.
void ChainExpansion::issueEarly(Iteration &iteration, int64_t group) {
  for (auto [number, mma] : llvm::enumerate(chain->mmas)) {
    if (!mma.isEarly) continue;
    Location loc = mma.op.getLoc();
    waitForCopies(iteration, mma);
    Value stage = stageAt(loc, iteration.count, mma.result.depth).first;
    Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    multiply(iteration, number, group, stageOf(number, stage), no);
    commit(iteration, number, group, stage);
  }
}

/// Waits for what a producer copies, once for each full barrier.
void ChainExpansion::waitForCopies(Iteration &iteration, const ChainedMma &mma) {
  for (Value buffer : ttg::MmaAsyncOp(mma.op).buffers()) {
    auto barriers = plan.fullBarriers.find(allocOf(buffer));
    if (barriers == plan.fullBarriers.end() || !iteration.full.contains(barriers->second)) continue;
    FullPhase &full = iteration.full[barriers->second];
    if (full.hasWaited) continue;
    full.hasWaited = true;
    assign(ttg::BarrierWaitOp::create(b, ttg::MmaAsyncOp(mma.op).getLoc(), barriers->second, full.stage, full.parity));
  }
}

/// Issues an MMA, or a part of one.
void ChainExpansion::multiply(Iteration &iteration, size_t number, int64_t group, Value result, Value accumulate,
                              DenseI32ArrayAttr kRange) {
  ChainedMma &mma = chain->mmas[number];
  Location loc = mma.op.getLoc();
  Value operand = operandAt(number, iteration.count);
  Value first = operand ? operand : forIteration(iteration, mma.op.getA()), second = forIteration(iteration, mma.op.getB());
  IntegerAttr block = plan.rowGroups == 1 ? IntegerAttr() : b.getI32IntegerAttr(static_cast<int32_t>(group));
  assign(ttg::Tcgen05MmaOp::create(b, loc, first, second, result, accumulate, Value(), Value(), Value(), Value(), Value(),
                                   ttg::BlockScalesAttr(), /*paired=*/false, block, kRange));
}

/// Commits say that an MMA is complete, and release the copies that it is the last to read.
void ChainExpansion::commit(Iteration &iteration, size_t number, int64_t group, Value stage) {
  Location loc = chain->mmas[number].op.getLoc();
  assign(ttg::Tcgen05CommitOp::create(b, loc, resources[number].done, barrierOf(loc, stage, group)));
  if (group + 1 != plan.rowGroups) return;
  for (auto [arrive, after] : chain->releases)
    if (after == number) assign(ttg::Tcgen05CommitOp::create(b, loc, arrive.getBarriers(), stageFor(iteration, arrive.getIndex())));
}

/// The stage that an index of the loop names in the iteration for which MMAs are issued.
Value ChainExpansion::stageFor(const Iteration &iteration, Value index) {
  for (const auto &[barriers, full] : iteration.full)
    if (full.index == index) return full.stage;
  return index;
}

/// A buffer operand, at the stage of the iteration for which MMAs are issued.
Value ChainExpansion::forIteration(const Iteration &iteration, Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (!isa<ttg::ViewOp, ttg::StageOp>(op)) return buffer;
  IRMapping map;
  map.map(op->getOperand(0), forIteration(iteration, op->getOperand(0)));
  if (auto stage = dyn_cast<ttg::StageOp>(op)) map.map(stage.getIndex(), stageFor(iteration, stage.getIndex()));
  return b.clone(*op, map)->getResult(0);
}

} // namespace tilewright::gpu
