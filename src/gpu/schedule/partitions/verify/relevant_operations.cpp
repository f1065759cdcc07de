#include "gpu/schedule/partitions/verify/relevant_operations.h"

#include "gpu/schedule/partitions/verify/barrier_operations.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/slice.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

/// The partitions that load a tile from shared memory: those whose operations need it. A load is not marked.
static SmallVector<ttg::Partition, 2> partitionsOf(Operation *op) {
  if (ttg::partitionOf(op) != ttg::Partition::consumers) return {ttg::partitionOf(op)};
  llvm::SmallSetVector<ttg::Partition, 2> partitions;
  llvm::SetVector<Value> values(op->result_begin(), op->result_end());
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : Value(values[next]).getUses()) {
      Operation *user = use.getOwner();
      if (ttg::partitionOf(user) != ttg::Partition::consumers)
        partitions.insert(ttg::partitionOf(user));
      else if (isa<RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(user))
        values.insert_range(tt::receiversOf(use));
      else if (wouldOpBeTriviallyDead(user))
        values.insert_range(user->getResults());
      else
        partitions.insert(ttg::Partition::consumers);
    }
  return partitions.takeVector();
}

/// True if an operation of the table has events. A load or a store does if it accesses a stage. MMAs and TMA stores count among those in
/// flight without a stage, too; in a while loop they end before an iteration does (mma_waits.h).
static bool hasOwnEvents(Operation *op, bool hasStages, const Resources &resources) {
  if (isa<ttg::TmaStoreOp, ttg::TmaStoreWaitOp>(op) && !resources.tmaStores) return false;
  if (isa<ttg::LoadSharedOp, ttg::FmaDotOp, ttg::StoreSharedOp>(op)) return hasStages;
  if (isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::TmaStoreOp, ttg::TmaStoreWaitOp>(op))
    return hasStages || !op->getParentOfType<scf::WhileOp>();
  return true;
}

RelevantOperations::RelevantOperations(tt::FuncOp function, const Resources &resources) {
  function.walk([&](Operation *op) {
    if (!barrierOperation(op) || !hasOwnEvents(op, passStages(op, resources), resources)) return;
    if (isa<ttg::LoadSharedOp>(op)) readers[op] = partitionsOf(op);
    for (Operation *outer = op; outer != function && decides.insert(outer).second; outer = outer->getParentOp())
      needOperands(outer);
  });
  around = decides;
  while (!needed.empty())
    need(needed.pop_back_val());
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (decides.contains(op)) ofBlock[op->getBlock()].push_back(op);
  });
}

ArrayRef<Operation *> RelevantOperations::operator[](Block &block) const {
  auto found = ofBlock.find(&block);
  return found == ofBlock.end() ? ArrayRef<Operation *>() : ArrayRef(found->second);
}

bool RelevantOperations::isOf(Operation *op, ttg::Partition partition) const {
  auto found = readers.find(op);
  return found == readers.end() ? ttg::partitionOf(op) == partition : llvm::is_contained(found->second, partition);
}

void RelevantOperations::pass(Value from) {
  if (seen.insert(from).second) needed.push_back(from);
}

/// Needs the indices of the stages that the operation accesses. Returns false if there are none.
bool RelevantOperations::passStages(Operation *op, const Resources &resources) {
  bool found = false;
  for (Value operand : op->getOperands()) {
    if (!resources.hasStages(operand)) continue;
    found = true;
    if (ttg::StageOp stage = stageOf(operand)) pass(stage.getIndex());
  }
  return found;
}

/// Loops and branches need their bounds and conditions. What they pass on is needed value by value.
void RelevantOperations::needOperands(Operation *op) {
  ValueRange operands = op->getOperands();
  for (Value operand : isa<scf::ForOp>(op) ? operands.take_front(cast<scf::ForOp>(op).getNumControlOperands()) : operands)
    if (operand.getType().isIntOrIndex()) pass(operand);
}

/// Needs what a loop with events passes to the value. False if the value is none that a loop passes on.
bool RelevantOperations::needThrough(scf::ForOp loop, Value value) {
  if (!loop || !around.contains(loop)) return false;
  if (value == loop.getInductionVar()) return true;
  auto argument = dyn_cast<BlockArgument>(value);
  BlockArgument carried = argument ? argument : loop.getRegionIterArg(cast<OpResult>(value).getResultNumber());
  for (Value from : {Value(carried), loop.getTiedLoopInit(carried)->get(), loop.getTiedLoopYieldedValue(carried)->get()})
    pass(from);
  return true;
}

void RelevantOperations::need(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *from = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (needThrough(dyn_cast<scf::ForOp>(from), value) || argument) return;
  if (auto branch = dyn_cast<scf::IfOp>(from); branch && around.contains(branch)) {
    for (Region &region : branch->getRegions())
      pass(region.front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
    return;
  }
  if (decides.insert(from).second && from->getNumRegions() == 0) needOperands(from);
}

} // namespace tilewright::gpu
