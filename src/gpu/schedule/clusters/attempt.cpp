#include "gpu/schedule/clusters/attempt.h"

#include "gpu/schedule/accumulators/mma_plan.h"

using namespace mlir;

namespace tilewright::gpu {

FailureOr<Attempt> attempt(tt::FuncOp function, const PolicyContext &context, function_ref<bool(tt::FuncOp)> rewrite) {
  Attempt made;
  FailureOr<ScheduledCopy> copy = scheduleCopy(function, context, rewrite, [&](tt::FuncOp rewritten) {
    Result<MmaPartitionPlan> plan = planMmaPartition(rewritten, context.config, context.target);
    made.mmaWarp = plan ? Result<void>() : Result<void>(Failure{plan.error()});
  });
  if (failed(copy)) return failure();
  made.copy = std::move(*copy);
  return made;
}

} // namespace tilewright::gpu
