// Raises num_warps if the accumulators of a loop do not fit into the registers of its threads, where each dot would spill. With twice as
// many threads, each holds half of them:
//   4 warps, dk and dv of 128x128 f32 carried, scores of 128x32: 128 + 128 + 2 * 32 registers of 255       8 warps: half of that
// Only dots count: values of elementwise operations have short live ranges. Nothing changes if the accumulators fit, or if an SM does not
// have registers for twice as many threads.
#include "gpu/cost_model/registers.h"
#include "gpu/passes.h"
#include "gpu/tiles/accumulator_bits.h"
#include "gpu/tiles/ttg.h"
#include "ir/explanation.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult chooseWarps(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    int64_t bits = accumulatorBits(function), warps = config.getWarps();
    auto fits = [&] { return bits / 32 <= (warps << laneBits) * (target.registersPerThread - otherRegisters); };
    while (!fits() && fitOnSM(1, 2 * warps << laneBits, target.registersPerThread, target))
      warps *= 2;
    // Inline assembly may depend on the requested number of threads.
    bool isFixed = config.getMaxRegisters() != 0;
    function.walk([&](tt::ElementwiseInlineAsmOp) { isFixed = true; });
    if (warps == config.getWarps() || isFixed) return success();
    MLIRContext *context = function.getContext();
    ttg::remark(function, "choose-warps", function.getLoc(),
                "raised from " + countText(config.getWarps(), "warp") + ", whose registers cannot hold the accumulators");
    function->setAttr(ttg::configName, ttg::ConfigAttr::get(context, warps, config.getCtas(), config.getStages(), config.getMaxRegisters(),
                                                            config.getTarget()));
    return success();
  });
}

} // namespace tilewright::gpu
