// Chooses how many warps a kernel has, and over how many CTAs its program is split, from the registers that its tiles need:
//   rows that wait for reductions in more registers than a CTA has         num_ctas: the fewest CTAs whose registers hold them
//   accumulators of 256x256, which no CTA can hold                         num_ctas = 2: each CTA has half of the accumulators
//   4 warps, dk and dv of 128x128 f32 carried, scores of 128x32:           num_warps = 8: a thread holds half of 128 + 128 + 2 * 32
// A launch's num_ctas above 1 stays, and so do num_warps unless accumulators do not fit, where each dot would spill. The CTAs come first:
// what a CTA holds decides about its warps. Only accumulators count for warps: values of elementwise operations have short live ranges.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/registers.h"
#include "gpu/passes.h"
#include "gpu/tiles/cluster/cta_split_plan.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/ttg.h"
#include "gpu/ttg/unknown_code.h"
#include "ir/explanation.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

static bool hasAny(tt::FuncOp function, function_ref<bool(Operation *)> is) {
  return function.walk([&](Operation *op) { return is(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}
template <typename... Ops> static bool hasAny(tt::FuncOp function) {
  return hasAny(function, [](Operation *op) { return isa<Ops...>(op); });
}

/// Returns the fewest CTAs whose registers hold the rows that wait for reductions; 1 if no number of CTAs suffices. With the maximum number
/// of CTAs only the rows have to fit, without a reserve for other values. See `maxCtasForRows` in docs/heuristics.md. Atomics in a cluster
/// need exchanges, and a dot has another limit.
static int64_t ctasForRows(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  bool hasDots = hasAny<tt::DotOp, tt::DotScaledOp>(function);
  if (!hasAny<tt::ReduceOp>(function) || hasDots || hasAny<tt::AtomicRMWOp, tt::AtomicCASOp>(function)) return 1;
  int64_t threads = config.getWarps() << laneBits;
  int64_t available = availableRegisters(threads, config.getMaxRegisters(), target);
  Liveness liveness(function);
  for (int64_t ctas = 1; ctas <= maxCtasForRows; ctas *= 2) {
    int64_t reserved = ctas < maxCtasForRows ? otherRegistersNextToRows : 0;
    CtaSplitPlan plan(function, config.getWarps(), ctas, {}, target);
    if (plan.registersAtReductions(liveness, threads) + reserved <= available) return ctas;
  }
  return 1;
}

/// Returns 2 if one CTA cannot hold the accumulators of the dots in the maximum number of warps, and two can; otherwise 1. Each CTA loads
/// half of the shared operand. Reductions and atomics in a cluster need exchanges.
static int64_t ctasForAccumulators(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  bool needsExchanges = hasAny<tt::ReduceOp, tt::AtomicRMWOp, tt::AtomicCASOp>(function);
  if (target.tcgen05) return 1; // they are in tensor memory; choose-cta-pairs has decided
  if (!hasAny<tt::DotOp>(function) || hasAny<tt::DotScaledOp>(function) || needsExchanges || config.getMaxRegisters() != 0) return 1;
  auto inHalf = [](Value tile) { return tileAccumulatorBits(tile) / 2; };
  return !accumulatorsFit(function, target, tileAccumulatorBits) && accumulatorsFit(function, target, inHalf) ? 2 : 1;
}

namespace {
struct Ctas {
  int64_t count;
  const char *reason; ///< what does not fit in one CTA
};
} // namespace

static Ctas chooseCtas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (config.getCtas() != 1 || !target.clusters || hasAny(function, ttg::mayDependOnLaunch)) return {config.getCtas(), ""};
  if (int64_t ctas = ctasForRows(function, config, target); ctas > 1) return {ctas, "rows"};
  return {ctasForAccumulators(function, config, target), "accumulators"};
}

/// Returns the accumulator bits in one of `ctas` CTAs.
static int64_t accumulatorBitsInCta(tt::FuncOp function, int64_t warps, int64_t ctas, const GpuTarget &target) {
  if (ctas == 1 || !target.clusters) return maxAccumulatorBits(function, tileAccumulatorBits, /*carriedSums=*/!target.tcgen05);
  CtaSplitPlan plan(function, warps, ctas, splitKOf(function, ctas, target), target);
  return maxAccumulatorBits(function, [&](Value tile) { return plan.accumulatorBits(tile); }, /*carriedSums=*/!target.tcgen05);
}

/// True if an instruction still computes each scaled dot if the kernel has `warps` warps: tcgen05.mma needs more columns for more warps.
static bool keepsScaledDots(tt::FuncOp function, int64_t warps, int64_t ctas, const GpuTarget &target) {
  auto walk = function.walk(
      [&](tt::DotScaledOp dot) { return scaledDotSplit(dot, target, warps, ctas) ? WalkResult::advance() : WalkResult::interrupt(); });
  return !walk.wasInterrupted();
}

/// Returns twice as many warps until the accumulators fit, as long as an SM has registers for their threads. The author's limit of
/// registers may depend on the requested number of threads.
static int64_t chooseWarps(tt::FuncOp function, ttg::ConfigAttr config, int64_t ctas, const GpuTarget &target) {
  int64_t warps = config.getWarps();
  if (config.getMaxRegisters() != 0 || hasAny(function, ttg::mayDependOnLaunch)) return warps;
  int64_t bits = accumulatorBitsInCta(function, warps, ctas, target);
  while (!accumulatorsFit(bits, warps, target) && fitOnSM(1, 2 * warps << laneBits, target.registersPerThread, target) &&
         keepsScaledDots(function, 2 * warps, ctas, target))
    warps *= 2;
  return warps;
}

LogicalResult chooseWarpsAndCtas(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    Ctas ctas = chooseCtas(function, config, target);
    int64_t warps = chooseWarps(function, config, ctas.count, target);
    auto remark = [&](const std::string &text) { ttg::remark(function, "choose-warps-and-ctas", function.getLoc(), text); };
    if (warps != config.getWarps())
      remark("raised from " + countText(config.getWarps(), "warp") + ", whose registers cannot hold the accumulators");
    if (ctas.count != config.getCtas())
      remark(std::to_string(ctas.count) + " CTAs share a program, because the registers of one cannot hold its " + ctas.reason);
    function->setAttr(ttg::configName, ttg::ConfigAttr::get(function.getContext(), warps, ctas.count, config.getStages(),
                                                            config.getMaxRegisters(), config.getTarget()));
    return success();
  });
}

} // namespace tilewright::gpu
