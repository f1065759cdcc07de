// Finds the kernel argument from which a pointer is computed. The analysis follows address arithmetic, shape operations, mapped functions
// and loops that only advance a pointer. A pointer that was loaded, or selected from two, has no base.
//     %p = addptr (splat %a) %offsets; scf.for iter_args(%q = %p) { ... yield (addptr %q, %step) }     %q, the loop's result: %a
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::address {

/// True for operations whose first operand has the same base as their result. The layout conversion of the GPU dialect is recognized
/// without its name:
static bool keepsBase(Operation *op) {
  if (isa<tt::AddPtrOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp, tt::SplitOp, tt::BitcastOp>(op))
    return true;
  // it takes one tile of pointers and returns the same tile in another layout.
  return op->getNumOperands() == 1 && op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
         isa<RankedTensorType>(op->getOperand(0).getType()) && isa<RankedTensorType>(op->getResult(0).getType()) &&
         getElementTypeOrSelf(op->getOperand(0).getType()) == getElementTypeOrSelf(op->getResult(0).getType()) &&
         !isa<tt::TTDialect>(op->getDialect());
}

/// True if a loop only advances a pointer; walks from `next` back to `carried`.
static bool onlyMoves(Value next, Value carried) {
  while (next != carried) {
    Operation *op = next.getDefiningOp();
    if (!op || !keepsBase(op)) return false;
    next = op->getOperand(0);
  }
  return true;
}

BlockArgument baseArgument(Value pointer) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (isa<tt::FuncOp>(parent)) return argument;
      if (auto map = dyn_cast<tt::MapElementwiseOp>(parent)) {
        pointer = map.getSrcs()[argument.getArgNumber() / map.getPack()];
        continue;
      }
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop || argument == loop.getInductionVar()) return {};
      if (!onlyMoves(loop.getTiedLoopYieldedValue(argument)->get(), argument)) return {};
      pointer = loop.getTiedLoopInit(argument)->get();
      continue;
    }
    Operation *op = pointer.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      size_t number = cast<OpResult>(pointer).getResultNumber();
      BlockArgument carried = loop.getRegionIterArgs()[number];
      if (!onlyMoves(loop.getYieldedValues()[number], carried)) return {};
      pointer = loop.getInitArgs()[number];
    } else if (keepsBase(op)) {
      pointer = op->getOperand(0);
    } else {
      return {};
    }
  }
}

std::string nameOf(BlockArgument argument) {
  auto name = dyn_cast<NameLoc>(argument.getLoc());
  return name ? name.getName().str() : "argument " + std::to_string(argument.getArgNumber());
}

} // namespace tilewright::address
