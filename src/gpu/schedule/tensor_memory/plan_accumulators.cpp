// Which warp issues the MMAs of tcgen05, and where their results are in tensor memory. A warp of its own does if the kernel has a producer
// and its loops are of one of two kinds: loops that only accumulate (gemm_plan.h), and loops in which threads compute between dots
// (chained_plan.h). Otherwise it is the threads' first warp.
#include "gpu/passes.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/tensor_memory/mma_plan.h"
#include "ir/refusal.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

/// The choice, for explain.
static std::string textOf(const Result<MmaPartitionPlan> &plan) {
  if (!plan) return "the first warp of the threads starts each dot: " + plan.error();
  return std::string("a warp of its own multiplies, while others ") +
         (std::holds_alternative<AccumulationPlan>(*plan) ? "store the last sums" : "compute between the dots");
}

LogicalResult planAccumulators(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (!target.tcgen05) return success();
    Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
    if (!plan && multipliesInPairs(function)) return bug(function, "the MMAs of its pair of CTAs get no partition: " + plan.error());
    if (plan) writeMmaPlan(function, *plan);
    remarkOnLoops(function, "plan-accumulators", locationsOfMmaLoops(function), textOf(plan));
    return success();
  });
}

} // namespace tilewright::gpu
