// Adds the function and file to each location in a kernel: LLVM emits line information only for locations with a scope.
//
//     before:  a function at kernel.py:12, an operation at callsite(library.py:80 at kernel.py:20)
//     after:   fused<#di_subprogram>[kernel.py:12],  callsite(fused<#di_lexical_block_file>[library.py:80] at kernel.py:20)
//
// MLIR's own pass creates the same attributes again for each operation; a kernel has many operations at few locations.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Functions that already have a scope (cpu/debug_variables.h) keep it. In PTX, locations are only directives (.file and .loc): ptxas
/// accepts DWARF sections only without optimization.
void addLineScopes(mlir::ModuleOp module, bool isPtx);

} // namespace tilewright
