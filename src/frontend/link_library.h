// Functions of libdevice that are written in the language come into a module when it has been emitted, or read.
#pragma once

#include "support/options.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright {

class Diagnostics;

/// Replaces operations that name a function of libdevice (tt.extern_elementwise) by calls of it where libdevice.py defines it. False after
/// an error.
bool linkLibrary(mlir::ModuleOp module, const KernelOptions &options, Diagnostics &diagnostics);

} // namespace tilewright
