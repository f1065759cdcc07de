// Parses IR text from a user's file as a module: invalid text must cause errors and never crash the process.
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

/// The module in `file`, with the function `name` (if not empty) as its only public function. Null after an error; MLIR reports syntax
/// errors to the context's handler.
mlir::OwningOpRef<mlir::ModuleOp> readIrText(mlir::MLIRContext &context, const SourceFile &file, const std::string &name,
                                             Diagnostics &diagnostics);

/// A module as text that readIrText can read. Values have the names of the source's variables. With debug information, the text contains
/// the locations of its operations.
std::string irText(mlir::ModuleOp module);
/// The same, always with source locations.
std::string locatedIrText(mlir::ModuleOp module);
/// The lines of a text, each with the number of the source line that it comes from; 0: none.
struct LinkedText {
  std::vector<std::string> text;
  std::vector<int64_t> lines;
};
/// irText with the lines of `file`.
LinkedText linkedIrText(mlir::ModuleOp module, llvm::StringRef file);
/// Assembly or PTX with debug information (codegen/debug_info.h). The lines come from its .file and .loc directives, which are omitted
/// from the text.
LinkedText linkedAssembly(llvm::StringRef assembly, llvm::StringRef file);
/// The same with MLIR's own names of values: %0, %c11_i32.
std::string numberedIrText(mlir::ModuleOp module);

} // namespace tilewright
