// The steps from source to machine code, in their order: one table, which the compiler runs, `tilewright opt` offers as passes, --time and
// --dump list, --from and --until name, and docs/architecture.md explains.
#pragma once

#include "driver/compile.h"
#include "driver/context.h"
#include "driver/diagnose.h"
#include "support/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {

/// One compilation: what the steps work on.
struct Compilation {
  Compilation(const CompileRequest &request, Stage wanted, Diagnostics &diagnostics);

  const CompileRequest &request;
  KernelOptions options; // the request's options, with facts of the target
  Stage wanted;          // the kind of code that the last step makes
  Diagnostics &diagnostics;
  ContextHold context;
  DiagnosticForwarder errors;

  mlir::OwningOpRef<mlir::ModuleOp> module; // until code is generated
  bool isVerified = false;                  // the module, by the step that brought it
  std::string output;                       // then
  CpuArtifact cpu;
  GpuArtifact gpu;
};

enum class Machine : uint8_t { processor = 1, gpu = 2, any = 3 };

struct Step {
  llvm::StringLiteral name;
  Machine machine;
  /// A pass is a function of the module alone; other steps need more of the compilation. One of the two is set.
  llvm::LogicalResult (*pass)(mlir::ModuleOp);
  llvm::LogicalResult (*run)(Compilation &);
  /// What the module may no longer contain from here on: names of operations, "cf." for a whole dialect, "tile" for values of tile type.
  llvm::StringLiteral gone;
  llvm::StringLiteral summary;
  /// The dialects change here: what earlier steps have promised about the old ones no longer matters.
  bool changesDialects = false;
};

/// All steps, of all machines.
llvm::ArrayRef<Step> allSteps();
/// The steps of the request's machine, in their order.
std::vector<const Step *> stepsFor(const CompileRequest &request);
/// The step after which a kernel is at this stage.
llvm::StringRef lastStepOf(Stage stage, bool gpu);
/// Which of the names in `gone` the module still contains; empty if none.
std::string leftOver(mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> gone);

} // namespace tilewright
