// Statements: assignments, branches, returns. A branch on a constexpr selects its arm at compile time. One on a run-time value becomes
// scf.if.

#include "frontend/emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

bool Emitter::refuse(SourceRange range, llvm::StringRef what, llvm::StringRef instead) {
  ops.failAt(range, Diag::unsupportedSyntax, {what.str(), instead.str()});
  return false;
}

void Emitter::setLocal(llvm::StringRef name, Operand value) {
  locals[name] = std::move(value);
  forgotten.erase(name);
}

void Emitter::forget(llvm::StringRef name, std::string why) {
  locals.erase(name);
  forgotten[name] = std::move(why);
}

Emitter::Flow Emitter::sequence(llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail, Maybe &result) {
  for (size_t i = 0; i < statements.size(); ++i) {
    const ast::Stmt &stmt = *statements[i];
    ops.at(stmt.range);
    if (mayExit() && leavesIteration(stmt)) return mayLeave(statements.drop_front(i));
    if (loops.empty() && isLoopWithReturn(stmt)) return afterReturn(statements.drop_front(i), tail, result);
    if (auto *ret = dyn_cast<ast::ReturnStmt>(&stmt)) {
      if (loopDepth > 0 || !unrolled.empty()) {
        ops.fail(Diag::returnInLoop, {});
        return Flow::failed;
      }
      Maybe value = ret->value ? expression(*ret->value) : Maybe(Operand::none());
      if (!value) return Flow::failed;
      result = std::move(value);
      return Flow::returned;
    }
    if (auto *branch = dyn_cast<ast::IfStmt>(&stmt); branch && loopDepth == 0 && unrolled.empty() && ast::containsReturn(stmt)) {
      Tail rest{statements.drop_front(i + 1), tail};
      return returningIf(*branch, &rest, result);
    }
    if (!statement(stmt)) return Flow::failed;
  }
  return tail ? sequence(tail->statements, tail->next, result) : Flow::next;
}

static llvm::StringRef describeStatement(ast::StmtKind kind) {
  switch (kind) {
  case ast::StmtKind::delete_: return "'del'";
  case ast::StmtKind::raise: return "'raise'";
  case ast::StmtKind::global: return "'global'";
  case ast::StmtKind::with: return "'with'";
  case ast::StmtKind::try_: return "'try'";
  case ast::StmtKind::function: return "a nested function";
  case ast::StmtKind::class_: return "a class";
  case ast::StmtKind::match: return "'match'";
  default: return "this statement";
  }
}

static bool isConstexprAnnotation(const ast::Expr &expr) {
  if (auto *attribute = dyn_cast<ast::AttributeExpr>(&expr)) return attribute->name == "constexpr";
  if (auto *name = dyn_cast<ast::NameExpr>(&expr)) return name->name == "constexpr";
  if (auto *text = dyn_cast<ast::StringExpr>(&expr)) return llvm::StringRef(text->value).ends_with("constexpr");
  return false;
}

bool Emitter::assertion(const ast::AssertStmt &stmt) {
  CallArguments args{stmt.range, {}, {}, {}};
  for (const ast::Expr *expr : {stmt.condition, stmt.message}) {
    if (!expr) continue;
    Maybe value = expression(*expr);
    if (!value) return false;
    args.positional.push_back(*value);
    args.ranges.push_back(expr->range);
  }
  bool known = function.isHelper && args.positional[0].value(); // Python's assert on a constant
  return callBuiltin(*findBuiltin(known ? "static_assert" : "device_assert"), std::move(args)).has_value();
}

// A name in the tree of a kernel in C++ (api/kernel_trace.h). It is not an identifier, and not shown to users.
static bool isTraced(llvm::StringRef name) {
  return name.contains('%');
}

// A kernel in C++ has static types: its annotations. They agree with the compiler's, or tilewright/language.h has a bug.
static bool hasExpectedType(Semantics &ops, const ast::AnnAssignStmt &stmt, const Operand &value) {
  auto *expected = dyn_cast<ast::StringExpr>(stmt.annotation);
  std::string type = value.languageType().str();
  if (!expected || expected->value == type) return true;
  ops.failAt(stmt.range, Diag::internalError,
             {"emit-tiles", "C++ has computed the type " + expected->value + " for this value, and the compiler " + type,
              "unless TILEWRIGHT_TRITON_VERSION is set: kernels in C++ follow the rules of 3.9"});
  return false;
}

bool Emitter::statement(const ast::Stmt &stmt) {
  if (!step(stmt.range)) return false;
  ops.at(stmt.range);
  switch (stmt.kind) {
  case ast::StmtKind::pass: return true;
  case ast::StmtKind::expression: {
    const ast::Expr &value = *cast<ast::ExprStmt>(stmt).value;
    unused = &value;
    return isa<ast::StringExpr>(value) || expression(value).has_value();
  }
  case ast::StmtKind::assign: {
    const auto &assignment = cast<ast::AssignStmt>(stmt);
    Maybe value = expression(*assignment.value);
    if (!value) return false;
    for (const ast::Expr *target : assignment.targets)
      if (!assign(*target, *value)) return false;
    return true;
  }
  case ast::StmtKind::augAssign: {
    const auto &assignment = cast<ast::AugAssignStmt>(stmt);
    Maybe left = expression(*assignment.target), right = left ? expression(*assignment.value) : std::nullopt;
    if (!left || !right) return false;
    Maybe value = binary(assignment.op, *left, *right, stmt.range);
    return value && assign(*assignment.target, *value);
  }
  case ast::StmtKind::annAssign: {
    const auto &assignment = cast<ast::AnnAssignStmt>(stmt);
    auto *target = dyn_cast<ast::NameExpr>(assignment.target);
    bool isConstexpr = isConstexprAnnotation(*assignment.annotation);
    if (!assignment.value) {
      if (target && isConstexpr) annotatedConstexpr.insert(target->name);
      return true;
    }
    Maybe value = expression(*assignment.value);
    if (!value) return false;
    if (target && !isConstexpr && isTraced(target->name))
      return assign(*target, *value) && hasExpectedType(ops, assignment, locals[target->name]);
    if (!isConstexpr || !target) return assign(*assignment.target, *value);
    std::optional<Value> constant = value->value();
    if (!constant) return assign(*target, *value); // as upstream: the annotation does not convert
    if (locals.count(target->name) && unrolled.empty()) {
      ops.failAt(target->range, Diag::constexprRedefined, {target->name});
      return false;
    }
    setLocal(target->name, Operand::of(*constant));
    return true;
  }
  case ast::StmtKind::assert_: return assertion(cast<ast::AssertStmt>(stmt));
  case ast::StmtKind::if_: return ifStatement(cast<ast::IfStmt>(stmt));
  case ast::StmtKind::for_: return forLoop(cast<ast::ForStmt>(stmt));
  case ast::StmtKind::while_: return whileLoop(cast<ast::WhileStmt>(stmt));
  case ast::StmtKind::break_:
  case ast::StmtKind::continue_: ops.fail(Diag::loopExit, {stmt.kind == ast::StmtKind::break_ ? "break" : "continue"}); return false;
  case ast::StmtKind::import:
  case ast::StmtKind::importFrom: return refuse(stmt.range, "'import'", "write it at the top of the file");
  default: return refuse(stmt.range, describeStatement(stmt.kind), "");
  }
}

// ---- assignment

bool Emitter::assign(const ast::Expr &target, const Operand &value) {
  if (auto *name = dyn_cast<ast::NameExpr>(&target)) {
    bool keep = function.isHelper || (annotatedConstexpr.contains(name->name) && value.value());
    Maybe decayed = keep ? Maybe(value) : ops.decay(value);
    if (!decayed) return false;
    // The location of an operation carries the name of the variable that it defines, for dumps and messages.
    if (decayed->isRuntime() && !isTraced(name->name))
      if (Operation *op = decayed->handle.getDefiningOp(); op && op->getNumResults() == 1 && !isa<NameLoc>(op->getLoc()))
        op->setLoc(NameLoc::get(ops.b.getStringAttr(name->name), op->getLoc()));
    setLocal(name->name, std::move(*decayed));
    return true;
  }
  llvm::ArrayRef<ast::Expr *> targets;
  if (auto *tuple = dyn_cast<ast::TupleExpr>(&target))
    targets = tuple->elements;
  else if (auto *list = dyn_cast<ast::ListExpr>(&target))
    targets = list->elements;
  else if (isa<ast::SubscriptExpr>(target))
    return refuse(target.range, "assignment to an element", "build a new tile, for example with tl.where; tl.store writes to memory");
  else
    return assignField(cast<ast::AttributeExpr>(target), value);
  for (const ast::Expr *each : targets)
    if (isa<ast::StarredExpr>(each)) return refuse(each->range, "a target with '*'", "take the rest by a slice, as in rest = values[1:]");
  if (!value.isTuple()) {
    ops.failAt(target.range, Diag::unpackTargets, {value.describe(), std::to_string(targets.size())});
    return false;
  }
  if (value.items.size() != targets.size()) {
    ops.failAt(target.range, Diag::unpackTargets, {value.describe(), std::to_string(targets.size())});
    return false;
  }
  for (size_t i = 0; i < targets.size(); ++i)
    if (!assign(*targets[i], value.items[i])) return false;
  return true;
}

// ---- branches

Maybe Emitter::condition(const ast::Expr &expr) {
  Maybe value = expression(expr);
  if (!value) return std::nullopt;
  ops.at(expr.range);
  if (!value->isRuntime()) {
    if (value->isTuple()) return Operand::of(Value::boolean(!value->items.empty()));
    if (!value->isConstant() || !(value->isNumber() || value->isNone() || value->constant.asString()))
      return ops.fail(Diag::conditionType, {value->describe()});
    return Operand::of(Value::boolean(value->constant.truth()));
  }
  if (value->isBlock()) {
    if (value->type.elements() != 1) return ops.fail(Diag::ambiguousCondition, {value->type.str()});
    value = ops.item(*value);
  }
  return ops.truth(*value);
}

Emitter::Arm Emitter::arm(const Locals &before, llvm::function_ref<void(Arm &)> emit) {
  Arm result;
  result.block = std::make_unique<Block>();
  OpBuilder::InsertionGuard guard(ops.b);
  ops.b.setInsertionPointToStart(result.block.get());
  locals = before;
  deepest = std::max(deepest, ++level);
  emit(result);
  --level;
  result.locals = std::move(locals);
  locals = before;
  return result;
}

Emitter::Arm Emitter::arm(const Locals &before, llvm::ArrayRef<ast::Stmt *> statements, const Tail *tail) {
  return arm(before, [&](Arm &result) { result.flow = sequence(statements, tail, result.value); });
}

static void yieldAtEnd(ImplicitLocOpBuilder &b, Block &block, ValueRange values) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  scf::YieldOp::create(b, values);
}

// Creates an scf.if around two finished blocks, which yield `thenValues` and `elseValues`.
static scf::IfOp makeIf(ImplicitLocOpBuilder &b, mlir::Value condition, Block &thenBlock, Block &elseBlock, ValueRange thenValues,
                        ValueRange elseValues) {
  bool withElse = !thenValues.empty() || !elseBlock.empty();
  auto op = scf::IfOp::create(b, TypeRange(thenValues), condition, /*addThenBlock=*/true, /*addElseBlock=*/withElse);
  auto fill = [&](Block &into, Block &from, ValueRange values) {
    into.clear();
    into.getOperations().splice(into.end(), from.getOperations());
    yieldAtEnd(b, into, values);
  };
  fill(op.getThenRegion().front(), thenBlock, thenValues);
  if (withElse) fill(op.getElseRegion().front(), elseBlock, elseValues);
  return op;
}

bool Emitter::ifStatement(const ast::IfStmt &stmt) {
  Maybe test = condition(*stmt.condition);
  if (!test) return false;
  Maybe ignored;
  if (test->isConstant()) return sequence(test->constant.truth() ? stmt.then : stmt.otherwise, nullptr, ignored) != Flow::failed;
  Locals before = locals;
  Arm thenArm = arm(before, stmt.then, nullptr);
  if (thenArm.flow == Flow::failed) return false;
  Arm elseArm = arm(before, stmt.otherwise, nullptr);
  if (elseArm.flow == Flow::failed) return false;
  return joinArms(stmt.range, "'if'", test->handle, thenArm, elseArm).has_value();
}

// Returns the names that an arm may change: those from before the branch, in order, then those that both arms define.
std::vector<llvm::StringRef> Emitter::namesAfter(const Arm &thenArm, const Arm &elseArm, const std::string &where) {
  std::vector<llvm::StringRef> names, fresh;
  for (auto &[name, value] : locals)
    names.push_back(name);
  for (const Arm *arm : {&thenArm, &elseArm}) {
    const Arm &other = arm == &thenArm ? elseArm : thenArm;
    for (auto &[name, value] : arm->locals) {
      if (locals.count(name)) continue;
      if (!other.locals.count(name))
        forgotten[name] = where;
      else if (arm == &thenArm)
        fresh.push_back(name);
    }
  }
  std::sort(fresh.begin(), fresh.end());
  names.insert(names.end(), fresh.begin(), fresh.end());
  return names;
}

// If one arm has a constexpr and the other arm another constexpr or a run-time value, converts both to run-time values of one type.
bool Emitter::agree(Arm &thenArm, Operand &left, Arm &elseArm, Operand &right) {
  if (sameType(left, right)) return true;
  if (left.isTuple() && right.isTuple() && left.items.size() == right.items.size()) {
    for (size_t i = 0; i < left.items.size(); ++i)
      if (!agree(thenArm, left.items[i], elseArm, right.items[i])) return false;
    return sameType(left, right);
  }
  for (auto [side, block] : {std::pair(&left, thenArm.block.get()), std::pair(&right, elseArm.block.get())}) {
    if (!side->isNumber()) continue;
    OpBuilder::InsertionGuard guard(ops.b);
    ops.b.setInsertionPointToEnd(block);
    Maybe tensor = ops.toTensor(*side);
    if (!tensor) return false;
    *side = *tensor;
  }
  return sameType(left, right);
}

// On entry, the locals are those before both arms. On return, they are those after both arms.
Maybe Emitter::joinArms(SourceRange range, llvm::StringRef what, mlir::Value test, Arm &thenArm, Arm &elseArm) {
  ops.at(range);
  std::string where = "in one arm of the " + what.str() + " on line " + std::to_string(range.file->position(range.begin).line);
  llvm::SmallVector<mlir::Value> thenHandles, elseHandles;
  std::vector<std::pair<llvm::StringRef, Operand>> merged;
  Locals after = locals;
  for (llvm::StringRef name : namesAfter(thenArm, elseArm, where)) {
    auto inThen = thenArm.locals.find(name), inElse = elseArm.locals.find(name);
    if (inThen == thenArm.locals.end() || inElse == elseArm.locals.end()) { // a loop variable that is undefined after an arm
      after.erase(name);
      forgotten.try_emplace(name, where);
      continue;
    }
    Operand &left = inThen->second, &right = inElse->second;
    llvm::SmallVector<mlir::Value> leftHandles, rightHandles;
    flatten(left, leftHandles);
    flatten(right, rightHandles);
    bool same = sameType(left, right);
    if (same && leftHandles == rightHandles) {
      after[name] = left;
      continue;
    }
    if (!same && !agree(thenArm, left, elseArm, right))
      return ops.fail(Diag::branchTypes, {name.str(), left.describeWhole(), right.describeWhole()});
    flatten(left, thenHandles);
    flatten(right, elseHandles);
    merged.push_back({name, left});
  }
  Operand value = thenArm.value.value_or(Operand::none());
  flatten(value, thenHandles);
  if (elseArm.value) flatten(*elseArm.value, elseHandles);
  scf::IfOp op = makeIf(ops.b, test, *thenArm.block, *elseArm.block, thenHandles, elseHandles);
  llvm::SmallVector<mlir::Value> results(op.getResults());
  llvm::ArrayRef<mlir::Value> rest = results;
  locals = std::move(after);
  for (auto &[name, shape] : merged)
    setLocal(name, rebuild(shape, rest));
  return rebuild(value, rest);
}

// Emits an `if` that contains a return. The code after the `if` is emitted into each arm that does not return, so that every path ends with
// the function's value.
Emitter::Flow Emitter::returningIf(const ast::IfStmt &stmt, const Tail *tail, Maybe &result) {
  Maybe test = condition(*stmt.condition);
  if (!test) return Flow::failed;
  if (test->isConstant()) return sequence(test->constant.truth() ? stmt.then : stmt.otherwise, tail, result);

  Locals before = locals;
  Arm thenArm = arm(before, stmt.then, tail);
  if (thenArm.flow == Flow::failed) return Flow::failed;
  Arm elseArm = arm(before, stmt.otherwise, tail);
  if (elseArm.flow == Flow::failed) return Flow::failed;
  ops.at(stmt.range);

  Operand thenValue = thenArm.value.value_or(Operand::none()), elseValue = elseArm.value.value_or(Operand::none());
  // A path without a return, in a function that returns a value, may return any value.
  auto anyValue = [&](const Operand &like, Block &block) {
    OpBuilder::InsertionGuard guard(ops.b);
    ops.b.setInsertionPointToEnd(&block);
    llvm::SmallVector<mlir::Value> handles, poison;
    flatten(like, handles);
    for (mlir::Value handle : handles)
      poison.push_back(ub::PoisonOp::create(ops.b, handle.getType()).getResult());
    llvm::ArrayRef<mlir::Value> rest = poison;
    return rebuild(like, rest);
  };
  if (!thenArm.value && elseArm.value) thenValue = anyValue(elseValue, *thenArm.block);
  if (thenArm.value && !elseArm.value) elseValue = anyValue(thenValue, *elseArm.block);
  if (!agree(thenArm, thenValue, elseArm, elseValue)) {
    ops.fail(Diag::returnTypes, {thenValue.describe(), elseValue.describe()});
    return Flow::failed;
  }
  llvm::SmallVector<mlir::Value> thenHandles, elseHandles;
  flatten(thenValue, thenHandles);
  flatten(elseValue, elseHandles);
  scf::IfOp op = makeIf(ops.b, test->handle, *thenArm.block, *elseArm.block, thenHandles, elseHandles);
  llvm::SmallVector<mlir::Value> results(op.getResults());
  llvm::ArrayRef<mlir::Value> rest = results;
  result = rebuild(thenValue, rest);
  return Flow::returned;
}

} // namespace tilewright
