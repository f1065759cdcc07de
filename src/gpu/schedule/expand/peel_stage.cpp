#include "gpu/schedule/expand/peel_stage.h"

using namespace mlir;

namespace tilewright::gpu {

scf::IfOp peelStage(OpBuilder &b, Location loc, Value exists, ArrayRef<Operation *> stage, IRMapping map, ValueRange results,
                    function_ref<SmallVector<Value>()> substitutes) {
  auto branch = scf::IfOp::create(b, loc, results.getTypes(), exists, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (Operation *op : stage)
    b.clone(*op, map);
  scf::YieldOp::create(b, loc, llvm::map_to_vector(results, [&](Value result) { return map.lookupOrDefault(result); }));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, substitutes());
  return branch;
}

} // namespace tilewright::gpu
