// Follows the address of each argument forwards, through arithmetic, tiles, loops, branches and calls, to operations that write:
//
//   %p = tt.splat %out       %q = tt.addptr %p, %offsets      tt.store %q, %v        %out is written
//   %v = tt.load %x_ptrs                                                             a loaded value is not an address: the walk ends here
//
// The result is conservative: every value computed from an address counts as an address.

#include "ir/written_arguments.h"
#include "ir/slice.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright {

namespace {

/// True if the operation may write through this operand.
bool writesThrough(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto store = dyn_cast<tt::StoreOp>(op)) return use.get() == store.getPtr();
  if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op)) return use.get() == atomic.getPtr();
  if (auto atomic = dyn_cast<tt::AtomicCASOp>(op)) return use.get() == atomic.getPtr();
  if (auto store = dyn_cast<tt::DescriptorStoreOp>(op)) return use.get() == store.getDesc();
  if (auto reduce = dyn_cast<tt::DescriptorReduceOp>(op)) return use.get() == reduce.getDesc();
  if (auto scatter = dyn_cast<tt::DescriptorScatterOp>(op)) return use.get() == scatter.getDesc();
  return isa<tt::ExternElementwiseOp, tt::ElementwiseInlineAsmOp>(op) && !isPure(op);
}

bool readsMemory(Operation *op) {
  return isa<tt::LoadOp, tt::DescriptorLoadOp, tt::DescriptorGatherOp>(op);
}

class Walk {
public:
  bool reachesWrite(Value argument) {
    add(argument);
    while (!open.empty())
      for (OpOperand &use : open.pop_back_val().getUses()) {
        if (writesThrough(use)) return true;
        follow(use);
      }
    return false;
  }

private:
  void add(Value value) {
    if (seen.insert(value).second) open.push_back(value);
  }

  void follow(OpOperand &use) {
    Operation *op = use.getOwner();
    unsigned index = use.getOperandNumber();
    if (readsMemory(op)) return;
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && index < loop.getNumControlOperands()) return add(loop.getInductionVar());
    for (Value receiver : tt::receiversOf(use))
      add(receiver);
    if (isa<scf::SCFDialect>(op->getDialect())) return;
    if (op->hasTrait<OpTrait::IsTerminator>()) return followExit(op, index);
    if (auto call = dyn_cast<tt::CallOp>(op))
      if (auto callee = SymbolTable::lookupNearestSymbolFrom<tt::FuncOp>(op, call.getCalleeAttr())) return add(callee.getArgument(index));
    for (Value result : op->getResults())
      add(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          add(argument);
  }

  /// Follows a value that a branch, a return or a function of elements passes on.
  void followExit(Operation *exit, unsigned index) {
    Operation *parent = exit->getParentOp();
    if (auto branch = dyn_cast<BranchOpInterface>(exit)) {
      if (std::optional<BlockArgument> target = branch.getSuccessorBlockArgument(index)) add(*target);
    } else if (auto function = dyn_cast<tt::FuncOp>(parent)) {
      // The value is a result of the calls of this function.
      if (std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(function, function->getParentOp()))
        for (const SymbolTable::SymbolUse &use : *uses)
          if (index < use.getUser()->getNumResults()) add(use.getUser()->getResult(index));
    } else {
      for (Value result : parent->getResults())
        add(result);
    }
  }

  llvm::SmallVector<Value> open;
  llvm::DenseSet<Value> seen;
};

} // namespace

std::vector<bool> writtenArguments(tt::FuncOp kernel) {
  std::vector<bool> written;
  for (Value argument : kernel.getArguments())
    written.push_back(Walk().reachesWrite(argument));
  return written;
}

} // namespace tilewright
