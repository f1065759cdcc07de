#pragma once

#include "support/diagnostics.h"
#include "syntax/ast.h"

namespace tilewright {

/// Parses a Python module. Returns null after reporting to `diagnostics` if the text is not Python.
/// Indented text is accepted as a whole (the source of a method or nested function): common leading indentation is taken off.
std::shared_ptr<const ast::Module> parse(std::shared_ptr<const SourceFile> source, Diagnostics &diagnostics);

/// The tree as text, one node a line, indented: what `--emit ast` shows.
std::string printAst(const ast::Module &module);
/// An operator of one operand as the text has it: "not".
const char *operatorText(ast::UnaryOp op);

} // namespace tilewright
