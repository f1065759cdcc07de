// IR text as a module, from a file that somebody wrote: no text may cause anything worse than an error.
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

/// The module in `file`, with the function `name` (if not empty) as its only public
/// one. Null after an error; MLIR reports errors in the text to the context's handler.
mlir::OwningOpRef<mlir::ModuleOp> readIrText(mlir::MLIRContext &context, const SourceFile &file, const std::string &name,
                                             Diagnostics &diagnostics);

/// A module as text that readIrText can read. Values have the names of the source's variables; with debug
/// information the text contains the places of its operations, so that readers of the text get them, too.
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
/// Assembly or PTX with debug information (codegen/debug_info.h): the lines come from its .file and .loc, which are left out of the text.
LinkedText linkedAssembly(llvm::StringRef assembly, llvm::StringRef file);
/// The same with MLIR's own names of values: %0, %c11_i32.
std::string numberedIrText(mlir::ModuleOp module);

} // namespace tilewright
