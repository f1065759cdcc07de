// A kernel file, evaluated without Python: its module-level names are evaluated when a kernel uses them.
//
// `import triton.language as tl`, constants, helper functions, lambdas, decorators with their Config lists (made by comprehensions and
// helper functions, as real files do) are supported. Everything else is host code: a HostValue, and an error only when a kernel uses
// it.
#pragma once

#include "evaluate/value.h"

namespace tilewright {

/// The globals of a parsed module. `import helper` finds `helper.py` in the same folder.
std::shared_ptr<Namespace> moduleScope(std::shared_ptr<const ast::Module> module);

/// Reads, parses and wraps a file. Null after an error.
std::shared_ptr<Namespace> loadModule(const std::string &path, Diagnostics &diagnostics);

/// The kernel `name` of a module (with its autotune and heuristics decorators), or null after an error that lists the module's kernels.
std::shared_ptr<const JitFunction> findKernel(Namespace &module, llvm::StringRef name, Diagnostics &diagnostics);
/// All functions of the module marked @triton.jit, in file order.
std::vector<std::string> kernelNames(Namespace &module);

/// `triton`, `triton.language`, ... and Tilewright's own names for them. Null for other modules.
std::shared_ptr<Namespace> languageModule(llvm::StringRef path);

/// Fills a JitFunction's parameters, name and options from its declaration (annotations and defaults are evaluated in `globals`).
bool readParameters(JitFunction &function, Diagnostics &diagnostics);

/// Evaluates an expression to a compile-time value. `locals` are looked up before `globals`.
std::optional<Value> evaluate(const ast::Expr &expr, Namespace &globals, const llvm::StringMap<Value> *locals, Diagnostics &diagnostics);
/// The operators on compile-time values, with Python's meaning (floor division and modulo round down, ** and / as in Python).
std::optional<Value> evaluateUnary(ast::UnaryOp op, const Value &operand, SourceRange range, Diagnostics &diagnostics);
std::optional<Value> evaluateBinary(ast::BinaryOp op, const Value &lhs, const Value &rhs, SourceRange range, Diagnostics &diagnostics);
std::optional<Value> evaluateCompare(ast::CompareOp op, const Value &lhs, const Value &rhs, SourceRange range, Diagnostics &diagnostics);
std::optional<Value> evaluateSubscript(const Value &object, const Value &index, SourceRange range, Diagnostics &diagnostics);
/// `object.name` with the language's own attributes: members of namespaces, those of types (below), `.value` of constants, fields of
/// namedtuples, bound methods of Python's values. An unknown one is an error.
std::optional<Value> evaluateAttribute(const Value &object, llvm::StringRef name, SourceRange range, Diagnostics &diagnostics);
/// `.primitive_bitwidth`, `.itemsize`, `.name`, `.element_ty`, `.scalar`,
/// `.is_floating` (a Callable) ... of a type. Null if the type has no such attribute.
std::optional<Value> typeAttribute(const Type &type, llvm::StringRef name);
/// True if a value is `tl.constexpr` itself (as an annotation), or `tl.const`.
bool isConstexprMarker(const Value &value);
bool isConstMarker(const Value &value);
/// True if the annotation of a parameter or variable says tl.constexpr, under any of its names or as text. Reports nothing.
bool isConstexprAnnotation(const ast::Expr &annotation, Namespace &globals);
/// Python's own functions on compile-time values: len min max abs int float bool str tuple list range sum all any zip enumerate sorted
/// isinstance round divmod pow getattr hasattr, and triton.cdiv, triton.next_power_of_2. Nothing if `name` is not one of them.
std::optional<Value> pythonFunction(llvm::StringRef name);

/// Returns a hash of all that a kernel's code depends on: its own text (comments, blank lines and line numbers aside), that of all
/// functions it reaches, and the values of the globals they use.
std::string dependencyHash(const JitFunction &kernel);
/// The same of a value: its type and text, and the dependencies of the functions that it is or contains.
std::string dependencyHash(const Value &value);
/// The same of a kernel, with the files, lines and columns of all this code, for results that contain them.
std::string locationsHash(const JitFunction &kernel);

} // namespace tilewright
