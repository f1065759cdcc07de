#include "gpu/schedule/partitions/verify/launch_scalars.h"

using namespace mlir;

namespace tilewright::gpu {

void LaunchScalars::compute(Operation *op) {
  for (Value result : op->getResults())
    known[result] = std::nullopt;
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !op->getResult(0).getType().isIntOrIndex()) return;
  known[op->getResult(0)] = computeInteger(op, llvm::map_to_vector(op->getOperands(), [&](Value operand) { return of(operand); }));
}

} // namespace tilewright::gpu
