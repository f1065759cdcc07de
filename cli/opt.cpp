// The pipeline's steps that are passes (driver/steps.cpp) are free functions on a module. This wraps each in the only pass
// class, so that MLIR's own driver provides timing, IR after each pass, reproducers and the verification of expected errors.
#include "opt.h"

#include "driver/steps.h"
#include "gpu/machine/ptx.h"
#include "gpu/ttg/ttg.h"
#include "ir/tt.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include <cstdio>

using namespace mlir;

namespace {

void registerDialects(DialectRegistry &registry) {
  tilewright::tt::registerDialects(registry);
  registry.insert<tilewright::ptx::PtxDialect, tilewright::ttg::TTGDialect>();
}

class RunPass : public PassWrapper<RunPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RunPass)
  explicit RunPass(const tilewright::Step &step) : step(step) {}
  StringRef getName() const override { return step.name; }
  StringRef getArgument() const override { return step.name; }
  StringRef getDescription() const override { return step.summary; }
  void getDependentDialects(DialectRegistry &registry) const override { registerDialects(registry); }
  void runOnOperation() override {
    if (failed(step.pass(getOperation()))) signalPassFailure();
  }

private:
  tilewright::Step step;
};

/// LLVM's own help has hundreds of options of other tools.
int printHelp() {
  std::printf("usage: tilewright opt [FILE.mlir] --PASS ...\n\nRuns passes on IR text, from standard input if there is no FILE."
              "\n\npasses:\n");
  for (const tilewright::Step &step : tilewright::allSteps())
    if (step.pass) std::printf("  --%-24s %s\n", step.name.str().c_str(), step.summary.str().c_str());
  std::printf("\nMLIR's own passes and options work as well, --split-input-file and --mlir-print-ir-after-all among them; --help-hidden "
              "lists them.\n");
  return 0;
}

} // namespace

int tilewright::optMain(int argc, char **argv) {
  for (StringRef word : ArrayRef(argv + 1, argv + argc))
    if (word == "--help" || word == "-h") return printHelp();
  DialectRegistry registry;
  registerDialects(registry);
  for (const tilewright::Step &step : tilewright::allSteps())
    if (step.pass) registerPass([step] { return std::make_unique<RunPass>(step); });
  return asMainReturnCode(MlirOptMain(argc, argv, "Tilewright pass driver\n", registry));
}
