// Carries the plan of the MMA partition out (chained_partition.cpp, gemm_partition.cpp). Without one, the threads' first warp issues
// the MMAs (first_warp_mmas.cpp).
#include "gpu/passes.h"
#include "gpu/schedule/tensor_memory/first_warp/first_warp_mmas.h"
#include "gpu/schedule/tensor_memory/mma_plan.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult placeAccumulators(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (!target.tcgen05) return success();
    if (!function->hasAttr(ttg::mmaPartitionName)) return issueInFirstWarp(function, target);
    FailureOr<MmaPartitionPlan> plan = takeMmaPlan(function, config, target);
    if (failed(plan)) return failure();
    return std::visit(
        llvm::makeVisitor([&](AccumulationPlan &accumulation) { return expandAccumulation(function, config, std::move(accumulation)); },
                          [&](ChainPlan &chains) { return expandChains(function, std::move(chains)); }),
        *plan);
  });
}

} // namespace tilewright::gpu
