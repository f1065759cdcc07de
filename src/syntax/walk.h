// Tree walks: the parts of a syntax node, and the names that statements bind.
#pragma once

#include "syntax/ast.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::ast {

/// Calls `visit` for each direct subexpression of `expr`, in Python's evaluation order.
void forEachPart(const Expr &expr, llvm::function_ref<void(const Expr &)> visit);
/// The same for a statement: its expressions go to `visitExpr`, the statements in its blocks to `visitStmt`.
void forEachPart(const Stmt &stmt, llvm::function_ref<void(const Expr &)> visitExpr, llvm::function_ref<void(const Stmt &)> visitStmt);

/// Names in the order of their first binding. They point into the syntax tree.
using Names = llvm::SetVector<llvm::StringRef>;

/// Returns the names that these statements bind in their scope, by Python's rules: targets of assignments, loops, imports and `with`,
/// functions, classes, and `:=` anywhere, also in comprehensions. Comprehensions, lambdas and nested functions have their own scopes.
Names boundNames(const std::vector<Stmt *> &statements);
Names boundNames(const Stmt &stmt);
Names boundNames(const Expr &expr);

/// True if the statement contains a `return` outside of nested functions.
bool containsReturn(const Stmt &stmt);

} // namespace tilewright::ast
