// Visits the parts of each kind of node. Functions that collect names, hash or search the tree use it, so none of them can miss a kind of
// expression.
#include "syntax/walk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Casting.h"

namespace tilewright::ast {

using llvm::cast;

namespace {

using VisitExpr = llvm::function_ref<void(const Expr &)>;

void visitAll(const std::vector<Expr *> &parts, VisitExpr visit) {
  for (const Expr *part : parts)
    if (part) visit(*part);
}

void visitEach(std::initializer_list<const Expr *> parts, VisitExpr visit) {
  for (const Expr *part : parts)
    if (part) visit(*part);
}

void visitArguments(const std::vector<Expr *> &args, const std::vector<Keyword> &keywords, VisitExpr visit) {
  visitAll(args, visit);
  for (const Keyword &keyword : keywords)
    visitEach({keyword.value}, visit);
}

void visitDefaults(const std::vector<Parameter> &parameters, VisitExpr visit) {
  for (const Parameter &parameter : parameters)
    visitEach({parameter.defaultValue, parameter.annotation}, visit);
}

void visitComprehension(const ComprehensionExpr &expr, VisitExpr visit) {
  for (const ComprehensionExpr::For &loop : expr.loops) {
    visitEach({loop.iterable, loop.target}, visit);
    visitAll(loop.conditions, visit);
  }
  visitEach({expr.element, expr.value}, visit);
}

} // namespace

// Long: one case for each kind of expression, to be read as a table.
void forEachPart(const Expr &expr, VisitExpr visit) {
  switch (expr.kind) {
  case ExprKind::name:
  case ExprKind::integer:
  case ExprKind::floating:
  case ExprKind::string:
  case ExprKind::boolean:
  case ExprKind::none:
  case ExprKind::ellipsis: return;
  case ExprKind::fstring:
    for (const FStringExpr::Part &part : cast<FStringExpr>(expr).parts)
      visitEach({part.value, part.format}, visit);
    return;
  case ExprKind::tuple: return visitAll(cast<TupleExpr>(expr).elements, visit);
  case ExprKind::list: return visitAll(cast<ListExpr>(expr).elements, visit);
  case ExprKind::set: return visitAll(cast<SetExpr>(expr).elements, visit);
  case ExprKind::dict:
    for (const auto &[key, value] : cast<DictExpr>(expr).items)
      visitEach({key, value}, visit);
    return;
  case ExprKind::attribute: return visit(*cast<AttributeExpr>(expr).object);
  case ExprKind::subscript: return visitEach({cast<SubscriptExpr>(expr).object, cast<SubscriptExpr>(expr).index}, visit);
  case ExprKind::slice: {
    const auto &slice = cast<SliceExpr>(expr);
    return visitEach({slice.lower, slice.upper, slice.step}, visit);
  }
  case ExprKind::call:
    visit(*cast<CallExpr>(expr).callee);
    return visitArguments(cast<CallExpr>(expr).args, cast<CallExpr>(expr).keywords, visit);
  case ExprKind::starred: return visit(*cast<StarredExpr>(expr).value);
  case ExprKind::unary: return visit(*cast<UnaryExpr>(expr).operand);
  case ExprKind::binary: return visitEach({cast<BinaryExpr>(expr).lhs, cast<BinaryExpr>(expr).rhs}, visit);
  case ExprKind::boolean_op: return visitAll(cast<BoolOpExpr>(expr).operands, visit);
  case ExprKind::compare: return visitAll(cast<CompareExpr>(expr).operands, visit);
  case ExprKind::conditional: {
    const auto &choice = cast<ConditionalExpr>(expr);
    return visitEach({choice.condition, choice.then, choice.otherwise}, visit);
  }
  case ExprKind::lambda: visitDefaults(cast<LambdaExpr>(expr).parameters, visit); return visit(*cast<LambdaExpr>(expr).body);
  case ExprKind::comprehension: return visitComprehension(cast<ComprehensionExpr>(expr), visit);
  case ExprKind::named: return visit(*cast<NamedExpr>(expr).value);
  case ExprKind::await: return visitEach({cast<AwaitExpr>(expr).value}, visit);
  case ExprKind::yield: return visitEach({cast<YieldExpr>(expr).value}, visit);
  }
}

// Long: one case for each kind of statement, to be read as a table.
void forEachPart(const Stmt &stmt, VisitExpr visit, llvm::function_ref<void(const Stmt &)> visitStmt) {
  auto block = [&](const Block &statements) {
    for (const Stmt *inner : statements)
      visitStmt(*inner);
  };
  switch (stmt.kind) {
  case StmtKind::expression: return visit(*cast<ExprStmt>(stmt).value);
  case StmtKind::assign: visitEach({cast<AssignStmt>(stmt).value}, visit); return visitAll(cast<AssignStmt>(stmt).targets, visit);
  case StmtKind::augAssign: return visitEach({cast<AugAssignStmt>(stmt).target, cast<AugAssignStmt>(stmt).value}, visit);
  case StmtKind::annAssign: {
    const auto &annotated = cast<AnnAssignStmt>(stmt);
    return visitEach({annotated.value, annotated.target, annotated.annotation}, visit);
  }
  case StmtKind::return_: return visitEach({cast<ReturnStmt>(stmt).value}, visit);
  case StmtKind::pass:
  case StmtKind::break_:
  case StmtKind::continue_:
  case StmtKind::global:
  case StmtKind::import:
  case StmtKind::importFrom: return;
  case StmtKind::delete_: return visitAll(cast<DeleteStmt>(stmt).targets, visit);
  case StmtKind::assert_: return visitEach({cast<AssertStmt>(stmt).condition, cast<AssertStmt>(stmt).message}, visit);
  case StmtKind::raise: return visitEach({cast<RaiseStmt>(stmt).exception, cast<RaiseStmt>(stmt).cause}, visit);
  case StmtKind::if_:
    visit(*cast<IfStmt>(stmt).condition);
    block(cast<IfStmt>(stmt).then);
    return block(cast<IfStmt>(stmt).otherwise);
  case StmtKind::for_:
    visitEach({cast<ForStmt>(stmt).iterable, cast<ForStmt>(stmt).target}, visit);
    block(cast<ForStmt>(stmt).body);
    return block(cast<ForStmt>(stmt).otherwise);
  case StmtKind::while_:
    visit(*cast<WhileStmt>(stmt).condition);
    block(cast<WhileStmt>(stmt).body);
    return block(cast<WhileStmt>(stmt).otherwise);
  case StmtKind::with:
    for (const WithStmt::Item &item : cast<WithStmt>(stmt).items)
      visitEach({item.context, item.target}, visit);
    return block(cast<WithStmt>(stmt).body);
  case StmtKind::try_:
    block(cast<TryStmt>(stmt).body);
    for (const TryStmt::Handler &handler : cast<TryStmt>(stmt).handlers) {
      visitEach({handler.type}, visit);
      block(handler.body);
    }
    block(cast<TryStmt>(stmt).otherwise);
    return block(cast<TryStmt>(stmt).finally);
  case StmtKind::function: {
    const auto &function = cast<FunctionStmt>(stmt);
    visitAll(function.decorators, visit);
    visitDefaults(function.parameters, visit);
    visitEach({function.returns}, visit);
    return block(function.body);
  }
  case StmtKind::class_: {
    const auto &declared = cast<ClassStmt>(stmt);
    visitAll(declared.decorators, visit);
    visitArguments(declared.bases, declared.keywords, visit);
    return block(declared.body);
  }
  case StmtKind::match:
    visit(*cast<MatchStmt>(stmt).subject);
    for (const Block &body : cast<MatchStmt>(stmt).bodies)
      block(body);
    return;
  }
}

namespace {

struct Binder {
  Names names;

  void target(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::name: names.insert(cast<NameExpr>(expr).name); return;
    case ExprKind::tuple:
    case ExprKind::list:
    case ExprKind::starred: return forEachPart(expr, [&](const Expr &part) { target(part); });
    default: return expression(expr);
    }
  }
  void targets(const std::vector<Expr *> &all) {
    for (const Expr *one : all)
      if (one) target(*one);
  }
  void expression(const Expr &expr) {
    if (const auto *lambda = llvm::dyn_cast<LambdaExpr>(&expr)) // its body is a separate scope
      return visitDefaults(lambda->parameters, [&](const Expr &part) { expression(part); });
    if (const auto *named = llvm::dyn_cast<NamedExpr>(&expr)) names.insert(named->name);
    forEachPart(expr, [&](const Expr &part) { expression(part); });
  }
  void imported(const std::vector<ImportAlias> &aliases) {
    for (const ImportAlias &alias : aliases)
      if (alias.path != "*") names.insert(alias.as.empty() ? llvm::StringRef(alias.path).split('.').first : llvm::StringRef(alias.as));
  }
  void statement(const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::assign: targets(cast<AssignStmt>(stmt).targets); break;
    case StmtKind::augAssign: targets({cast<AugAssignStmt>(stmt).target}); break;
    case StmtKind::annAssign: targets({cast<AnnAssignStmt>(stmt).target}); break;
    case StmtKind::delete_: targets(cast<DeleteStmt>(stmt).targets); break;
    case StmtKind::for_: targets({cast<ForStmt>(stmt).target}); break;
    case StmtKind::with:
      for (const WithStmt::Item &item : cast<WithStmt>(stmt).items)
        targets({item.target});
      break;
    case StmtKind::try_:
      for (const TryStmt::Handler &handler : cast<TryStmt>(stmt).handlers)
        if (!handler.name.empty()) names.insert(handler.name);
      break;
    case StmtKind::import: imported(cast<ImportStmt>(stmt).names); break;
    case StmtKind::importFrom: imported(cast<ImportFromStmt>(stmt).names); break;
    case StmtKind::function: { // the body is a separate scope
      const auto &function = cast<FunctionStmt>(stmt);
      names.insert(function.name);
      for (const Expr *decorator : function.decorators)
        expression(*decorator);
      return visitDefaults(function.parameters, [&](const Expr &part) { expression(part); });
    }
    case StmtKind::class_:
      names.insert(cast<ClassStmt>(stmt).name);
      for (const Expr *decorator : cast<ClassStmt>(stmt).decorators)
        expression(*decorator);
      return visitArguments(cast<ClassStmt>(stmt).bases, cast<ClassStmt>(stmt).keywords, [&](const Expr &part) { expression(part); });
    default: break;
    }
    forEachPart(stmt, [&](const Expr &part) { expression(part); }, [&](const Stmt &inner) { statement(inner); });
  }
};

} // namespace

Names boundNames(const std::vector<Stmt *> &statements) {
  Binder binder;
  for (const Stmt *stmt : statements)
    binder.statement(*stmt);
  return std::move(binder.names);
}

Names boundNames(const Stmt &stmt) {
  Binder binder;
  binder.statement(stmt);
  return std::move(binder.names);
}

Names boundNames(const Expr &expr) {
  Binder binder;
  binder.expression(expr);
  return std::move(binder.names);
}

bool containsReturn(const Stmt &stmt) {
  if (stmt.kind == StmtKind::return_) return true;
  if (stmt.kind == StmtKind::function || stmt.kind == StmtKind::class_) return false;
  bool found = false;
  forEachPart(stmt, [](const Expr &) {}, [&](const Stmt &inner) { found = found || containsReturn(inner); });
  return found;
}

} // namespace tilewright::ast
