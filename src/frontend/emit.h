// The walk over a jit function's syntax tree that emits its tt IR. emit.cpp holds functions and their calls, emit_statements.cpp,
// emit_loops.cpp and emit_carried.cpp control flow, emit_expressions.cpp expressions, emit_builtins.cpp the binding of builtins' arguments.
//
// All control flow is structured. The emitter first emits arms and loop bodies into separate blocks. The names that these change are the
// values that scf.if, scf.for and scf.while carry. After an early return, the rest of the function is emitted into the other arms.
#pragma once

#include "evaluate/builtins.h"
#include "evaluate/module.h"
#include "frontend/semantics.h"
#include "syntax/walk.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {

/// Local names in the order of their definition. The syntax tree owns the keys.
using Locals = llvm::MapVector<llvm::StringRef, Operand>;

/// The evaluated arguments of a call, with `*` and `**` expanded.
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

/// The state of a loop during its emission.
struct LoopState {
  /// A name with run-time values: `count` values of `inits`, from `first` on.
  struct Carried {
    llvm::StringRef name;
    Operand before;
    size_t first, count;
  };
  const ast::Stmt &stmt;
  Locals before;
  std::vector<Carried> carried;
  std::vector<llvm::StringRef> constants; // names without run-time values
  llvm::SmallVector<mlir::Value> inits;   // all values that the loop may carry, before the loop
  llvm::SmallBitVector changed;           // which of them must be carried
  Locals fresh;                           // names that the condition of a `while` binds first
  std::vector<llvm::StringRef> decays;    // constants that must become run-time values
  std::vector<llvm::StringRef> lost;      // names that must have no value before the loop

  /// Returns the carried values of `all`, and the values after the candidates.
  llvm::SmallVector<mlir::Value> ofChanged(llvm::ArrayRef<mlir::Value> all) const;
  /// Moves the operations of a finished block into the block of the loop's operation.
  void moveInto(mlir::Block &from, size_t keep, mlir::Block &into) const;
};

class Emitter;

/// A builtin's arguments, by position in its signature, with defaults for missing ones. The accessors report errors.
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
  std::optional<std::vector<int64_t>> integers(size_t i); // a number or a (nested) tuple of numbers
  std::optional<std::vector<Operand>> list(size_t i);     // the members of a tuple, or the one value
  std::shared_ptr<const JitFunction> function(size_t i);
  Maybe tensor(size_t i); // as a run-time value
  Maybe tile(size_t i);   // as a run-time value with dimensions
  std::nullopt_t typeError(size_t i, llvm::StringRef expected);
};

using BuiltinEmitter = Maybe (*)(Emitter &, Arguments &);

class Emitter {
public:
  Emitter(Unit &unit, const JitFunction &function) : ops(unit), unit(unit), function(function) {}

  Semantics ops;
  Unit &unit;
  const JitFunction &function;

  /// Emits the body into `op`'s entry block, with `args` bound to the parameters, and sets the result types. Returns nothing after an
  /// error.
  Maybe emitBody(tt::FuncOp op, std::vector<Operand> args);

  // ---- calls
  Maybe call(const Operand &callee, CallArguments arguments);
  Maybe callFunction(const JitFunction &callee, CallArguments arguments);
  std::optional<std::vector<Operand>> bindCall(const JitFunction &callee, CallArguments arguments);
  bool instantiate(const JitFunction &callee, Unit::Function &entry, const std::string &symbol, std::vector<Operand> args,
                   SourceRange range);
  Maybe callBuiltin(const Builtin &builtin, CallArguments arguments);
  std::optional<Arguments> bind(const Builtin &builtin, CallArguments arguments);
  /// Returns the builtin or library function of this name in triton.language.
  std::optional<Value> languageName(llvm::StringRef name);

  // ---- classes
  /// Calls a class. Returns an instance of it.
  Maybe construct(const std::shared_ptr<Namespace> &type, CallArguments arguments);
  /// Emits the statements of a helper at the insertion point.
  Maybe inlineHelper(const JitFunction &helper, std::vector<Operand> args, SourceRange range);
  /// Evaluates a call of a Python function with constants.
  Maybe callWithConstants(const Callable &callee, const CallArguments &arguments, Diagnostics &diagnostics);

  // ---- expressions
  Maybe expression(const ast::Expr &expr);
  /// Counts emitted operations. Returns false after reporting that the kernel is too large.
  bool grow(int64_t operations);
  /// Takes one step of the evaluation budget. Returns false after reporting that the budget is spent.
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
    Maybe value; // the returned value, or the value of this arm of a conditional expression
    Flow flow = Flow::next;
  };

  // ---- classes
  std::optional<Value> classMember(const Operand &object, llvm::StringRef name);
  Maybe initialize(const std::shared_ptr<Namespace> &type, CallArguments arguments);
  bool checkField(const ClassInfo &info, size_t field, const Operand &value, SourceRange range);
  bool assignField(const ast::AttributeExpr &target, const Operand &value);
  Maybe replaceFields(CallArguments arguments);
  /// Calls a method of an aggregate, for example an operator. Returns null, without an error, if there is no such method.
  std::optional<Maybe> callMethod(const Operand &object, llvm::StringRef name, std::vector<Operand> rest, SourceRange range);
  std::optional<Maybe> binaryMethod(ast::BinaryOp op, const Operand &x, const Operand &y, SourceRange range);
  std::optional<Maybe> compareMethod(ast::CompareOp op, const Operand &x, const Operand &y, SourceRange range);

  // ---- statements
  /// Emits the statements, then those of `tail`. On `returned`, `result` is the function's value.
  Flow sequence(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result);
  bool statement(const ast::Stmt &stmt);
  bool assertion(const ast::AssertStmt &stmt);
  Arm arm(const Locals &before, llvm::function_ref<void(Arm &)> emit);
  Arm arm(const Locals &before, llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail);
  /// Creates the scf.if of two arms. Returns the common value of the arms.
  Maybe joinArms(SourceRange range, llvm::StringRef what, mlir::Value test, Arm &thenArm, Arm &elseArm);
  std::vector<llvm::StringRef> namesAfter(const Arm &thenArm, const Arm &elseArm, const std::string &where);
  bool agree(Arm &thenArm, Operand &left, Arm &elseArm, Operand &right);
  bool ifStatement(const ast::IfStmt &stmt);
  Flow returningIf(const ast::IfStmt &stmt, const Tail *tail, Maybe &result);
  bool assign(const ast::Expr &target, const Operand &value);
  void setLocal(llvm::StringRef name, Operand value);
  void forget(llvm::StringRef name, std::string why);
  bool refuse(SourceRange range, llvm::StringRef what, llvm::StringRef instead);
  /// Returns the condition of an `if` or `while` as a bool constant or an i1 scalar.
  Maybe condition(const ast::Expr &expr);

  // ---- loops
  bool forLoop(const ast::ForStmt &stmt);
  bool unrolledLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds);
  /// Returns the bounds and the step as scalars of their common type, or nothing after an error.
  std::optional<std::vector<Operand>> commonBounds(llvm::ArrayRef<Operand> given);
  /// Asserts that a run-time step is positive, because the direction of a loop must be known at compile time.
  void checkStep(const Operand &step);
  bool runtimeLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds, llvm::ArrayRef<std::pair<std::string, Value>> wishes);
  bool whileLoop(const ast::WhileStmt &stmt);
  bool loopBody(const ast::Stmt &loop, llvm::ArrayRef<ast::Stmt *> body, bool leaves);
  void terminate(mlir::Block &block, llvm::function_ref<void()> makeTerminator);

  // ---- loops with early exits
  /// The local names of a loop's exit flags: one for the whole loop, one for the current iteration.
  struct Exit {
    llvm::StringRef over, skip;
  };
  bool leavingFor(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds);
  bool leavingWhile(const ast::WhileStmt &stmt);
  /// Emits the loop. `test` returns the condition of the next iteration, `advance` ends an iteration.
  bool leavingLoop(const ast::Stmt &stmt, llvm::ArrayRef<ast::Stmt *> body, llvm::function_ref<Maybe()> test,
                   llvm::function_ref<void()> start, llvm::function_ref<bool()> advance);
  bool markExit(const ast::Stmt &stmt);
  bool markReturn(const ast::ReturnStmt &stmt);
  /// Emits `statements`, of which the first may leave the iteration. The rest run only if it did not.
  Flow mayLeave(llvm::ArrayRef<ast::Stmt *> statements);
  /// Emits the code after a loop from which the function may have returned.
  Flow afterReturn(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result);
  /// True if the innermost loop allows early exits.
  bool mayExit() const { return !loops.empty() && loops.back(); }

  // ---- loop-carried values
  /// Emits the loop's blocks with `emit`, repeatedly if necessary, and lets `close` create the operation around them. The operation's
  /// results are the values of the changed names after the loop.
  bool carryLoop(const ast::Stmt &stmt, llvm::function_ref<bool(LoopState &)> emit,
                 llvm::function_ref<mlir::ValueRange(LoopState &)> close);
  /// Creates the scf.while of two separately emitted blocks. `test` passes `passed` to `body` if `holds` is true; `body` yields `ends`.
  mlir::ValueRange closeWhile(LoopState &state, mlir::Block &test, mlir::Value holds, llvm::ArrayRef<mlir::Value> passed, mlir::Block &body,
                              llvm::ArrayRef<mlir::Value> ends);
  /// Adds an argument to `block` for each value that may be carried, and binds the names to these arguments.
  void enterCarried(const LoopState &state, mlir::Block &block);
  /// Returns the values of the carried names at the end of `block`. Its first `keep` arguments are not carried. Null after an error.
  std::optional<llvm::SmallVector<mlir::Value>> endCarried(LoopState &state, mlir::Block &block, size_t keep);
  bool endConstant(LoopState &state, llvm::StringRef name);
  bool failCarried(const LoopState &state, llvm::StringRef name, const Operand &before, const Operand &after);
  void leaveLoop(LoopState &state, mlir::ValueRange results);

  // ---- expressions
  Maybe expressionWithin(const ast::Expr &expr);
  /// Returns a tuple, or reports that it is too long.
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
  /// Emits the body of a Python function at its call. Returns nothing, without an error, if the function must not be inlined.
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
  /// Emits `left and right` (or `or`) if evaluating `right` binds names: `right` is evaluated only if `left` does not decide.
  Maybe shortCircuit(bool isAnd, const Operand &left, const ast::Expr &right);
  Maybe booleanOp(const ast::BoolOpExpr &expr);
  Maybe conditional(const ast::ConditionalExpr &expr);
  Maybe formatted(const ast::FStringExpr &expr);
  Maybe comprehension(const ast::ComprehensionExpr &expr);
  Maybe constantDict(const ast::DictExpr &expr);
  /// Adds the items of a comprehension, from its loop at nesting depth `depth` on.
  bool comprehensionItems(const ast::ComprehensionExpr &expr, size_t depth, std::vector<Operand> &items);
  /// Binds a comprehension's targets to their values. Unlike an assignment, this keeps constants.
  bool bindTarget(const ast::Expr &target, const Operand &value);
  Maybe runtimeAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  /// Reports an unknown name, with "did you mean" if one of `candidates` is similar.
  std::nullopt_t unknown(SourceRange range, Diag id, std::initializer_list<std::string> args, llvm::StringRef name,
                         const std::vector<std::string> &candidates);
  /// Returns the triton.language name for a host name ("float32", "float8_e4m3fn", "exp"), as kernels write it, or "".
  static std::string inLanguage(llvm::StringRef name);
  std::nullopt_t failHostName(SourceRange range, llvm::StringRef name, const HostValue &host);
  Maybe constantAttribute(const Operand &object, llvm::StringRef name, SourceRange range);
  Maybe descriptorAttribute(const Operand &object, llvm::StringRef name, SourceRange range);

  Locals locals;
  const ast::Expr *unused = nullptr;      // the call of an expression statement
  std::optional<ast::Names> ownNames;     // names that the function binds anywhere: these are never global
  llvm::StringMap<std::string> forgotten; // names that are no longer defined, with the reason
  llvm::StringSet<> annotatedConstexpr;   // `x: tl.constexpr` without a value
  int64_t loopDepth = 0;
  llvm::SmallVector<bool> loops;     // the enclosing loops, innermost last: true if early exits are allowed
  std::vector<Exit> exits;           // of the enclosing loops with early exits
  std::vector<SourceRange> unrolled; // the enclosing static_range loops
  int64_t level = 0, deepest = 0;    // nesting of branches and loops, including called functions
};

/// True if a statement of a loop's body may end the iteration: by break or continue of this loop, or by a return.
bool leavesIteration(const ast::Stmt &stmt);
/// True if a loop's options say early_exit=True.
bool asksForExit(const ast::Stmt &stmt);
/// True for a loop with early exits that contains a return.
bool isLoopWithReturn(const ast::Stmt &stmt);

/// Returns the emitter of a builtin.
BuiltinEmitter emitterOf(const Builtin &builtin);
/// True for builtins and library functions that are also methods of run-time values.
bool isMethod(llvm::StringRef name);

} // namespace tilewright
