// What code generation for processors and for GPUs shares: a module of LLVM IR is cleaned up and written out.
#pragma once

#include "codegen/object.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"

#include <optional>
#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace tilewright {

/// The attribute of a module that allowFpFusion sets.
constexpr llvm::StringLiteral fusionAttribute = "tilewright.fp_fusion";

/// A kind of machine that code is made for.
struct CodeGenerator {
  llvm::StringRef triple;
  std::string cpu, features;
  std::optional<llvm::CodeModel::Model> model; ///< none: the processor's own
  void (*prepare)(llvm::Function &);           ///< for each function, before the clean-up
  void (*finish)(llvm::Function &);            ///< for each function with a body, after it
};

/// Translates a module of LLVM dialect functions to LLVM IR, cleans up what a simple emitter leaves (repeated address
/// arithmetic, dead code, invariant values in loops), and returns it as text, assembly or an object. If LLVM cannot do
/// that, returns null and reports an error on the module. The generator's kind of processor must be registered with LLVM.
std::optional<std::string> generate(mlir::ModuleOp module, const CodeGenerator &generator, CodeKind kind);

} // namespace tilewright
