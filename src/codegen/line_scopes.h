// Which function and file a place in a kernel belongs to: LLVM needs to know this about a line before it tells a debugger.
//
//     before:  a function at kernel.py:12, an operation at callsite(library.py:80 at kernel.py:20)
//     after:   fused<#di_subprogram>[kernel.py:12],  callsite(fused<#di_lexical_block_file>[library.py:80] at kernel.py:20)
//
// MLIR's own pass for this makes the same attributes anew for each operation; a kernel has many operations at few places.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Functions that already have a scope (cpu/debug_variables.h) keep it. In PTX, places are only
/// directives (.file and .loc): ptxas accepts sections with DWARF only where it does not optimise.
void addLineScopes(mlir::ModuleOp module, bool isPtx);

} // namespace tilewright
