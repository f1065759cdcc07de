// The LLVM dialect -> LLVM IR -> optimized -> object code. Only files in codegen/ include headers of LLVM IR.
#pragma once

#include "support/target.h"

#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

enum class CodeKind { llvm, assembly, object };

/// False if DISABLE_LLVM_OPT asks for unoptimized code, to find out whether the optimizer causes a wrong result, or to compile quickly.
/// It is read once per process, and is part of the key of cached code.
bool llvmOptimizes();

/// Registers the back end of CPUs with LLVM.
void registerCpuBackend();

/// Lets code generation fuse a * b + c in this module. This is the language's default; its strict mode does not.
void allowFpFusion(mlir::ModuleOp module);

/// Optimizes a module of LLVM dialect functions for `target` and returns it as text or bytes. If LLVM rejects it, returns null and
/// reports an error on the module.
std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind);

} // namespace tilewright
