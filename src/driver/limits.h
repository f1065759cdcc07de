// Between two steps, a compilation asks whether it may go on: the caller may have canceled it, its time may be over, and an untrusted
// kernel may have exceeded a limit (support/work_control.h).
#pragma once

#include "support/diagnostics.h"
#include "support/work_control.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

class CompileLimits {
public:
  /// Takes the control of this thread's work.
  CompileLimits();
  /// True if the compilation may run its next step. False after an error. `module`: null before the first step and after code generation.
  bool mayContinue(mlir::ModuleOp module, Diagnostics &diagnostics) const;

private:
  bool areKept(mlir::ModuleOp module, Diagnostics &diagnostics) const;
  const WorkControl *control;
  WorkControl::Clock::time_point start;
  int64_t startBytes = 0;
};

} // namespace tilewright
