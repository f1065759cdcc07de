// Loops with early exits: `for i in tl.range(n, early_exit=True)` and `while tl.condition(c, early_exit=True)` may contain break, continue
// and return. Upstream rejects these statements, so a loop must request them.
//
//   for i in tl.range(n, early_exit=True):           over = False; i = 0
//     if bad(i): break                               while not over and i < n:
//     work(i)                                          skip = False
//                                                      if bad(i): over = skip = True
//                                                      if not skip: work(i)
//                                                      i += 1
//
// The flags are local names that no program can contain. Branches and loops merge and carry them like all names. A return leaves all
// enclosing loops, and the code after them runs under `if not returned`.
#include "frontend/emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

static constexpr llvm::StringLiteral overNames[] = {"<over 0>", "<over 1>", "<over 2>", "<over 3>", "<over 4>", "<over 5>"};
static constexpr llvm::StringLiteral skipNames[] = {"<skip 0>", "<skip 1>", "<skip 2>", "<skip 3>", "<skip 4>", "<skip 5>"};
static constexpr llvm::StringLiteral indexNames[] = {"<index 0>", "<index 1>", "<index 2>", "<index 3>", "<index 4>", "<index 5>"};
static constexpr llvm::StringLiteral returnedName = "<returned>";

static bool isLoop(const ast::Stmt &stmt) {
  return isa<ast::ForStmt, ast::WhileStmt>(&stmt);
}

static bool holds(const ast::Stmt &stmt, llvm::function_ref<bool(const ast::Stmt &)> wanted, bool intoLoops) {
  if (wanted(stmt)) return true;
  if (isLoop(stmt) && !intoLoops) return ast::containsReturn(stmt);
  bool found = false;
  ast::forEachPart(stmt, [](const ast::Expr &) {}, [&](const ast::Stmt &inner) { found = found || holds(inner, wanted, intoLoops); });
  return found;
}

bool leavesIteration(const ast::Stmt &stmt) {
  auto leaves = [](const ast::Stmt &inner) {
    return inner.kind == ast::StmtKind::break_ || inner.kind == ast::StmtKind::continue_ || isa<ast::ReturnStmt>(&inner);
  };
  return holds(stmt, leaves, false);
}

bool asksForExit(const ast::Stmt &stmt) {
  const ast::Expr *options = nullptr;
  if (auto *loop = dyn_cast<ast::ForStmt>(&stmt)) options = loop->iterable;
  if (auto *loop = dyn_cast<ast::WhileStmt>(&stmt)) options = loop->condition;
  auto *call = options ? dyn_cast<ast::CallExpr>(options) : nullptr;
  if (!call) return false;
  return llvm::any_of(call->keywords, [](const ast::Keyword &keyword) {
    auto *value = dyn_cast<ast::BoolExpr>(keyword.value);
    return keyword.name == "early_exit" && value && value->value;
  });
}

bool isLoopWithReturn(const ast::Stmt &stmt) {
  return isLoop(stmt) && asksForExit(stmt) && ast::containsReturn(stmt);
}

static Operand truthConstant(bool value) {
  return Operand::of(Value::boolean(value));
}

// A return leaves all enclosing loops, so all of them must allow early exits.
bool Emitter::markReturn(const ast::ReturnStmt &stmt) {
  if (!llvm::all_of(loops, [](bool leaves) { return leaves; })) return ops.failAt(stmt.range, Diag::returnInLoop, {}), false;
  if (stmt.value && !isa<ast::NoneExpr>(stmt.value))
    return refuse(stmt.range, "'return' of a value from inside a loop",
                  "keep the value in a variable, break, and return it after the loop");
  setLocal(returnedName, truthConstant(true));
  for (const Exit &exit : exits)
    setLocal(exit.over, truthConstant(true));
  for (const Exit &exit : exits)
    setLocal(exit.skip, truthConstant(true));
  return true;
}

bool Emitter::markExit(const ast::Stmt &stmt) {
  if (auto *ret = dyn_cast<ast::ReturnStmt>(&stmt)) return markReturn(*ret);
  if (stmt.kind == ast::StmtKind::break_) setLocal(exits.back().over, truthConstant(true));
  setLocal(exits.back().skip, truthConstant(true));
  return true;
}

Emitter::Flow Emitter::mayLeave(llvm::ArrayRef<ast::Stmt *> statements) {
  const ast::Stmt &stmt = *statements.front();
  bool leaves = stmt.kind == ast::StmtKind::break_ || stmt.kind == ast::StmtKind::continue_ || isa<ast::ReturnStmt>(&stmt);
  if (leaves) return markExit(stmt) ? Flow::next : Flow::failed; // the rest is unreachable
  if (!statement(stmt)) return Flow::failed;
  llvm::ArrayRef<ast::Stmt *> rest = statements.drop_front();
  if (rest.empty()) return Flow::next;
  Operand skip = locals.find(exits.back().skip)->second;
  Maybe ignored;
  if (skip.isConstant()) return skip.constant.truth() ? Flow::next : sequence(rest, nullptr, ignored);
  Locals before = locals;
  Arm none = arm(before, [](Arm &) {});
  Arm others = arm(before, rest, nullptr);
  if (others.flow == Flow::failed) return Flow::failed;
  return joinArms(stmt.range, "'if'", skip.handle, none, others) ? Flow::next : Flow::failed;
}

Emitter::Flow Emitter::afterReturn(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result) {
  setLocal(returnedName, truthConstant(false));
  if (!statement(*statements.front())) return Flow::failed;
  Operand returned = locals.find(returnedName)->second;
  locals.erase(returnedName);
  Tail rest{statements.drop_front(), tail};
  if (returned.isConstant()) {
    if (!returned.constant.truth()) return sequence(rest.statements, tail, result);
    result = Operand::none();
    return Flow::returned;
  }
  Locals before = locals;
  Arm none = arm(before, [](Arm &) {});
  Arm others = arm(before, rest.statements, tail);
  if (others.flow == Flow::failed) return Flow::failed;
  if (others.value && !others.value->isNone()) {
    ops.fail(Diag::returnTypes, {"None", others.value->describe()});
    return Flow::failed;
  }
  if (!joinArms(statements.front()->range, "loop", returned.handle, none, others)) return Flow::failed;
  result = Operand::none();
  return Flow::returned;
}

bool Emitter::leavingLoop(const ast::Stmt &stmt, llvm::ArrayRef<ast::Stmt *> statements, llvm::function_ref<Maybe()> goesOn,
                          llvm::function_ref<void()> start, llvm::function_ref<bool()> advance) {
  Exit exit{overNames[exits.size()], skipNames[exits.size()]};
  std::unique_ptr<Block> test, body;
  mlir::Value holds;
  llvm::SmallVector<mlir::Value> passed, ends;
  setLocal(exit.over, *ops.toTensor(truthConstant(false)));
  auto emitTest = [&](LoopState &state) {
    ops.b.setInsertionPointToStart(test.get());
    enterCarried(state, *test);
    Maybe over = ops.truth(locals.find(exit.over)->second);
    if (!over) return false;
    Locals before = locals;
    Arm ends_ = arm(before, [&](Arm &decided) { decided.value = ops.toTensor(truthConstant(false)); });
    Arm asks = arm(before, [&](Arm &asked) {
      asked.value = goesOn();
      if (asked.value) asked.value = ops.truth(*asked.value);
    });
    Maybe value = asks.value ? joinArms(stmt.range, "loop", over->handle, ends_, asks) : std::nullopt;
    if (value) holds = value->handle;
    return value.has_value();
  };
  auto emit = [&](LoopState &state) {
    OpBuilder::InsertionGuard guard(ops.b);
    test = std::make_unique<Block>();
    body = std::make_unique<Block>();
    std::optional<llvm::SmallVector<mlir::Value>> seen = emitTest(state) ? endCarried(state, *test, 0) : std::nullopt;
    if (!seen || !state.decays.empty() || !state.lost.empty()) return seen.has_value();
    passed = std::move(*seen);
    enterCarried(state, *body);
    ops.b.setInsertionPointToStart(body.get());
    setLocal(exit.skip, truthConstant(false));
    start();
    exits.push_back(exit);
    bool good = loopBody(stmt, statements, true);
    exits.pop_back();
    good = good && advance();
    locals.erase(exit.skip);
    std::optional<llvm::SmallVector<mlir::Value>> atEnd = good ? endCarried(state, *body, 0) : std::nullopt;
    if (atEnd) ends = std::move(*atEnd);
    return atEnd.has_value();
  };
  auto close = [&](LoopState &state) { return closeWhile(state, *test, holds, passed, *body, ends); };
  bool good = carryLoop(stmt, emit, close);
  locals.erase(exit.over);
  return good;
}

bool Emitter::leavingWhile(const ast::WhileStmt &stmt) {
  if (exits.size() == std::size(overNames)) return refuse(stmt.range, "deeper nesting of loops with early exits", "");
  auto goesOn = [&] { return condition(*stmt.condition); };
  return leavingLoop(stmt, stmt.body, goesOn, [] {}, [] { return true; });
}

bool Emitter::leavingFor(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> given) {
  if (exits.size() == std::size(overNames)) return refuse(stmt.range, "deeper nesting of loops with early exits", "");
  std::optional<Int> constant = given[2].isConstant() ? given[2].constant.toInt() : std::nullopt;
  if (constant && *constant == 0) return ops.failAt(stmt.iterable->range, Diag::rangeStep, {}), false;
  std::optional<std::vector<Operand>> bounds = commonBounds(given);
  if (!bounds) return false;
  if (!constant) checkStep(bounds->back());
  bool falls = constant && *constant < 0;
  llvm::StringRef index = indexNames[exits.size()], target = cast<ast::NameExpr>(stmt.target)->name;
  setLocal(index, (*bounds)[0]);
  auto goesOn = [&] { return ops.compare(falls ? ast::CompareOp::gt : ast::CompareOp::lt, locals.find(index)->second, (*bounds)[1]); };
  auto start = [&] { setLocal(target, locals.find(index)->second); };
  llvm::StringRef over = overNames[exits.size()];
  auto advance = [&] { // the loop ends if the counter would overflow its type
    Operand now = locals.find(index)->second;
    Maybe next = ops.add(now, (*bounds)[2], /*checked=*/false);
    Maybe wraps = next ? ops.compare(falls ? ast::CompareOp::gt : ast::CompareOp::lt, *next, now) : std::nullopt;
    Maybe ends = wraps ? ops.logical(/*isAnd=*/false, locals.find(over)->second, *wraps) : std::nullopt;
    if (!ends) return false;
    setLocal(index, *next);
    if (!constant || (*constant != 1 && *constant != -1)) setLocal(over, *ends);
    return true;
  };
  bool good = leavingLoop(stmt, stmt.body, goesOn, start, advance);
  locals.erase(index);
  return good;
}

} // namespace tilewright
