// For steps that try later ones on a copy of the module.
#pragma once

#include "ir/refusal.h"

#include "mlir/IR/MLIRContext.h"

namespace tilewright {

/// While it lives, diagnostics go no further, but for a bug and what follows it: the handler around this one gets these.
class BugFilter {
public:
  explicit BugFilter(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          std::optional<Refusal> refusal = refusalOf(diagnostic);
          found |= refusal && refusal->id == Diag::internalError;
          return llvm::success(!found);
        }) {}
  bool foundBug() const { return found; }

private:
  bool found = false;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tilewright
