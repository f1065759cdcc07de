// MLIR's diagnostics as ours, while a compilation runs. There are three kinds:
//   a pass refuses the kernel (ir/refusal.h)         -> its row of diagnostics.def, at the kernel's line
//   a pass, or the check after it, finds our bug     -> internalError, with the step
//   MLIR's parser and verifiers on a user's IR text  -> invalidIr
#pragma once

#include "support/diagnostics.h"

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace tilewright {

class DiagnosticForwarder {
public:
  /// `source` may be null. `dump`: the folder with the input of each step, or empty.
  DiagnosticForwarder(mlir::MLIRContext &context, const SourceFile *source, std::string dump, Diagnostics &diagnostics);

  /// Sets the step that runs from here on. Before the first one, errors are about the source.
  void enter(llvm::StringRef step);
  /// From here to the next step, every error is our bug, because it is about what a step left behind.
  void enterCheck() { checking = true; }
  /// Reports our bug in the running step.
  void bug(const std::string &what);

private:
  void forward(mlir::Diagnostic &diagnostic);

  const SourceFile *source;
  std::string dump, step;
  bool checking = false, refused = false;
  Diagnostics &diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tilewright
