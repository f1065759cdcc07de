// Links the libdevice functions that are written in the language into an emitted or parsed module.
#pragma once

#include "support/options.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright {

class Diagnostics;

/// Replaces each tt.extern_elementwise by a call if libdevice.py defines its function. Returns false after an error.
bool linkLibrary(mlir::ModuleOp module, const KernelOptions &options, Diagnostics &diagnostics);

} // namespace tilewright
