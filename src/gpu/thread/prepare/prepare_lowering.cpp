// Decides what the lowering of an operation needs to know of other operations, and writes it down: as a property or attribute of the
// operation, or as an operation of its own. Then lower-to-threads reads each operation alone.
//   before: %b = ttg.alloc_barriers    %s = ttg.stage %x[%i]                    ttg.tma_load .. to %s        %e = math.exp (%y - %m)
//   after:  ..  ttg.init_barriers %b   %s = ttg.stage %x[%i] {distance = 8192}  {copiedExtent = [64, 152]}   {ttg.rounded}
#include "gpu/passes.h"
#include "gpu/thread/prepare/steps.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr LogicalResult (*steps[])(tt::FuncOp, ttg::ConfigAttr) = {
    markRoundedArguments, boundRowLengths, packCarried,        markSpins,          setBufferSizes,
    initializeMbarriers,  prepareMmaWaits, prepareMmaOperands, splitTensorAccesses};

LogicalResult prepareLowering(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp kernel, ttg::ConfigAttr config, const GpuTarget &) {
    if (auto partitions = ttg::partitionsAtEnd(kernel)) partitions.captureImplicitly();
    return success(llvm::all_of(steps, [&](auto step) { return succeeded(step(kernel, config)); }));
  });
}

} // namespace tilewright::gpu
