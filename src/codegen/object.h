// The LLVM dialect -> LLVM IR -> optimised -> object code. LLVM IR headers stay behind this border.
#pragma once

#include "support/target.h"

#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

enum class CodeKind { llvm, assembly, object };

/// False where DISABLE_LLVM_OPT=1 asks for code as LLVM first makes it: whether a wrong number is the optimiser's, and quick compilation.
/// It is read once a process, and is part of the key of what is cached.
bool llvmOptimizes();

/// Lets code generation fuse a * b + c of this module into one rounding (the language's default; its strict mode leaves it off).
void allowFpFusion(mlir::ModuleOp module);

/// Optimises a module of LLVM dialect functions for `target` and returns it as text or bytes. Nothing (and an error on the module) if LLVM
/// refuses it.
std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind);

} // namespace tilewright
