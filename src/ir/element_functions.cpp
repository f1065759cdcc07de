#include "ir/element_functions.h"

#include "ir/refusal.h"
#include "ir/tt.h"
#include "ir/volatile_load.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::tt {

/// True if the operation has no effect of its own, or only stops or traces the program.
static bool isAllowed(Operation *op, bool mayLoad) {
  if (isa<PrintOp, AssertOp>(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op)) return true;
  auto load = dyn_cast<LoadOp>(op);
  return mayLoad && load && !isVolatileLoad(load);
}

/// Returns an operation that is not allowed, in the region or in a function that it calls; null if there is none.
static Operation *accessIn(Region &region, bool mayLoad, SymbolTableCollection &symbols, SmallPtrSetImpl<Operation *> &visited) {
  Operation *found = nullptr;
  region.walk([&](Operation *op) {
    if (auto call = dyn_cast<CallOp>(op)) {
      auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(op, call.getCalleeAttr());
      if (callee && visited.insert(callee).second) found = accessIn(callee.getBody(), mayLoad, symbols, visited);
    } else if (!isAllowed(op, mayLoad)) {
      found = op;
    }
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LogicalResult checkElementFunctions(ModuleOp module) {
  SymbolTableCollection symbols;
  WalkResult walk = module.walk([&](Operation *op) {
    if (!isa<ReduceOp, ScanOp, MapElementwiseOp>(op)) return WalkResult::advance();
    SmallPtrSet<Operation *, 8> visited;
    Operation *access = accessIn(op->getRegion(0), isa<MapElementwiseOp>(op), symbols, visited);
    if (!access) return WalkResult::advance();
    refuse(access, Diag::elementFunctionAccess, {op->getName().getStringRef().str(), access->getName().getStringRef().str()});
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

} // namespace tilewright::tt
