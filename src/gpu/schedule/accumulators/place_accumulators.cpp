// Which warp issues the MMAs of tcgen05, and where their results are in tensor memory. A warp of its own does if the kernel has a producer
// and its loops are of one of two kinds: loops that only accumulate (mma_partition.cpp), and loops in which threads compute between dots
// (chain_partition.cpp). Otherwise it is the threads' first warp (first_warp_mmas.cpp).
#include "gpu/schedule/accumulators/place_accumulators.h"

#include "gpu/passes.h"
#include "gpu/schedule/accumulators/first_warp_mmas.h"
#include "gpu/schedule/mma_loops.h"
#include "ir/refusal.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

Result<MmaPartitionPlan> planMmaPartition(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (Result<void> possible = checkMmaWarp(function); !possible) return Failure{possible.error()};
  Result<AccumulationPlan> accumulation = planAccumulation(function, config, target);
  if (accumulation) return MmaPartitionPlan(std::move(*accumulation));
  if (config.getCtas() != 1) return Failure{accumulation.error()};
  Result<ChainPlan> chains = planChains(function, config, target);
  if (chains) return MmaPartitionPlan(std::move(*chains));
  return Failure{accumulation.error() + "; " + chains.error()};
}

/// Chooses which warp issues the MMAs, and places the accumulators. Returns the choice, for explain.
static FailureOr<std::string> place(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
  if (!plan) {
    if (multipliesInPairs(function)) return bug(function, "the MMAs of its pair of CTAs get no partition: " + plan.error()), failure();
    if (failed(issueInFirstWarp(function, target))) return failure();
    return "the first warp of the threads starts each dot: " + plan.error();
  }
  if (auto *accumulation = std::get_if<AccumulationPlan>(&*plan)) {
    if (failed(expandAccumulation(function, config, std::move(*accumulation)))) return failure();
    return std::string("a warp of its own multiplies, while others store the last sums");
  }
  if (failed(expandChains(function, config, std::move(std::get<ChainPlan>(*plan))))) return failure();
  return std::string("a warp of its own multiplies, while others compute between the dots");
}

LogicalResult placeAccumulators(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    if (!target.tcgen05) return success();
    llvm::SetVector<Location> loops = locationsOfMmaLoops(function);
    FailureOr<std::string> text = place(function, config, target);
    if (failed(text)) return failure();
    remarkOnLoops(function, "place-accumulators", loops, *text);
    return success();
  });
}

} // namespace tilewright::gpu
