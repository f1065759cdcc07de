#pragma once

#include "support/diagnostics.h"
#include "syntax/ast.h"

namespace tilewright {

/// Parses a Python module. Returns null after reporting to `diagnostics` if the text is not Python.
/// Indented text (the source of a method or a nested function) is accepted: its common leading indentation is removed.
std::shared_ptr<const ast::Module> parse(std::shared_ptr<const SourceFile> source, Diagnostics &diagnostics);

/// Returns the tree as text, one node a line, indented, for `--emit ast`.
std::string printAst(const ast::Module &module);
/// Returns the text of a unary operator: "not".
const char *operatorText(ast::UnaryOp op);

} // namespace tilewright
