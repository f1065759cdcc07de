// Decides what the lowering of an operation needs to know of other operations, and writes it down: as a property or attribute of the
// operation, or as an operation of its own. Then lower-to-threads reads each operation alone.
//   before: %b = ttg.alloc_barriers    %s = ttg.stage %x[%i]                    ttg.tma_load .. to %s        %e = math.exp (%y - %m)
//   after:  ..  ttg.init_barriers %b   %s = ttg.stage %x[%i] {distance = 8192}  {copiedExtent = [64, 152]}   {ttg.rounded}
#include "gpu/passes.h"
#include "gpu/thread/prepare/steps.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr LogicalResult (*steps[])(tt::FuncOp, ttg::ConfigAttr) = {
    markRoundedArguments, // of math.exp
    boundRowLengths,      // in arith.cmpi
    packCarried,          // tiles of small elements, by scf.for
    markSpins,            // scf.while
    setBufferSizes,       // of ttg.stage, ttg.tma_load, ttg.tma_store
    initializeMbarriers,  // of ttg.alloc_barriers
    prepareMmaWaits,      // ttg.mma_async_wait
    prepareMmaOperands,   // of ttg.mma_async, and ttg.store_shared
    splitTensorAccesses,  // ttg.tensor_load, ttg.tensor_store
};

LogicalResult prepareLowering(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp kernel, ttg::ConfigAttr config, const GpuTarget &) {
    if (auto partitions = ttg::partitionsAtEnd(kernel)) partitions.captureImplicitly();
    return success(llvm::all_of(steps, [&](auto step) { return succeeded(step(kernel, config)); }));
  });
}

} // namespace tilewright::gpu
