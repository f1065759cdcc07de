// The walk over a jit function's syntax tree that emits its tt IR. emit.cpp holds functions and their calls, emit_statements.cpp,
// emit_loops.cpp and emit_carried.cpp control flow, emit_expressions.cpp expressions, emit_builtins.cpp the binding of builtins' arguments.
//
// All control flow is structured. Arms and loop bodies are emitted into blocks of their own first; what they changed tells which values
// scf.if, scf.for and scf.while must carry. An early return makes the rest of the function part of the arms that go on.
#pragma once

#include "evaluate/builtins.h"
#include "evaluate/module.h"
#include "frontend/semantics.h"
#include "syntax/walk.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
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

/// A loop while it is emitted.
struct LoopState {
  /// A name with run-time values: `count` of `inits` from `first` on.
  struct Carried {
    llvm::StringRef name;
    Operand before;
    size_t first, count;
  };
  const ast::Stmt &stmt;
  Locals before;
  std::vector<Carried> carried;
  std::vector<llvm::StringRef> constants; // names without run-time values
  llvm::SmallVector<mlir::Value> inits;   // all values that may be carried, as they are before the loop
  llvm::SmallBitVector changed;           // which of them must be carried
  Locals fresh;                           // names that the condition of a `while` is the first to bind
  std::vector<llvm::StringRef> decays;    // constants that have to be run-time values
  std::vector<llvm::StringRef> lost;      // names that cannot have a value before the loop

  /// Those of `all` that are carried; what follows the candidates stays.
  llvm::SmallVector<mlir::Value> ofChanged(llvm::ArrayRef<mlir::Value> all) const;
  /// Empties a finished block into the one of the loop's operation.
  void moveInto(mlir::Block &from, size_t keep, mlir::Block &into) const;
};

class Emitter;

/// A builtin's arguments by their position in its signature; defaults stand for those that were not given. The accessors report mistakes.
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
  std::optional<std::vector<Operand>> bindCall(const JitFunction &callee, CallArguments arguments);
  bool instantiate(const JitFunction &callee, Unit::Function &entry, const std::string &symbol, std::vector<Operand> args,
                   SourceRange range);
  Maybe callBuiltin(const Builtin &builtin, CallArguments arguments);
  std::optional<Arguments> bind(const Builtin &builtin, CallArguments arguments);
  /// The builtin or library function of this name below triton.language.
  std::optional<Value> languageName(llvm::StringRef name);

  // ---- classes
  /// Calls a class: an instance of it.
  Maybe construct(const std::shared_ptr<Namespace> &type, CallArguments arguments);
  /// Emits the statements of a helper where the insertion point is.
  Maybe inlineHelper(const JitFunction &helper, std::vector<Operand> args, SourceRange range);
  /// Calls Python's own function with constants.
  Maybe callWithConstants(const Callable &callee, const CallArguments &arguments, Diagnostics &diagnostics);

  // ---- expressions
  Maybe expression(const ast::Expr &expr);
  /// Counts what is emitted: false, after an error, where this is more than any kernel needs.
  bool grow(int64_t operations);
  /// Takes a step of the budget; false after reporting that it is spent.
  bool step(SourceRange range);
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
    Maybe value; // what it returns, or what a conditional expression has there
    Flow flow = Flow::next;
  };

  // ---- classes
  std::optional<Value> classMember(const Operand &object, llvm::StringRef name);
  Maybe initialize(const std::shared_ptr<Namespace> &type, CallArguments arguments);
  bool checkField(const ClassInfo &info, size_t field, const Operand &value, SourceRange range);
  bool assignField(const ast::AttributeExpr &target, const Operand &value);
  Maybe replaceFields(CallArguments arguments);
  /// Calls a method of an aggregate, for instance an operator; null, without an error, where there is no such method.
  std::optional<Maybe> callMethod(const Operand &object, llvm::StringRef name, std::vector<Operand> rest, SourceRange range);
  std::optional<Maybe> binaryMethod(ast::BinaryOp op, const Operand &x, const Operand &y, SourceRange range);
  std::optional<Maybe> compareMethod(ast::CompareOp op, const Operand &x, const Operand &y, SourceRange range);

  // ---- statements
  /// The statements, then those of `tail`. On `returned`, `result` is the function's value.
  Flow sequence(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result);
  bool statement(const ast::Stmt &stmt);
  bool assertion(const ast::AssertStmt &stmt);
  Arm arm(const Locals &before, llvm::function_ref<void(Arm &)> emit);
  Arm arm(const Locals &before, llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail);
  /// The scf.if of two arms; the value that both have.
  Maybe joinArms(SourceRange range, llvm::StringRef what, mlir::Value test, Arm &thenArm, Arm &elseArm);
  std::vector<llvm::StringRef> namesAfter(const Arm &thenArm, const Arm &elseArm, const std::string &where);
  bool agree(Arm &thenArm, Operand &left, Arm &elseArm, Operand &right);
  bool ifStatement(const ast::IfStmt &stmt);
  Flow returningIf(const ast::IfStmt &stmt, const Tail *tail, Maybe &result);
  bool assign(const ast::Expr &target, const Operand &value);
  void setLocal(llvm::StringRef name, Operand value);
  void forget(llvm::StringRef name, std::string why);
  bool refuse(SourceRange range, llvm::StringRef what, llvm::StringRef instead);
  /// The condition of an `if` or `while` as a bool constant or an i1 scalar.
  Maybe condition(const ast::Expr &expr);

  // ---- loops
  bool forLoop(const ast::ForStmt &stmt);
  bool unrolledLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds);
  /// The bounds and the step as scalars of their common type; nothing after an error.
  std::optional<std::vector<Operand>> commonBounds(llvm::ArrayRef<Operand> given);
  /// Which way a loop runs is known when it is compiled, so a step that is only known at run time is asserted to be positive.
  void checkStep(const Operand &step);
  bool runtimeLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds, llvm::ArrayRef<std::pair<std::string, Value>> wishes);
  bool whileLoop(const ast::WhileStmt &stmt);
  bool loopBody(const ast::Stmt &loop, llvm::ArrayRef<ast::Stmt *> body, bool leaves);
  void terminate(mlir::Block &block, llvm::function_ref<void()> makeTerminator);

  // ---- loops that are left early
  /// What marks a loop's state in its body, as local names: that it is over, and that this iteration is.
  struct Exit {
    llvm::StringRef over, skip;
  };
  bool leavingFor(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds);
  bool leavingWhile(const ast::WhileStmt &stmt);
  /// The loop: `test` says whether to go on, `advance` ends an iteration.
  bool leavingLoop(const ast::Stmt &stmt, llvm::ArrayRef<ast::Stmt *> body, llvm::function_ref<Maybe()> test,
                   llvm::function_ref<void()> start, llvm::function_ref<bool()> advance);
  bool markExit(const ast::Stmt &stmt);
  bool markReturn(const ast::ReturnStmt &stmt);
  /// `statements`, of which the first may leave the iteration: the others run if it did not.
  Flow mayLeave(llvm::ArrayRef<ast::Stmt *> statements);
  /// Emits the code after a loop from which the function may have returned.
  Flow afterReturn(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result);
  /// Whether the innermost loop may be left early.
  bool mayExit() const { return !loops.empty() && loops.back(); }

  // ---- what loops carry
  /// Emits the loop's blocks with `emit`, repeatedly if need be, and lets `close` make the operation
  /// around them. The results of that operation are the values that the changed names have afterwards.
  bool carryLoop(const ast::Stmt &stmt, llvm::function_ref<bool(LoopState &)> emit,
                 llvm::function_ref<mlir::ValueRange(LoopState &)> close);
  /// The scf.while of two blocks that were emitted apart: `test` lets `passed` into `body` where `holds` is true, `body` ends with `ends`.
  mlir::ValueRange closeWhile(LoopState &state, mlir::Block &test, mlir::Value holds, llvm::ArrayRef<mlir::Value> passed, mlir::Block &body,
                              llvm::ArrayRef<mlir::Value> ends);
  /// Gives `block` an argument for each value that may be carried, and the names these values.
  void enterCarried(const LoopState &state, mlir::Block &block);
  /// The carried names' values at the end of `block`, whose first `keep` arguments do not belong to them. Null after an error.
  std::optional<llvm::SmallVector<mlir::Value>> endCarried(LoopState &state, mlir::Block &block, size_t keep);
  bool endConstant(LoopState &state, llvm::StringRef name);
  bool failCarried(const LoopState &state, llvm::StringRef name, const Operand &before, const Operand &after);
  void leaveLoop(LoopState &state, mlir::ValueRange results);

  // ---- expressions
  Maybe expressionWithin(const ast::Expr &expr);
  /// A tuple, or an error where it is longer than any kernel needs.
  Maybe tupleOf(std::vector<Operand> items, SourceRange range);
  Maybe name(const ast::NameExpr &expr);
  Maybe attributeOf(const ast::AttributeExpr &expr);
  Maybe hostAnswer(const ast::AttributeExpr &expr);
  std::string hostPath(const ast::Expr &expr);
  Maybe typeLimits(const ast::CallExpr &expr);
  Maybe callExpression(const ast::CallExpr &expr);
  bool checkUsed(const Operand &callee, const ast::CallExpr &expr);
  std::optional<CallArguments> arguments(const ast::CallExpr &expr);
  Maybe pythonCall(const Callable &callee, const CallArguments &arguments);
  /// Emits a function of Python's where it is called; nothing, without an error, where it is not to be followed.
  std::optional<Maybe> helperCall(const Callable &callee, const CallArguments &arguments);
  Maybe breakpoint(const CallArguments &arguments);
  Maybe isInstance(const CallArguments &arguments);
  Maybe attributeByName(const CallArguments &arguments, bool ask);
  bool hasAttribute(const Operand &object, llvm::StringRef name);
  Maybe subscript(const ast::SubscriptExpr &expr);
  Maybe sliceTuple(const Operand &object, const ast::SliceExpr &slice);
  Maybe expandByIndex(const Operand &object, const ast::SubscriptExpr &expr);
  Maybe compare(const ast::CompareExpr &expr);
  Maybe compareTwo(ast::CompareOp op, const Operand &x, const Operand &y, SourceRange range);
  /// `left and right` where evaluating `right` binds names: it is evaluated only if `left` does not decide.
  Maybe shortCircuit(bool isAnd, const Operand &left, const ast::Expr &right);
  Maybe booleanOp(const ast::BoolOpExpr &expr);
  Maybe conditional(const ast::ConditionalExpr &expr);
  Maybe formatted(const ast::FStringExpr &expr);
  Maybe comprehension(const ast::ComprehensionExpr &expr);
  Maybe constantDict(const ast::DictExpr &expr);
  /// Adds the items of a comprehension from its loop number `depth` on.
  bool comprehensionItems(const ast::ComprehensionExpr &expr, size_t depth, std::vector<Operand> &items);
  /// Gives a comprehension's targets their values. Unlike an assignment it keeps constants.
  bool bindTarget(const ast::Expr &target, const Operand &value);
  Maybe runtimeAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  /// An unknown name, with "did you mean" where one of `candidates` is close.
  std::nullopt_t unknown(SourceRange range, Diag id, std::initializer_list<std::string> args, llvm::StringRef name,
                         const std::vector<std::string> &candidates);
  /// What triton.language has under a name of the host's ("float32", "float8_e4m3fn", "exp"), as kernels write it; "" for nothing.
  static std::string inLanguage(llvm::StringRef name);
  std::nullopt_t failHostName(SourceRange range, llvm::StringRef name, const HostValue &host);
  Maybe constantAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  Maybe descriptorAttribute(const Operand &object, llvm::StringRef name, SourceRange range);

  Locals locals;
  const ast::Expr *unused = nullptr;      // the call that is a statement of its own
  std::optional<ast::Names> ownNames;     // names that the function binds somewhere: they are never global ones
  llvm::StringMap<std::string> forgotten; // names that are no longer defined, and why
  llvm::StringSet<> annotatedConstexpr;   // `x: tl.constexpr` without a value
  int64_t loopDepth = 0;
  llvm::SmallVector<bool> loops;     // those around, the innermost last: whether they may be left early
  std::vector<Exit> exits;           // of the loops around that may be left early
  std::vector<SourceRange> unrolled; // the static_range loops that lead here
  int64_t level = 0, deepest = 0;    // of branches and loops, with those of called functions
};

/// Whether a statement of a loop's body may end its iteration: by break or continue of this loop, or by a return.
bool leavesIteration(const ast::Stmt &stmt);
/// Whether a loop's options say early_exit=True.
bool asksForExit(const ast::Stmt &stmt);
/// Whether such a loop holds a return.
bool isLoopWithReturn(const ast::Stmt &stmt);

/// The emitter of a builtin.
BuiltinEmitter emitterOf(const Builtin &builtin);
/// Names of builtins and library functions that are methods of run-time values too.
bool isMethod(llvm::StringRef name);

} // namespace tilewright
