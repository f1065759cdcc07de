// What a kernel's code depends on, as one hash: the key under which compiled code may be used again.
//
// The syntax tree is written out without places (so comments, blank lines and moved functions change nothing), together with what each
// global name in it means: a constant's value, another function's own text, a builtin's name. Decorators are left out: configurations and
// heuristics reach the code as constants, which are part of the key anyway.
#include "evaluate/builtins.h"
#include "evaluate/evaluate.h"
#include "support/hash.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Casting.h"

namespace tilewright {

namespace {

class DependencyWriter {
public:
  std::string hash(const JitFunction &kernel) {
    function(kernel);
    return hasher.hex();
  }

private:
  Hasher hasher;
  llvm::DenseSet<std::pair<const void *, const void *>> seen; // functions that are written, by their syntax and scope
  Namespace *globals = nullptr;                               // of the function that is being written
  const llvm::StringSet<> *localNames = nullptr;              // its variables

  void put(std::string_view text) { hasher.add(text); }
  void tag(char kind, int64_t what) {
    hasher.add(std::string_view(&kind, 1));
    hasher.addInteger(what);
  }

  void function(const JitFunction &kernel) {
    if (!kernel.decl || !seen.insert({kernel.decl, kernel.globals.get()}).second) return put("again " + kernel.name);
    put("function " + kernel.name + (kernel.noinline_ ? " noinline" : ""));
    for (const JitFunction::Parameter &parameter : kernel.parameters) {
      put(parameter.name);
      put(parameter.isConstexpr ? "constexpr" : parameter.isConst ? "const" : parameter.isVariadic ? "variadic" : "");
      put(parameter.annotation ? signatureName(*parameter.annotation) : "");
      put(parameter.defaultValue ? parameter.defaultValue->repr() : "");
    }
    body(kernel.decl->parameters, *kernel.globals, [&] { block(kernel.decl->body); });
  }

  void plain(const PlainFunction &callable) {
    const void *syntax = callable.decl ? static_cast<const void *>(callable.decl) : callable.lambda;
    if (!seen.insert({syntax, nullptr}).second) return put("again " + callable.functionName);
    put("plain " + callable.functionName);
    for (const ast::Parameter &parameter : callable.parameters()) {
      put(parameter.name);
      auto found = callable.defaults.find(parameter.name);
      put(found == callable.defaults.end() ? "" : found->second.repr());
    }
    std::shared_ptr<Namespace> scope = callable.scope();
    body(callable.parameters(), *scope, [&] { callable.decl ? block(callable.decl->body) : expr(callable.lambda->body); });
  }

  template <typename Write> void body(const std::vector<ast::Parameter> &parameters, Namespace &scope, Write write) {
    llvm::StringSet<> names;
    for (const ast::Parameter &parameter : parameters)
      names.insert(parameter.name);
    Namespace *outerGlobals = globals;
    const llvm::StringSet<> *outerNames = localNames;
    globals = &scope;
    localNames = &names;
    write();
    globals = outerGlobals;
    localNames = outerNames;
  }

  void value(const Value &v) {
    if (std::shared_ptr<const JitFunction> called = v.asFunction()) return function(*called);
    if (auto called = std::dynamic_pointer_cast<const PlainFunction>(v.asCallable())) return plain(*called);
    if (const Sequence *sequence = v.asSequence()) {
      tag('s', static_cast<int64_t>(sequence->items.size()));
      for (const Value &item : sequence->items)
        value(item);
      for (const std::string &field : sequence->fieldNames)
        put(field);
      return;
    }
    put(v.describe() + " " + v.repr());
  }

  // A name means what the scope says, whether or not a local of the same name hides it at this place: at worst the key is too fine.
  void global(const std::string &name) {
    if (localNames->contains(name)) return;
    Diagnostics ignored;
    if (MaybeValue found = globals->lookup(name, ignored)) value(*found);
  }

  /// helper.BLOCK or tl.math.exp: the member is what matters, not all of the module.
  bool member(const ast::AttributeExpr &attribute) {
    std::vector<const ast::AttributeExpr *> chain{&attribute};
    while (const auto *inner = llvm::dyn_cast<ast::AttributeExpr>(chain.back()->object))
      chain.push_back(inner);
    const auto *root = llvm::dyn_cast<ast::NameExpr>(chain.back()->object);
    if (!root || localNames->contains(root->name)) return false;
    Diagnostics ignored;
    MaybeValue current = globals->lookup(root->name, ignored);
    if (!current || !current->asNamespace()) return false;
    put(root->name);
    while (!chain.empty() && current && current->asNamespace()) {
      put(chain.back()->name);
      current = current->asNamespace()->lookup(chain.back()->name, ignored);
      chain.pop_back();
    }
    if (current) value(*current);
    while (!chain.empty()) {
      put(chain.back()->name);
      chain.pop_back();
    }
    return true;
  }

  void exprs(const std::vector<ast::Expr *> &list) {
    tag('l', static_cast<int64_t>(list.size()));
    for (const ast::Expr *e : list)
      expr(e);
  }

  void expr(const ast::Expr *e) {
    using namespace ast;
    if (!e) return put("-");
    tag('e', static_cast<int64_t>(e->kind));
    switch (e->kind) {
    case ExprKind::name: put(llvm::cast<NameExpr>(e)->name); return global(llvm::cast<NameExpr>(e)->name);
    case ExprKind::integer: return put(intToString(llvm::cast<IntegerExpr>(e)->value));
    case ExprKind::floating: return put(floatToString(llvm::cast<FloatExpr>(e)->value));
    case ExprKind::string: return put(llvm::cast<StringExpr>(e)->value);
    case ExprKind::boolean: return put(llvm::cast<BoolExpr>(e)->value ? "1" : "0");
    case ExprKind::none:
    case ExprKind::ellipsis: return;
    case ExprKind::fstring:
      for (const FStringExpr::Part &part : llvm::cast<FStringExpr>(e)->parts) {
        put(part.text);
        tag('c', part.conversion);
        expr(part.value);
        expr(part.format);
      }
      return;
    case ExprKind::tuple: return exprs(llvm::cast<TupleExpr>(e)->elements);
    case ExprKind::list: return exprs(llvm::cast<ListExpr>(e)->elements);
    case ExprKind::set: return exprs(llvm::cast<SetExpr>(e)->elements);
    case ExprKind::dict:
      for (const auto &[key, item] : llvm::cast<DictExpr>(e)->items) {
        expr(key);
        expr(item);
      }
      return;
    case ExprKind::attribute:
      if (member(*llvm::cast<AttributeExpr>(e))) return;
      put(llvm::cast<AttributeExpr>(e)->name);
      return expr(llvm::cast<AttributeExpr>(e)->object);
    case ExprKind::subscript: expr(llvm::cast<SubscriptExpr>(e)->object); return expr(llvm::cast<SubscriptExpr>(e)->index);
    case ExprKind::slice:
      expr(llvm::cast<SliceExpr>(e)->lower);
      expr(llvm::cast<SliceExpr>(e)->upper);
      return expr(llvm::cast<SliceExpr>(e)->step);
    case ExprKind::call:
      expr(llvm::cast<CallExpr>(e)->callee);
      exprs(llvm::cast<CallExpr>(e)->args);
      for (const Keyword &keyword : llvm::cast<CallExpr>(e)->keywords) {
        put(keyword.name);
        expr(keyword.value);
      }
      return;
    case ExprKind::starred: return expr(llvm::cast<StarredExpr>(e)->value);
    case ExprKind::unary: tag('u', static_cast<int64_t>(llvm::cast<UnaryExpr>(e)->op)); return expr(llvm::cast<UnaryExpr>(e)->operand);
    case ExprKind::binary:
      tag('b', static_cast<int64_t>(llvm::cast<BinaryExpr>(e)->op));
      expr(llvm::cast<BinaryExpr>(e)->lhs);
      return expr(llvm::cast<BinaryExpr>(e)->rhs);
    case ExprKind::boolean_op: tag('a', llvm::cast<BoolOpExpr>(e)->isAnd); return exprs(llvm::cast<BoolOpExpr>(e)->operands);
    case ExprKind::compare:
      for (CompareOp op : llvm::cast<CompareExpr>(e)->ops)
        tag('o', static_cast<int64_t>(op));
      return exprs(llvm::cast<CompareExpr>(e)->operands);
    case ExprKind::conditional:
      expr(llvm::cast<ConditionalExpr>(e)->condition);
      expr(llvm::cast<ConditionalExpr>(e)->then);
      return expr(llvm::cast<ConditionalExpr>(e)->otherwise);
    case ExprKind::lambda:
      for (const Parameter &parameter : llvm::cast<LambdaExpr>(e)->parameters) {
        put(parameter.name);
        expr(parameter.defaultValue);
      }
      return expr(llvm::cast<LambdaExpr>(e)->body);
    case ExprKind::comprehension: {
      const auto &comprehension = *llvm::cast<ComprehensionExpr>(e);
      tag('k', static_cast<int64_t>(comprehension.what));
      expr(comprehension.element);
      expr(comprehension.value);
      for (const ComprehensionExpr::For &loop : comprehension.loops) {
        expr(loop.target);
        expr(loop.iterable);
        exprs(loop.conditions);
      }
      return;
    }
    case ExprKind::named: put(llvm::cast<NamedExpr>(e)->name); return expr(llvm::cast<NamedExpr>(e)->value);
    case ExprKind::await: return expr(llvm::cast<AwaitExpr>(e)->value);
    case ExprKind::yield: return expr(llvm::cast<YieldExpr>(e)->value);
    }
  }

  void block(const ast::Block &statements) {
    tag('B', static_cast<int64_t>(statements.size()));
    for (const ast::Stmt *s : statements)
      statement(*s);
  }

  void statement(const ast::Stmt &s) {
    using namespace ast;
    tag('S', static_cast<int64_t>(s.kind));
    switch (s.kind) {
    case StmtKind::expression: {
      const Expr *alone = llvm::cast<ExprStmt>(s).value;
      return llvm::isa<StringExpr>(alone) ? put("text") : expr(alone); // a docstring is a comment
    }
    case StmtKind::assign: exprs(llvm::cast<AssignStmt>(s).targets); return expr(llvm::cast<AssignStmt>(s).value);
    case StmtKind::augAssign:
      tag('b', static_cast<int64_t>(llvm::cast<AugAssignStmt>(s).op));
      expr(llvm::cast<AugAssignStmt>(s).target);
      return expr(llvm::cast<AugAssignStmt>(s).value);
    case StmtKind::annAssign:
      expr(llvm::cast<AnnAssignStmt>(s).target);
      expr(llvm::cast<AnnAssignStmt>(s).annotation);
      return expr(llvm::cast<AnnAssignStmt>(s).value);
    case StmtKind::return_: return expr(llvm::cast<ReturnStmt>(s).value);
    case StmtKind::pass:
    case StmtKind::break_:
    case StmtKind::continue_: return;
    case StmtKind::delete_: return exprs(llvm::cast<DeleteStmt>(s).targets);
    case StmtKind::assert_: expr(llvm::cast<AssertStmt>(s).condition); return expr(llvm::cast<AssertStmt>(s).message);
    case StmtKind::raise: return expr(llvm::cast<RaiseStmt>(s).exception);
    case StmtKind::global:
      for (const std::string &name : llvm::cast<GlobalStmt>(s).names)
        put(name);
      return;
    case StmtKind::import:
      for (const ImportAlias &alias : llvm::cast<ImportStmt>(s).names)
        put(alias.path + " as " + alias.as);
      return;
    case StmtKind::importFrom:
      put(llvm::cast<ImportFromStmt>(s).module);
      for (const ImportAlias &alias : llvm::cast<ImportFromStmt>(s).names)
        put(alias.path + " as " + alias.as);
      return;
    case StmtKind::if_:
      expr(llvm::cast<IfStmt>(s).condition);
      block(llvm::cast<IfStmt>(s).then);
      return block(llvm::cast<IfStmt>(s).otherwise);
    case StmtKind::for_:
      expr(llvm::cast<ForStmt>(s).target);
      expr(llvm::cast<ForStmt>(s).iterable);
      block(llvm::cast<ForStmt>(s).body);
      return block(llvm::cast<ForStmt>(s).otherwise);
    case StmtKind::while_:
      expr(llvm::cast<WhileStmt>(s).condition);
      block(llvm::cast<WhileStmt>(s).body);
      return block(llvm::cast<WhileStmt>(s).otherwise);
    case StmtKind::with:
      for (const WithStmt::Item &item : llvm::cast<WithStmt>(s).items) {
        expr(item.context);
        expr(item.target);
      }
      return block(llvm::cast<WithStmt>(s).body);
    case StmtKind::try_:
      block(llvm::cast<TryStmt>(s).body);
      for (const TryStmt::Handler &handler : llvm::cast<TryStmt>(s).handlers)
        block(handler.body);
      block(llvm::cast<TryStmt>(s).otherwise);
      return block(llvm::cast<TryStmt>(s).finally);
    case StmtKind::function:
      put(llvm::cast<FunctionStmt>(s).name);
      for (const Parameter &parameter : llvm::cast<FunctionStmt>(s).parameters) {
        put(parameter.name);
        expr(parameter.defaultValue);
      }
      return block(llvm::cast<FunctionStmt>(s).body);
    case StmtKind::class_: put(llvm::cast<ClassStmt>(s).name); return block(llvm::cast<ClassStmt>(s).body);
    case StmtKind::match:
      expr(llvm::cast<MatchStmt>(s).subject);
      for (const Block &body : llvm::cast<MatchStmt>(s).bodies)
        block(body);
      return;
    }
  }
};

} // namespace

std::string dependencyHash(const JitFunction &kernel) {
  return DependencyWriter().hash(kernel);
}

} // namespace tilewright
