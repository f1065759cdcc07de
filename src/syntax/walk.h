// The parts of a syntax node, and the names that statements bind: what every walk over the tree shares.
#pragma once

#include "syntax/ast.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::ast {

/// Calls `visit` for each expression that stands directly in `expr`, in the order in which Python evaluates them.
void forEachPart(const Expr &expr, llvm::function_ref<void(const Expr &)> visit);
/// The same for a statement: its expressions go to `visitExpr`, the statements in its blocks to `visitStmt`.
void forEachPart(const Stmt &stmt, llvm::function_ref<void(const Expr &)> visitExpr, llvm::function_ref<void(const Stmt &)> visitStmt);

/// Names in the order in which they are first bound. They point into the syntax tree.
using Names = llvm::SetVector<llvm::StringRef>;

/// The names that these statements bind in the scope where they stand, by Python's rules: targets of assignments, loops, imports and
/// `with`, functions, classes, and `:=` anywhere, comprehensions included. Variables of comprehensions, lambdas and nested functions are
/// their own.
Names boundNames(const std::vector<Stmt *> &statements);
Names boundNames(const Stmt &stmt);
Names boundNames(const Expr &expr);

/// Whether a `return` stands in the statement, outside of nested functions.
bool containsReturn(const Stmt &stmt);

} // namespace tilewright::ast
