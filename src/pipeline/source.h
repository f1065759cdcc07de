// What there is to compile, wherever it comes from: a Python function (from a file, or from a running Python), or IR text. The compiler,
// the cache and the launcher ask the same few questions of both.
#pragma once

#include "frontend/frontend.h"

#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace tilewright {

/// A kernel in tt IR text, upstream's .ttir or a dump of ours. It is launched as a function of the same parameters would be.
struct IrKernel {
  std::shared_ptr<const SourceFile> file;
  std::string name;                        // of the public tt.func
  std::shared_ptr<const JitFunction> face; // name and parameters; no body
  std::vector<ArgumentSpec> specs;         // what the text is compiled for: types, and multiples that it takes for granted
};

class KernelSource {
public:
  KernelSource() = default;
  KernelSource(std::shared_ptr<const JitFunction> function) : jit(std::move(function)) {}
  /// The function must live as long as this does.
  KernelSource(const JitFunction *function) : jit(std::shared_ptr<const JitFunction>(), function) {}
  KernelSource(std::shared_ptr<const IrKernel> text) : text(std::move(text)) {}

  const std::string &name() const { return jit ? jit->name : text->name; }
  /// Null for IR text.
  const JitFunction *function() const { return jit.get(); }
  /// Name and parameters, of either; without a body for IR text.
  const JitFunction *face() const { return jit ? jit.get() : text->face.get(); }
  /// Null for Python functions.
  const IrKernel *irKernel() const { return text.get(); }
  /// For messages.
  const SourceFile *file() const;
  /// All that the code depends on but for specialisation, options and target: part of cache keys.
  std::string hash(llvm::ArrayRef<ArgumentSpec> args) const;
  /// The kernel as a module of tt. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::MLIRContext &context, llvm::ArrayRef<ArgumentSpec> args, const KernelOptions &options,
                                         Diagnostics &diagnostics) const;

private:
  std::shared_ptr<const JitFunction> jit;
  std::shared_ptr<const IrKernel> text;
};

/// The kernel `name` of IR text; an empty name will do where there is one public function. Null after an error.
std::shared_ptr<const IrKernel> readIrKernel(const std::string &text, const std::string &fileName, const std::string &name,
                                             Diagnostics &diagnostics);

/// What a dump holds after some step, which may have no tt.func any more. It has no name and no parameters: it goes on to be text.
std::shared_ptr<const IrKernel> dumpedKernel(const std::string &text, const std::string &fileName);

} // namespace tilewright
