// What code generation for processors and for GPUs share: a module of LLVM IR, cleaned up and written out.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/Support/CodeGen.h"

#include <optional>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// The attribute of a module that allowFpFusion sets.
constexpr llvm::StringLiteral fusionAttribute = "tilewright.fp_fusion";

/// Errors that LLVM reports while it works, instead of the line on stderr and the exit that are its default.
class CollectErrors : public llvm::DiagnosticHandler {
public:
  explicit CollectErrors(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override;

private:
  std::string &text;
};

/// Cleans up what a simple emitter leaves, in milliseconds: repeated address arithmetic, dead code, values that do not change in a loop.
void cleanUp(llvm::Module &module, llvm::TargetMachine &machine);
std::string textOf(const llvm::Module &module);
/// Assembly or an object file. Nothing if the target has no emitter for it.
std::optional<std::string> emitFile(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

} // namespace tilewright
