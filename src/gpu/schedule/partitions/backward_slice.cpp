#include "gpu/schedule/partitions/backward_slice.h"

#include "gpu/schedule/program_loop.h"
#include "gpu/ttg/written_memory.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

void BackwardSlice::keep(Operation *op) {
  if (op == within || !within->isAncestor(op) || !included.insert(op).second) return;
  keep(op->getParentOp());
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      need(bound);
    if (ttg::ClcProgramOp program = clcProgramOf(loop)) keep(program); // which ends the loop
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
  } else if (op->getNumRegions() != 0) {
    cannotCompute(op, "only loops and branches are computed again");
  } else {
    for (Value operand : op->getOperands())
      need(operand);
  }
}

void BackwardSlice::need(Value value) {
  if (!needed.insert(value).second) return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *around = argument.getOwner()->getParentOp();
    if (around == within || !within->isAncestor(around)) return;
    keep(around);
    auto loop = dyn_cast<scf::ForOp>(around);
    if (!loop) {
      cannotCompute(around, "only a for loop passes values to the next iteration of a partition");
    } else if (argument != loop.getInductionVar()) {
      need(loop.getTiedLoopInit(argument)->get());
      need(loop.getTiedLoopYieldedValue(argument)->get());
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!within->isAncestor(op)) return;
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getRegionIterArg(number));
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    keep(op);
    need(branch.thenYield().getOperand(number));
    need(branch.elseYield().getOperand(number));
  } else {
    checkComputable(value);
    keep(op);
  }
}

void BackwardSlice::cannotCompute(Operation *op, const char *reason) {
  if (notComputable) return;
  notComputable = op;
  why = reason;
}

/// Buffers and barriers are not computed: specialize-warps leaves them before the partitions.
void BackwardSlice::checkComputable(Value result) {
  Operation *op = result.getDefiningOp();
  bool oneWarp = runner == Runner::warp;
  if (oneWarp && isa<RankedTensorType>(result.getType())) return cannotCompute(op, "one warp holds no tiles");
  if (auto load = dyn_cast<tt::LoadOp>(op)) return loads.push_back(load);
  if (isMemoryEffectFree(op) || isa<ttg::AllocOp, ttg::AllocBarriersOp, ttg::TensorAllocOp, ttg::ClcProgramOp>(op)) return;
  if (oneWarp || !isa<ttg::LoadSharedOp>(op)) cannotCompute(op, "it has effects");
}

Result<LaunchGuards> BackwardSlice::guardsOf(tt::LoadOp load) const {
  return runner == Runner::warpGroup ? ttg::unwrittenBeforeGuards(load) : ttg::unwrittenGuards(load, load->getParentOfType<tt::FuncOp>());
}

Operation *BackwardSlice::obstacle() const {
  if (notComputable) return notComputable;
  auto found = llvm::find_if(loads, [&](tt::LoadOp load) { return !guardsOf(load); });
  return found == loads.end() ? nullptr : tt::LoadOp(*found).getOperation();
}

Result<LaunchGuards> BackwardSlice::guardsToCompute() const {
  auto failure = [](Operation *op, StringRef reason) { return Failure{(op->getName().getStringRef() + ": " + reason).str()}; };
  if (notComputable) return failure(notComputable, why);
  LaunchGuards all;
  for (tt::LoadOp load : loads) {
    Result<LaunchGuards> guards = guardsOf(load);
    if (!guards) return failure(load, guards.error());
    llvm::append_range(all, *guards);
  }
  return all;
}

void BackwardSlice::clone(Block &from, OpBuilder &b, IRMapping &map) const {
  for (Operation &op : from.without_terminator()) {
    if (!included.contains(&op)) continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      clone(loop, b, map);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      clone(branch, b, map);
    else
      b.clone(op, map);
  }
}

scf::ForOp BackwardSlice::clone(scf::ForOp loop, OpBuilder &b, IRMapping &map) const {
  SmallVector<BlockArgument> carried =
      llvm::filter_to_vector(loop.getRegionIterArgs(), [&](BlockArgument argument) { return needed.contains(argument); });
  auto mapped = [&](auto tied) {
    return llvm::map_to_vector(carried, [&](BlockArgument each) { return map.lookupOrDefault(tied(each)); });
  };
  SmallVector<Value> inits = mapped([&](BlockArgument each) { return loop.getTiedLoopInit(each)->get(); });
  auto fresh = scf::ForOp::create(b, loop.getLoc(), map.lookupOrDefault(loop.getLowerBound()), map.lookupOrDefault(loop.getUpperBound()),
                                  map.lookupOrDefault(loop.getStep()), inits);
  fresh.setUnsignedCmp(loop.getUnsignedCmp());
  map.map(loop.getInductionVar(), fresh.getInductionVar());
  for (auto [each, now, result] : llvm::zip(carried, fresh.getRegionIterArgs(), fresh.getResults())) {
    map.map(each, now);
    map.map(loop.getTiedLoopResult(each), result);
  }
  OpBuilder::InsertionGuard guard(b);
  if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
  b.setInsertionPointToEnd(fresh.getBody());
  clone(*loop.getBody(), b, map);
  scf::YieldOp::create(b, loop.getLoc(), mapped([&](BlockArgument each) { return loop.getTiedLoopYieldedValue(each)->get(); }));
  return fresh;
}

void BackwardSlice::clone(scf::IfOp branch, OpBuilder &b, IRMapping &map) const {
  SmallVector<OpResult> results = llvm::filter_to_vector(branch->getResults(), [&](OpResult result) { return needed.contains(result); });
  auto fresh = scf::IfOp::create(b, branch.getLoc(), TypeRange(llvm::map_to_vector(results, [](OpResult each) { return each.getType(); })),
                                 map.lookupOrDefault(branch.getCondition()), !branch.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(branch->getRegions(), fresh->getRegions())) {
    if (from.empty()) continue;
    OpBuilder::InsertionGuard guard(b);
    if (!to.front().empty()) to.front().back().erase();
    b.setInsertionPointToEnd(&to.front());
    clone(from.front(), b, map);
    SmallVector<Value> yielded = llvm::map_to_vector(
        results, [&](OpResult each) { return map.lookupOrDefault(from.front().getTerminator()->getOperand(each.getResultNumber())); });
    scf::YieldOp::create(b, branch.getLoc(), yielded);
  }
  for (auto [each, now] : llvm::zip(results, fresh.getResults()))
    map.map(each, now);
}

} // namespace tilewright::gpu
