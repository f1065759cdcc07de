// IR text as a module, from a file that somebody wrote: nothing in it may make the compiler fail otherwise than with an error.
#pragma once

#include "support/diagnostics.h"

#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// The module in `file`, with the function `name` (if not empty) as its only public one. Null after an error, which MLIR reports to the
/// context's handler where it is about the text.
mlir::OwningOpRef<mlir::ModuleOp> readIrText(mlir::MLIRContext &context, const SourceFile &file, const std::string &name,
                                             Diagnostics &diagnostics);

/// A module as text that readIrText takes back. Values have the names of the source's variables; with debug information the text has the
/// places of its operations, and whoever reads it again has them, too.
std::string irText(mlir::ModuleOp module);
/// The same, always with the place of each operation in the source.
std::string locatedIrText(mlir::ModuleOp module);
/// The lines of a text, each with the line of a kernel's file that it comes from; 0: none.
struct LinkedText {
  std::vector<std::string> text;
  std::vector<int64_t> lines;
};
/// irText with the lines of `file`.
LinkedText linkedIrText(mlir::ModuleOp module, llvm::StringRef file);
/// Assembly or PTX with debug information (codegen/debug_info.h), by its .file and .loc, which are left out.
LinkedText linkedAssembly(llvm::StringRef assembly, llvm::StringRef file);
/// The same with MLIR's own names of values: %0, %c11_i32.
std::string numberedIrText(mlir::ModuleOp module);

} // namespace tilewright
