#include "gpu/schedule/clusters/attempt.h"

#include "gpu/schedule/tensor_memory/gemm/gemm_plan.h"
#include "gpu/schedule/tensor_memory/mma_plan.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

FailureOr<Attempt> attempt(tt::FuncOp function, const PolicyContext &context, function_ref<bool(tt::FuncOp)> rewrite) {
  Attempt made;
  FailureOr<ScheduledCopy> copy = scheduleCopy(function, context, rewrite, [&](tt::FuncOp rewritten) {
    Result<MmaPartitionPlan> plan = planMmaPartition(rewritten, context.config, context.target);
    made.mmaWarp = plan ? Result<void>() : Result<void>(Failure{plan.error()});
    return plan || !multipliesInPairs(rewritten); // MMAs of a pair of CTAs need a warp of their own
  });
  if (failed(copy)) return failure();
  made.copy = std::move(*copy);
  if (std::optional<int64_t> bytes = made.copy.bytes)
    made.fits = *bytes <= context.target.sharedBytes ? Result<void>() : Result<void>(Failure{"it does not fit in shared memory"});
  if (made.mmaWarp) made.mmaWarp = made.fits;
  return made;
}

} // namespace tilewright::gpu
