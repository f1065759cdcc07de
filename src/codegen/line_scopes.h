// Which function, and which file, a place in a kernel belongs to: what LLVM wants to know of a line before it says it to a debugger.
//
//     before:  a function at kernel.py:12, an operation at callsite(library.py:80 at kernel.py:20)
//     after:   fused<#di_subprogram>[kernel.py:12],  callsite(fused<#di_lexical_block_file>[library.py:80] at kernel.py:20)
//
// MLIR's own pass for this makes the same attributes for each operation anew; a kernel has many operations at few places.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Functions that have brought a scope (cpu/debug_variables.h) keep it. In PTX places are directives (.file and .loc) alone: ptxas takes
/// sections with DWARF only where it optimises nothing.
void addLineScopes(mlir::ModuleOp module, bool isPtx);

} // namespace tilewright
