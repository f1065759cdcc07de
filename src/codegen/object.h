// The LLVM dialect -> LLVM IR -> optimised -> object code. No file beyond this border includes headers of LLVM IR.
#pragma once

#include "support/target.h"

#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

enum class CodeKind { llvm, assembly, object };

/// False where DISABLE_LLVM_OPT asks for code as LLVM first makes it: to tell whether the optimiser causes
/// a wrong number, or to compile quickly. It is read once a process, and is part of the key of cached code.
bool llvmOptimizes();

/// Lets code generation fuse a * b + c of this module into one rounding (the language's default; its strict mode leaves it off).
void allowFpFusion(mlir::ModuleOp module);

/// Optimises a module of LLVM dialect functions for `target` and returns it as text
/// or bytes. If LLVM refuses it, returns null and reports an error on the module.
std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind);

} // namespace tilewright
