#include "gpu/schedule/loops/two_stages.h"

#include "gpu/schedule/buffers.h"
#include "gpu/schedule/mma_waits.h"
#include "ir/refusal.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

static Value yieldedFor(scf::ForOp loop, BlockArgument carried) {
  return loop.getTiedLoopYieldedValue(carried)->get();
}

/// True if the operation only computes, maybe in a branch. Warps need not synchronize for it.
static bool isArithmetic(Operation *op) {
  auto isPlain = [](Operation *inner) {
    return inner->getNumRegions() == 0 || isa<scf::IfOp>(inner) ? WalkResult::advance() : WalkResult::interrupt();
  };
  return isMemoryEffectFree(op) && !op->walk(isPlain).wasInterrupted();
}

TwoStages::TwoStages(scf::ForOp loop) : loop(loop), body(loop.getBody()), lastMma(lastMmaIn(body)) {
  if (!lastMma) return;
  firstMma = *body->getOps<ttg::MmaAsyncOp>().begin();
  add(lastMma);
  // A carried value that the second part makes belongs to it, and so does everything that uses the value.
  for (size_t before = 0; before != second.size();) {
    before = second.size();
    for (BlockArgument carried : loop.getRegionIterArgs())
      if (isInSecond(carried)) addUsers(carried);
  }
}

bool TwoStages::isInSecond(BlockArgument carried) const {
  return isInSecond(yieldedFor(loop, carried).getDefiningOp());
}

bool TwoStages::areSeparable() {
  ttg::MmaAsyncWaitOp wait = firstMma ? waitFor(firstMma.getD()) : ttg::MmaAsyncWaitOp();
  if (!wait || wait->getBlock() != body || isInSecond(firstMma)) return false;
  for (Operation *op : second)
    if (!isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(op) && !isArithmetic(op)) return false;
  for (Value value : forwarded())
    if (!isa<IntegerType, FloatType, IndexType>(getElementTypeOrSelf(value.getType())) && !isOnlyForSecond(value)) return false;
  return llvm::all_of(loop.getRegionIterArgs(), [&](BlockArgument carried) {
    auto from = dyn_cast<BlockArgument>(yieldedFor(loop, carried));
    bool isCarriedOn = from && from.getOwner() == body && from != loop.getInductionVar();
    return !isCarriedOn || !isInSecond(from) || isInSecond(carried);
  });
}

LogicalResult TwoStages::addWaitsAndShapes() {
  bool waited = false;
  for (Operation &op : *body) {
    waited |= isa<ttg::MmaAsyncWaitOp>(op) && isInSecond(&op);
    if (isa<ttg::BarrierWaitOp>(op)) {
      Operation *reader = firstFrom<ttg::MmaAsyncOp, ttg::LoadSharedOp, ttg::FmaDotOp>(&op);
      if (!reader) return bug(&op, "no operation after it reads the stage that it waits for");
      if (isInSecond(reader)) second.insert(&op);
    }
    if (!isa<ttg::BarrierArriveOp>(op) || !waited) continue;
    second.insert(&op);
    if (isa<ttg::FenceAsyncOp>(op.getPrevNode())) second.insert(op.getPrevNode());
  }
  for (Operation &op : llvm::reverse(*body)) {
    bool isShape = isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::SplatOp, ttg::StageOp, ttg::ViewOp>(op);
    if (isShape && llvm::all_of(op.getUsers(), [&](Operation *user) { return isInSecond(user); })) second.insert(&op);
  }
  return success();
}

llvm::SetVector<Value> TwoStages::forwarded() const {
  llvm::SetVector<Value> values;
  for (Operation &op : *body) {
    if (!isInSecond(&op)) continue;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (body->getParent() == operand.getParentRegion() && !isOfSecond(operand)) values.insert(operand);
    });
  }
  return values;
}

/// True if the value, of the loop's body, is an operation's of the second part, or carried for it.
bool TwoStages::isOfSecond(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) return isInSecond(value.getDefiningOp());
  return argument != scf::ForOp(loop).getInductionVar() && isInSecond(argument);
}

/// A buffer that the first part does not use, and that copies which run ahead fill.
bool TwoStages::isOnlyForSecond(Value value) const {
  return isa<ttg::BufferType>(value.getType()) && llvm::all_of(value.getUsers(), [&](Operation *user) {
           auto store = dyn_cast<ttg::StoreSharedOp>(user);
           return store ? isa_and_nonnull<ttg::DescriptorLoadOp>(store.getSrc().getDefiningOp()) : isInSecond(user);
         });
}

void TwoStages::addUsers(Value value) {
  for (Operation *user : value.getUsers())
    if (Operation *op = body->findAncestorOpInBlock(*user); op && !op->hasTrait<OpTrait::IsTerminator>()) add(op);
}

void TwoStages::add(Operation *op) {
  if (!second.insert(op).second) return;
  for (Value result : op->getResults())
    addUsers(result);
}

} // namespace tilewright::gpu
