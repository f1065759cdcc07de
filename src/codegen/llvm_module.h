// The part of code generation that CPUs and GPUs share: optimizes a module of LLVM IR and emits it.
#pragma once

#include "codegen/object.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"

#include <functional>
#include <optional>
#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace tilewright {

/// The attribute of a module that allowFpFusion sets.
constexpr llvm::StringLiteral fusionAttribute = "tilewright.fp_fusion";

/// A target of code generation.
struct CodeGenerator {
  llvm::StringRef triple;
  std::string cpu, features;
  std::optional<llvm::CodeModel::Model> model;   ///< none: the target's default
  std::function<void(llvm::Function &)> prepare; ///< for each function, before optimization
  void (*finish)(llvm::Function &);              ///< for each function with a body, after optimization
  /// In place of `prepare`, if LLVM cannot compile the functions otherwise; may be null.
  std::function<void(llvm::Function &)> fallback = {};
};

/// Translates a module of LLVM dialect functions to LLVM IR and optimizes it: common address arithmetic, dead code, loop-invariant
/// values. Returns it as text, assembly or an object. On failure, returns null and reports an error on the module. The generator's target
/// must be registered with LLVM.
std::optional<std::string> generate(mlir::ModuleOp module, const CodeGenerator &generator, CodeKind kind);

} // namespace tilewright
