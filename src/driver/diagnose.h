// Forwards MLIR's diagnostics to this compiler's diagnostics during a compilation. There are three kinds:
//   a pass rejects the kernel (ir/refusal.h)         -> its row of diagnostics.def, at the kernel's line
//   a pass, or the check after it, finds a bug      -> internalError, with the step
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

  /// Sets the step that runs next. Errors before the first step are about the source.
  void enter(llvm::StringRef step);
  /// From here to the next step, every error is a bug of the compiler, because it is about the output of a step.
  void enterCheck() { checking = true; }
  /// Reports a bug of the compiler in the running step.
  void bug(const std::string &what);

private:
  void forward(mlir::Diagnostic &diagnostic);

  const SourceFile *source;
  std::string dump, step;
  bool checking = false, rejected = false;
  Diagnostics &diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tilewright
