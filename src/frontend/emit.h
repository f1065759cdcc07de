// The walk over a jit function's syntax tree that emits its tt IR. emit.cpp holds functions and their calls, emit_statements.cpp and
// emit_loops.cpp control flow, emit_expressions.cpp expressions, emit_builtins.cpp the binding of builtins' arguments.
//
// All control flow is structured. Arms and loop bodies are emitted into blocks of their own first; what they changed tells which values
// scf.if, scf.for and scf.while must carry. An early return makes the rest of the function part of the arms that go on.
#pragma once

#include "evaluate/builtins.h"
#include "evaluate/module.h"
#include "frontend/semantics.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {

/// Local names in order of their definition. Keys live in the syntax tree.
using Locals = llvm::MapVector<llvm::StringRef, Operand>;

/// A call's arguments, evaluated, splats expanded.
struct CallArguments {
  struct Keyword {
    std::string name;
    Operand value;
    SourceRange range;
  };
  SourceRange range; // of the call
  std::vector<Operand> positional;
  std::vector<SourceRange> ranges;
  std::vector<Keyword> keywords;
};

class Emitter;

/// A builtin's arguments by position in its signature; those not given hold their defaults. The checked accessors report what is wrong.
struct Arguments {
  Emitter &emitter;
  const Builtin &builtin;
  SourceRange range;
  std::vector<std::string> names;
  std::vector<Operand> values;
  std::vector<SourceRange> ranges;

  const Operand &operator[](size_t i) const { return values[i]; }
  bool isNone(size_t i) const { return values[i].isNone(); }
  std::optional<Value> constant(size_t i);
  std::optional<int64_t> integer(size_t i);
  std::optional<bool> boolean(size_t i);
  std::optional<std::string> string(size_t i); // None is ""
  std::optional<Type> type(size_t i);
  std::optional<std::vector<int64_t>> integers(size_t i); // a number or a (nested) tuple of them
  std::optional<std::vector<Operand>> list(size_t i);     // the members of a tuple; anything else alone
  std::shared_ptr<const JitFunction> function(size_t i);
  Maybe tensor(size_t i); // as a run-time value
  Maybe tile(size_t i);   // as one with dimensions
  std::nullopt_t wrong(size_t i, llvm::StringRef expected);
};

using BuiltinEmitter = Maybe (*)(Emitter &, Arguments &);

class Emitter {
public:
  Emitter(Unit &unit, const JitFunction &function) : ops(unit), unit(unit), function(function) {}

  Semantics ops;
  Unit &unit;
  const JitFunction &function;

  /// Emits the body into `op`'s entry block, `args` bound to the parameters; the result's type is set. Nothing after an error.
  Maybe emitBody(tt::FuncOp op, std::vector<Operand> args);

  // ---- calls
  Maybe call(const Operand &callee, CallArguments arguments);
  Maybe callFunction(const JitFunction &callee, CallArguments arguments);
  Maybe callBuiltin(const Builtin &builtin, CallArguments arguments);
  std::optional<Arguments> bind(const Builtin &builtin, CallArguments arguments);
  /// The builtin or library function of this name below triton.language.
  std::optional<Value> languageName(llvm::StringRef name);

  // ---- expressions
  Maybe expression(const ast::Expr &expr);
  Maybe binary(ast::BinaryOp op, const Operand &x, const Operand &y, SourceRange range);
  Maybe attribute(const Operand &object, llvm::StringRef name, SourceRange range);

private:
  enum class Flow { next, returned, failed };
  struct Tail {
    llvm::ArrayRef<ast::Stmt *> statements;
    const Tail *next;
  };
  struct Arm {
    std::unique_ptr<mlir::Block> block;
    Locals locals;
    Maybe returned;
    Flow flow = Flow::next;
  };

  // ---- statements
  /// The statements, then those of `tail`. On `returned`, `result` is the function's value.
  Flow sequence(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result);
  bool statement(const ast::Stmt &stmt);
  Arm arm(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, const Locals &before);
  bool ifStatement(const ast::IfStmt &stmt);
  Flow returningIf(const ast::IfStmt &stmt, const Tail *tail, Maybe &result);
  bool assign(const ast::Expr &target, const Operand &value);
  void setLocal(llvm::StringRef name, Operand value);
  void forget(llvm::StringRef name, std::string why);
  bool refuse(SourceRange range, llvm::StringRef what, llvm::StringRef instead);
  /// The condition of an `if` or `while` as a bool constant or an i1 scalar.
  Maybe condition(const ast::Expr &expr);

  // ---- loops
  struct Carried {
    llvm::StringRef name;
    Operand before;
    size_t firstArgument, count;
  };
  bool forLoop(const ast::ForStmt &stmt);
  bool unrolledLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds);
  bool runtimeLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds, llvm::ArrayRef<std::pair<std::string, Value>> wishes);
  bool whileLoop(const ast::WhileStmt &stmt);
  std::vector<llvm::StringRef> candidates(llvm::ArrayRef<ast::Stmt *> body, llvm::StringRef except);
  std::vector<Carried> enterCarried(mlir::Block &block, llvm::ArrayRef<llvm::StringRef> names);
  /// What of `carried` changed in the body whose locals are current; false after an error. Names that must stop being constexprs go to
  /// `decays`.
  bool compareCarried(const ast::Stmt &loop, llvm::ArrayRef<llvm::StringRef> names, const Locals &before, llvm::ArrayRef<Carried> carried,
                      std::vector<Carried> &changed, std::vector<llvm::StringRef> &decays);
  bool failCarried(const ast::Stmt &loop, llvm::StringRef name, const Operand &before, const Operand &after);
  bool decayLocals(llvm::ArrayRef<llvm::StringRef> names);
  void leaveLoop(Locals before, llvm::ArrayRef<Carried> changed, mlir::ValueRange results, llvm::ArrayRef<llvm::StringRef> inner,
                 const ast::Stmt &loop);

  // ---- expressions
  Maybe name(const ast::NameExpr &expr);
  Maybe callExpression(const ast::CallExpr &expr);
  std::optional<CallArguments> arguments(const ast::CallExpr &expr);
  Maybe pythonCall(const Callable &callee, const CallArguments &arguments);
  Maybe isInstance(const CallArguments &arguments);
  Maybe subscript(const ast::SubscriptExpr &expr);
  Maybe sliceTuple(const Operand &object, const ast::SliceExpr &slice);
  Maybe expandByIndex(const Operand &object, const ast::SubscriptExpr &expr);
  Maybe compare(const ast::CompareExpr &expr);
  Maybe booleanOp(const ast::BoolOpExpr &expr);
  Maybe conditional(const ast::ConditionalExpr &expr);
  Maybe formatted(const ast::FStringExpr &expr);
  Maybe comprehension(const ast::ComprehensionExpr &expr);
  Maybe runtimeAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  /// An unknown name, with "did you mean" where one of `candidates` is close.
  std::nullopt_t unknown(SourceRange range, Diag id, std::initializer_list<std::string> args, llvm::StringRef name,
                         const std::vector<std::string> &candidates);
  Maybe constantAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  Maybe descriptorAttribute(const Operand &object, llvm::StringRef name, SourceRange range);

  Locals locals;
  llvm::StringMap<std::string> forgotten; // names that are no longer defined, and why
  llvm::StringSet<> annotatedConstexpr;   // `x: tl.constexpr` without a value
  int64_t loopDepth = 0, unrollDepth = 0;
};

/// Names that statements assign, nested ones included, in order.
void assignedNames(llvm::ArrayRef<ast::Stmt *> statements, llvm::SmallVectorImpl<llvm::StringRef> &names);
bool containsReturn(const ast::Stmt &stmt);
/// The emitter of a builtin.
BuiltinEmitter emitterOf(const Builtin &builtin);
/// Names of builtins and library functions that are methods of run-time values too.
bool isMethod(llvm::StringRef name);

} // namespace tilewright
