// Passes here are free functions on a module. This wraps each in the one pass class there is, so that MLIR's own driver gives timing,
// IR after each pass, reproducers and the verification of expected errors without more code of ours.
#include "opt.h"

#include "gpu/passes.h"
#include "gpu/tiles/ttg.h"
#include "ir/passes.h"
#include "ir/tt.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

namespace {

struct Step {
  StringRef name, summary;
  LogicalResult (*run)(ModuleOp);
};

// In the order of a kernel's flow.
constexpr Step steps[] = {
    {"inline-calls", "replace every call by what it calls, and branches by structured control flow", tilewright::inlineCalls},
    {"expand-block-pointers", "turn block pointers and tensor descriptors into tiles of pointers with masks",
     tilewright::expandBlockPointers},
    {"simplify", "fold, canonicalise, remove what is common or unused, and hoist out of loops", tilewright::simplify},
    {"scalarize-carried", "carry one scalar through a loop where a tile only moves by a uniform amount", tilewright::scalarizeCarried},
    {"split-over-blocks", "let the blocks of a program share its tiles", tilewright::gpu::splitOverBlocks},
    {"drop-wraparound", "turn the modulo in addresses of products' operands into masks", tilewright::gpu::dropWraparound},
    {"form-descriptors", "load and store products' tiles through tensor maps, where addresses are affine",
     tilewright::gpu::formDescriptors},
    {"assign-layouts", "say which thread of a GPU holds which element of each tile", tilewright::gpu::assignLayouts},
    {"select-tensor-cores", "turn products into instructions, and their operands into buffers", tilewright::gpu::selectTensorCores},
    {"pipeline", "start loads ahead of the loop that needs them, through rings in shared memory", tilewright::gpu::pipeline},
    {"allocate-shared", "give buffers, barriers and scratch their places in shared memory", tilewright::gpu::allocateShared},
    {"lower-to-threads", "turn tiles with layouts into one GPU thread's scalars", tilewright::gpu::lowerToThreads},
    {"share-addresses", "let addresses of a GPU thread at constant distances share their computation", tilewright::gpu::shareAddresses},
};

void registerDialects(DialectRegistry &registry) {
  tilewright::tt::registerDialects(registry);
  registry.insert<tilewright::ptx::PtxDialect, tilewright::ttg::TTGDialect>();
}

class RunPass : public PassWrapper<RunPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RunPass)
  explicit RunPass(Step step) : step(step) {}
  StringRef getName() const override { return step.name; }
  StringRef getArgument() const override { return step.name; }
  StringRef getDescription() const override { return step.summary; }
  void getDependentDialects(DialectRegistry &registry) const override { registerDialects(registry); }
  void runOnOperation() override {
    if (failed(step.run(getOperation()))) signalPassFailure();
  }

private:
  Step step;
};

} // namespace

int tilewright::optMain(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  for (Step step : steps)
    registerPass([step] { return std::make_unique<RunPass>(step); });
  return asMainReturnCode(MlirOptMain(argc, argv, "Tilewright pass driver\n", registry));
}
