// The source of a compilation: a Python function (from a file or a running interpreter) or IR text. The compiler, the cache and the
// launcher use both through one interface.
#pragma once

#include "frontend/frontend.h"

#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace tilewright {

/// A kernel in tt IR text: upstream's .ttir or a dump of this compiler. It is launched like a function with the same parameters.
struct IrKernel {
  std::shared_ptr<const SourceFile> file;
  std::string name;                        // of the public tt.func
  std::shared_ptr<const JitFunction> face; // name and parameters; no body
  std::vector<ArgumentSpec> specs;         // the specialization of the text: types, and multiples that it assumes
};

class KernelSource {
public:
  KernelSource() = default;
  KernelSource(std::shared_ptr<const JitFunction> function) : jit(std::move(function)) {}
  /// The function must outlive this object.
  KernelSource(const JitFunction *function) : jit(std::shared_ptr<const JitFunction>(), function) {}
  KernelSource(std::shared_ptr<const IrKernel> text) : text(std::move(text)) {}

  const std::string &name() const { return jit ? jit->name : text->name; }
  /// Null for IR text.
  const JitFunction *function() const { return jit.get(); }
  /// Name and parameters of either; for IR text, without a body.
  const JitFunction *face() const { return jit ? jit.get() : text->face.get(); }
  /// Null for Python functions.
  const IrKernel *irKernel() const { return text.get(); }
  /// For messages.
  const SourceFile *file() const;
  /// The hash of everything that the code depends on, except specialization, options and target: part of cache keys.
  std::string hash(llvm::ArrayRef<ArgumentSpec> args) const;
  /// The kernel as a module of tt. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::MLIRContext &context, llvm::ArrayRef<ArgumentSpec> args, const KernelOptions &options,
                                         Diagnostics &diagnostics) const;

private:
  std::shared_ptr<const JitFunction> jit;
  std::shared_ptr<const IrKernel> text;
};

/// The kernel `name` of IR text; `name` may be empty if there is a single public function. Null after an error.
std::shared_ptr<const IrKernel> readIrKernel(const std::string &text, const std::string &fileName, const std::string &name,
                                             Diagnostics &diagnostics);

/// A dump's text after some step, which may have no tt.func any more. It has no name and no parameters, so it can only be compiled to
/// text.
std::shared_ptr<const IrKernel> dumpedKernel(const std::string &text, const std::string &fileName);

} // namespace tilewright
