// The internal interface of the evaluator of module-level Python. module.h has the functions that the emission of kernels uses.
//
// Which file evaluates what, and when:
// - module_scope.cpp: the names of a file. It builds a table of the names that each statement binds, and evaluates a
//   name when a kernel or another name uses it. imports.cpp, language_module.cpp, python_modules.cpp: the modules that `import` resolves
//   to.
// - evaluate.cpp: one expression, and the call of a plain function. execute.cpp: one statement. These are recursive and call the
//   files below.
// - operators.cpp, attributes.cpp, methods.cpp, format.cpp, python_functions.cpp: operators, `x.name`, `x.name()`, texts, and Python's own
//   functions on values. decorators.cpp: @triton.jit and the other decorators, which make kernels of functions.
// - value.cpp: the values. budget.cpp: the limits of evaluation, checked after every expression.
// - dependency.cpp: the hash of all that a kernel's code depends on, when a launch looks for it in the cache.
// A kernel's body is never evaluated here: the front end walks it, and calls the evaluator for compile-time values.
//
// Host code is followed as far as possible. A result of a HostValue is a HostValue, which is not an error. So a file that builds its list
// of configurations from PyTorch's version still loads. The error is reported only if a kernel uses the result.
#pragma once

#include "evaluate/budget.h"
#include "evaluate/module.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

using Values = std::vector<Value>;
using Keywords = std::vector<std::pair<std::string, Value>>;
using MaybeValue = std::optional<Value>;

/// Reports and returns nothing: `return fail(diagnostics, range, Diag::divisionByZero)`.
std::nullopt_t fail(Diagnostics &diagnostics, SourceRange range, Diag id, std::initializer_list<std::string> args);
/// As `fail`, with "did you mean" where one of `candidates` is close to `name`.
std::nullopt_t failUnknown(Diagnostics &diagnostics, SourceRange range, Diag id, std::initializer_list<std::string> args,
                           llvm::StringRef name, const std::vector<std::string> &candidates);
/// The candidate that `name` is probably a misspelling of; empty if none is near.
std::string nearestName(llvm::StringRef name, const std::vector<std::string> &candidates);
/// "a, b, c" and, if there are more than `limit`, "...".
std::string joinNames(const std::vector<std::string> &names, int64_t limit);

/// One call of a function that is written in C++ rather than in Python.
struct NativeCall {
  llvm::StringRef name;
  const Values &args;
  const Keywords &keywords;
  SourceRange range;
  Diagnostics &diagnostics;

  const Value *keyword(llvm::StringRef key) const;
  /// The i-th argument, given by position or by name.
  const Value *argument(size_t i, llvm::StringRef key) const;
  std::nullopt_t badCall(std::string message) const;
  std::nullopt_t badValue(std::string message) const;
};
using NativeBody = std::function<MaybeValue(const NativeCall &)>;

/// A Python function that is written in C++. Calls with a HostValue among the arguments give a HostValue.
Value nativeFunction(std::string name, NativeBody body);
/// The same for functions that handle host values themselves (getattr, decorators, ...).
Value nativeFunctionOfHost(std::string name, NativeBody body);

/// Calls anything callable. HostValues, kernels and builtins give a HostValue: host code may launch kernels.
MaybeValue callValue(const Value &callee, const Values &args, const Keywords &keywords, SourceRange range, Diagnostics &diagnostics);
/// The items of a tuple, list, set, string, or dict (its keys); nothing after an error.
std::optional<Values> iterate(const Value &value, SourceRange range, Diagnostics &diagnostics);
/// Calls the method `name` of a string, number, list, tuple, set or dict; `hasMethod` is true if there is one.
bool hasMethod(const Value &object, llvm::StringRef name);
MaybeValue callMethod(const Value &object, llvm::StringRef name, const NativeCall &call);
std::vector<std::string> methodNames(const Value &object);

/// The characters of a UTF-8 text, which Python counts where C++ counts bytes; and whether the two counts agree.
std::vector<llvm::StringRef> characters(llvm::StringRef text);
bool isAscii(llvm::StringRef text);

/// format(value, spec), str(value) and text % values.
std::optional<std::string> formatValue(const Value &value, llvm::StringRef spec, SourceRange range, Diagnostics &diagnostics);
std::string strOf(const Value &value);
MaybeValue percentFormat(const std::string &text, const Value &values, SourceRange range, Diagnostics &diagnostics);

/// A slice(lower, upper, step) as an index; its parts are None or ints.
Value makeSlice(Value lower, Value upper, Value step);
bool isSlice(const Value &value);
/// The positions that a slice selects in a sequence of `length`.
std::optional<std::vector<int64_t>> slicePositions(const Value &slice, int64_t length, SourceRange range, Diagnostics &diagnostics);

/// Modules of Python's library that kernel files use: math, os, itertools, functools, collections, operator, ... Null for others.
std::shared_ptr<Namespace> pythonModule(llvm::StringRef path);

/// Variables of a running function or comprehension.
struct Frame {
  llvm::StringMap<Value> names;
  std::shared_ptr<Frame> outer;
  bool isComprehension = false; // := binds in the frame outside
};

/// A scope of a syntax tree, which it keeps alive.
class SourceNamespace : public Namespace {
public:
  explicit SourceNamespace(std::shared_ptr<const ast::Module> module) : syntax(std::move(module)) {}
  const std::shared_ptr<const ast::Module> &module() const { return syntax; }
  std::string path() const override { return syntax->source->name(); }

private:
  std::shared_ptr<const ast::Module> syntax;
};

/// A plain function of a module (or a lambda: `decl` null), with the variables of the scope that defines it.
struct PlainFunction : Callable {
  std::string functionName;
  std::shared_ptr<Namespace> globals;
  std::shared_ptr<const ast::Module> module;
  const ast::FunctionStmt *decl = nullptr;
  const ast::LambdaExpr *lambda = nullptr;
  std::weak_ptr<Frame> liveFrame;                   // while the enclosing function runs, its variables as they are
  std::shared_ptr<llvm::StringMap<Value>> captured; // afterwards, as they were; null at module level
  llvm::StringMap<Value> defaults;
  bool constexprFunction = false, isMethod = false;

  std::string name() const override { return functionName; }
  MaybeValue call(const Values &args, const Keywords &keywords, SourceRange call, Diagnostics &diagnostics) const override;
  std::shared_ptr<const JitFunction> asHelper(Diagnostics &diagnostics) const override;
  const std::vector<ast::Parameter> &parameters() const { return decl ? decl->parameters : lambda->parameters; }
  /// The scope of its free names: `globals`, or captured variables before them.
  std::shared_ptr<Namespace> scope() const;
};

/// The value of an attribute, or of a call, of a host value. Kernel files query the machine
/// while they choose configurations. The result is that of the GPU that kernels are tuned for
/// (CUDA, capability 9.0), on any machine that compiles them.
Value hostAttribute(const HostValue &object, llvm::StringRef name);
/// The version of an installed package as a string (evaluate/packages.h). `description`: of the host value if it is not installed.
Value packageVersion(llvm::StringRef package, std::string description);
Value hostCall(const HostValue &callee);
/// Files query packages and kinds of machines by names such as HAS_TRITON, has_triton, is_flash_attn_available,
/// is_cuda. The result is false for other vendors' GPUs and true for everything else.
/// Nothing for other names.
std::optional<bool> isThere(llvm::StringRef path);

int64_t errorCount(const Diagnostics &diagnostics);

/// How a statement ended. `host`: the next statement depends on a host value, so the function's result is a host value, too.
enum class Flow { normal, returned, broke, continued, failed, host };

/// Evaluates expressions and runs statements in one frame.
class Evaluator {
public:
  /// `lookups` finds globals; functions made here keep `closureScope` (the same, unless `lookups` is only a view of it).
  Evaluator(Namespace &lookups, std::shared_ptr<Namespace> closureScope, std::shared_ptr<Frame> frame, Diagnostics &diagnostics);

  MaybeValue eval(const ast::Expr &expr);
  Flow run(const ast::Block &block);
  Flow run(const ast::Stmt &stmt);
  bool assign(const ast::Expr &target, const Value &value);
  /// A def as a value: with its defaults evaluated and its decorators applied.
  MaybeValue define(const ast::FunctionStmt &decl);
  MaybeValue defineClass(const ast::ClassStmt &decl);

  Value returned;                                 // after Flow::returned
  std::optional<Values> yielded;                  // of a generator: all values that it has yielded
  const llvm::StringMap<Value> *locals = nullptr; // searched after the frame and before the globals

private:
  /// Takes a step of the budget; returns false, after an error, if it is spent.
  bool step(SourceRange range);
  MaybeValue evalWithin(const ast::Expr &expr);
  /// Calls `body` for each item until it returns false; false after an error.
  bool forEach(const Value &iterable, SourceRange range, llvm::function_ref<bool(const Value &)> body);
  MaybeValue name(const ast::NameExpr &expr);
  MaybeValue call(const ast::CallExpr &expr);
  MaybeValue compare(const ast::CompareExpr &expr);
  MaybeValue boolOp(const ast::BoolOpExpr &expr);
  MaybeValue formatted(const ast::FStringExpr &expr);
  MaybeValue comprehension(const ast::ComprehensionExpr &expr);
  MaybeValue sequence(const ast::Expr &expr, const std::vector<ast::Expr *> &parts);
  MaybeValue subscript(const ast::SubscriptExpr &expr);
  MaybeValue yield(const ast::YieldExpr &expr);
  bool comprehend(const ast::ComprehensionExpr &expr, size_t depth, Values &items, std::vector<std::pair<Value, Value>> &pairs, bool &host);
  std::optional<bool> filtered(const ast::ComprehensionExpr::For &loop, bool &host);
  MaybeValue dict(const ast::DictExpr &expr);
  std::optional<Values> elements(const std::vector<ast::Expr *> &exprs, bool &host);
  MaybeValue makeFunction(const ast::FunctionStmt *decl, const ast::LambdaExpr *lambda);
  Value autotuneOfHost(const ast::Expr &decorator);
  Flow runFor(const ast::ForStmt &stmt);
  Flow runWhile(const ast::WhileStmt &stmt);
  Flow runTry(const ast::TryStmt &stmt);
  Flow runImport(const ast::Stmt &stmt);
  Value hostClass(const ast::ClassStmt &decl);
  bool readClassBody(const ast::ClassStmt &decl, ClassInfo &info, llvm::StringMap<Value> &members);
  void bind(llvm::StringRef name, const Value &value);
  bool assignSubscript(const ast::SubscriptExpr &target, const Value &value);

  Budget budget; // all evaluation in this object shares it
  Namespace &lookups;
  std::shared_ptr<Namespace> closureScope;
  std::shared_ptr<Frame> frame;
  Diagnostics &diagnostics;
};

/// Resolves `import path` or `from path import` in `scope`: a built-in module, one of Python's, a file in the same folder, or a HostValue.
/// Nothing after an error (relative imports of missing files).
MaybeValue importModule(Namespace &scope, llvm::StringRef path, int64_t level, SourceRange range, Diagnostics &diagnostics);
/// `from module import name`; nothing (and no message) if the module has none.
MaybeValue importMember(Namespace &scope, const Value &module, llvm::StringRef path, int64_t level, llvm::StringRef name,
                        Diagnostics &diagnostics);
/// True if an import names something that cannot exist, so that the code under `except ImportError` runs.
bool importFails(Namespace &scope, const ast::Stmt &stmt);
/// A module that is not read: every member is a HostValue.
Value hostModule(llvm::StringRef path);

/// triton.Config(...) as module-level code sees it.
class ConfigObject : public Namespace {
public:
  explicit ConfigObject(Config config) : config(std::move(config)) {}
  std::string path() const override { return "a triton.Config"; }
  MaybeValue lookup(llvm::StringRef name, Diagnostics &) override;
  const Config config;
};

/// A deep copy of the value: changes to the lists and dicts of the copy do not affect the original.
Value copyValue(const Value &value);

/// A namespace with a fixed table of members. Other names are HostValues if `restIsHost`, else there are none.
class TableNamespace : public Namespace {
public:
  TableNamespace(std::string path, bool restIsHost) : fullPath(std::move(path)), restIsHost(restIsHost) {}
  TableNamespace &add(llvm::StringRef name, Value value) {
    members[name] = std::move(value);
    return *this;
  }
  std::string path() const override { return fullPath; }
  MaybeValue lookup(llvm::StringRef name, Diagnostics &) override;
  std::vector<std::string> names() const override;

private:
  std::string fullPath;
  bool restIsHost;
  llvm::StringMap<Value> members;
};

} // namespace tilewright
