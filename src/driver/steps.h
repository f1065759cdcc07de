// The steps from source to machine code, in one table. The compiler runs it, `tilewright opt` offers it as passes, --time and --dump list
// it, --from and --until name its rows, and docs/architecture.md explains it.
#pragma once

#include "driver/compile.h"
#include "driver/context.h"
#include "driver/diagnose.h"
#include "support/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {
namespace gpu {
class Explainer;
}

/// The state of one compilation.
struct Compilation {
  Compilation(const CompileRequest &request, Stage wanted, Diagnostics &diagnostics);

  const CompileRequest &request;
  KernelOptions options; // the request's options, completed for the target
  Stage wanted;          // the kind of code that the last step generates
  Diagnostics &diagnostics;
  ContextHold context;
  DiagnosticForwarder errors;

  mlir::OwningOpRef<mlir::ModuleOp> module; // until code is generated
  bool isVerified = false;                  // the step that created the module has verified it
  std::string output;                       // then
  CpuArtifact cpu;
  GpuArtifact gpu;
  bool triesMoreCtas = false; // if one more CTA nearly fits on an SM, ptxas runs again
};

enum class Machine : uint8_t { cpu = 1, gpu = 2, any = 3 };

struct Step {
  llvm::StringLiteral name;
  Machine machine;
  /// A pass only needs the module; other steps need more of the compilation. One of the two is set.
  llvm::LogicalResult (*pass)(mlir::ModuleOp);
  llvm::LogicalResult (*run)(Compilation &);
  /// Operations that the module must not contain after this step: names, "cf." for a whole dialect, "tile" for values of tile type.
  llvm::StringLiteral gone;
  llvm::StringLiteral summary;
  /// The dialects change here: the `gone` rows of earlier steps no longer apply.
  bool changesDialects = false;
  /// What `explain` records of the module after this step.
  void (gpu::Explainer::*explained)(mlir::ModuleOp) = nullptr;
};

/// All steps, of all targets.
llvm::ArrayRef<Step> allSteps();
/// The steps for the request's target, in order.
std::vector<const Step *> stepsFor(const CompileRequest &request);
/// Lets `explain` record the module after the step with this name.
void explainStep(gpu::Explainer &explainer, llvm::StringRef name, mlir::ModuleOp module);
/// The last step of this stage.
llvm::StringRef lastStepOf(Stage stage, bool gpu);
/// The first of the names in `gone` that the module still contains; empty if there is none.
std::string leftOver(mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> gone);

} // namespace tilewright
