// The names of a kernel file, found without running it.
//
// A module's statements are read once into a table of which statement binds which name. A name is evaluated when it is
// looked up, with the value that Python would give it there: a top-level expression sees the statements above it, a function
// sees the module after its last statement. So only the code that a kernel uses is evaluated, and host code around it is not.
//   configs = []                                  binds configs
//   for m in (64, 128): configs.append(...)       binds configs again: run on a copy of the previous value
//   if is_hip(): ...                              its statements count if the condition is true; a condition of host code is undecided
// Functions of a scope refer to it without owning it; values that `lookup`
// returns own the scope. So there are no reference cycles and no leaks.
#include "evaluate/evaluate.h"
#include "evaluate/imports.h"
#include "support/files.h"
#include "syntax/parser.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/Path.h"

#include <mutex>

namespace tilewright {

namespace {

/// A condition under which a statement counts: an arm of an `if` or of a `try`.
struct Guard {
  const ast::Stmt *stmt;
  bool firstArm;
};

/// One statement that gives a name a value.
struct Binding {
  const ast::Stmt *stmt;
  int64_t order; // of the statement in the file
  std::vector<Guard> guards;
  int64_t alias = -1; // of an import: which of its names
  bool run = false;   // the statement runs in its own frame; otherwise only its value is evaluated
  bool evaluating = false;
  MaybeValue value;
};

enum class Answer { yes, no, unknown };

bool isMutator(llvm::StringRef method) {
  constexpr llvm::StringLiteral names[] = {"append",  "extend", "insert", "pop",    "remove",     "sort",
                                           "reverse", "clear",  "add",    "update", "setdefault", "discard"};
  return llvm::is_contained(names, method);
}

const ast::NameExpr *rootName(const ast::Expr *expr) {
  while (true) {
    if (const auto *subscript = llvm::dyn_cast<ast::SubscriptExpr>(expr))
      expr = subscript->object;
    else if (const auto *attribute = llvm::dyn_cast<ast::AttributeExpr>(expr))
      expr = attribute->object;
    else
      return llvm::dyn_cast<ast::NameExpr>(expr);
  }
}

/// The names that statements bind and those whose lists and dicts they change in place.
struct Effects {
  llvm::StringSet<> bound, changed;

  void target(const ast::Expr &expr) {
    if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr))
      bound.insert(name->name);
    else if (const auto *starred = llvm::dyn_cast<ast::StarredExpr>(&expr))
      target(*starred->value);
    else if (const auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr))
      llvm::for_each(tuple->elements, [&](const ast::Expr *part) { target(*part); });
    else if (const auto *list = llvm::dyn_cast<ast::ListExpr>(&expr))
      llvm::for_each(list->elements, [&](const ast::Expr *part) { target(*part); });
    else if (const auto *subscript = llvm::dyn_cast<ast::SubscriptExpr>(&expr))
      if (const ast::NameExpr *root = rootName(subscript)) changed.insert(root->name);
  }
  void block(const ast::Block &statements) {
    for (const ast::Stmt *stmt : statements)
      statement(*stmt);
  }
  void statement(const ast::Stmt &stmt) {
    using namespace ast;
    switch (stmt.kind) {
    case StmtKind::expression: {
      const auto *call = llvm::dyn_cast<CallExpr>(llvm::cast<ExprStmt>(stmt).value);
      const auto *method = call ? llvm::dyn_cast<AttributeExpr>(call->callee) : nullptr;
      if (const NameExpr *root = method && isMutator(method->name) ? rootName(method->object) : nullptr) changed.insert(root->name);
      return;
    }
    case StmtKind::assign:
      for (const Expr *expr : llvm::cast<AssignStmt>(stmt).targets)
        target(*expr);
      return;
    case StmtKind::augAssign:
      if (const NameExpr *root = rootName(llvm::cast<AugAssignStmt>(stmt).target)) changed.insert(root->name);
      return;
    case StmtKind::annAssign:
      if (llvm::cast<AnnAssignStmt>(stmt).value) target(*llvm::cast<AnnAssignStmt>(stmt).target);
      return;
    case StmtKind::for_:
      target(*llvm::cast<ForStmt>(stmt).target);
      block(llvm::cast<ForStmt>(stmt).body);
      return block(llvm::cast<ForStmt>(stmt).otherwise);
    case StmtKind::while_: block(llvm::cast<WhileStmt>(stmt).body); return block(llvm::cast<WhileStmt>(stmt).otherwise);
    case StmtKind::if_: block(llvm::cast<IfStmt>(stmt).then); return block(llvm::cast<IfStmt>(stmt).otherwise);
    case StmtKind::with: return block(llvm::cast<WithStmt>(stmt).body);
    case StmtKind::try_:
      block(llvm::cast<TryStmt>(stmt).body);
      for (const TryStmt::Handler &handler : llvm::cast<TryStmt>(stmt).handlers)
        block(handler.body);
      block(llvm::cast<TryStmt>(stmt).otherwise);
      return block(llvm::cast<TryStmt>(stmt).finally);
    case StmtKind::function: bound.insert(llvm::cast<FunctionStmt>(stmt).name); return;
    case StmtKind::class_: bound.insert(llvm::cast<ClassStmt>(stmt).name); return;
    default: return;
    }
  }
};

// Evaluation fills caches, and several threads may launch kernels of one scope. Scopes ask one another, so they share one lock.
std::recursive_mutex &scopeLock() {
  static std::recursive_mutex lock;
  return lock;
}

class ModuleScope final : public FileScope {
public:
  ModuleScope(std::shared_ptr<const ast::Module> module, std::shared_ptr<ModuleTable> table, std::shared_ptr<ModuleTable> ownedTable)
      : FileScope(std::move(module), table, std::move(ownedTable)) {
    read(this->module()->body, {});
  }

  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    std::lock_guard<std::recursive_mutex> lock(scopeLock());
    Budget budget;
    return owning(lookupBefore(name, INT64_MAX, diagnostics));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto &entry : bindings)
      all.push_back(entry.first().str());
    return all;
  }

  /// The value of `name` as a statement at position `order` sees it.
  MaybeValue lookupBefore(llvm::StringRef name, int64_t order, Diagnostics &diagnostics);

  const std::vector<const ast::FunctionStmt *> &functions() const { return functionsInOrder; }

private:
  MaybeValue throughStars(llvm::StringRef name, int64_t order, Diagnostics &diagnostics);
  void read(const ast::Block &block, const std::vector<Guard> &guards);
  void readOne(const ast::Stmt &stmt, const std::vector<Guard> &guards);
  void bind(llvm::StringRef name, const ast::Stmt &stmt, const std::vector<Guard> &guards, int64_t alias, bool run);
  Answer holds(const Guard &guard, int64_t order);
  void runInOrder(llvm::StringRef name, std::vector<Binding> &all, int64_t order);
  bool bodyFails(const ast::TryStmt &stmt);
  /// True if a statement is like `name = tl.math.tanh` and the language has no such member.
  bool namesWhatIsMissing(const Binding &binding);
  /// The value of a name if host code decides which of these statements runs: the value that all of them give. A statement
  /// that imports or names something that does not exist does not count: if it ran, the file could not be imported.
  MaybeValue onlyValue(llvm::StringRef name, llvm::ArrayRef<Binding *> open);
  /// Null, without an error, if the statement does not bind the name.
  MaybeValue valueOf(llvm::StringRef name, Binding &binding, Diagnostics &diagnostics);
  MaybeValue imported(const Binding &binding, Diagnostics &diagnostics);
  MaybeValue runStatement(llvm::StringRef name, const Binding &binding, Diagnostics &diagnostics);

  std::shared_ptr<Namespace> unowned() { return std::shared_ptr<Namespace>(std::shared_ptr<void>(), this); }

  /// A value that leaves the scope keeps the scope alive.
  MaybeValue owning(MaybeValue value) {
    std::shared_ptr<Namespace> self = weak_from_this().lock();
    if (!value || !self) return value;
    if (std::shared_ptr<const JitFunction> function = value->asFunction(); function && function->module == module()) {
      auto both = std::make_shared<std::pair<std::shared_ptr<Namespace>, std::shared_ptr<const JitFunction>>>(self, function);
      return Value::function(std::shared_ptr<const JitFunction>(both, function.get()));
    }
    if (auto function = std::dynamic_pointer_cast<const PlainFunction>(value->asCallable()); function && function->module == module()) {
      auto both = std::make_shared<std::pair<std::shared_ptr<Namespace>, std::shared_ptr<const PlainFunction>>>(self, function);
      return Value::callable(std::shared_ptr<const PlainFunction>(both, function.get()));
    }
    if (std::shared_ptr<Namespace> type = value->asNamespace(); type && type->classInfo()) {
      auto both = std::make_shared<std::pair<std::shared_ptr<Namespace>, std::shared_ptr<Namespace>>>(self, type);
      return Value::nameSpace(std::shared_ptr<Namespace>(both, type.get()));
    }
    return value;
  }
  /// A value that stays here does not: it refers to a function that another binding holds, without owning it.
  MaybeValue unowning(MaybeValue value) const {
    std::shared_ptr<const JitFunction> function = value ? value->asFunction() : nullptr;
    if (function && held.contains(function.get()))
      return Value::function(std::shared_ptr<const JitFunction>(std::shared_ptr<void>(), function.get()));
    return value;
  }

  llvm::StringMap<std::vector<Binding>> bindings;
  llvm::DenseSet<const JitFunction *> held; // the functions of this module that bindings own
  std::vector<std::pair<const ast::ImportFromStmt *, int64_t>> starImports;
  std::vector<const ast::FunctionStmt *> functionsInOrder;
  llvm::DenseMap<const ast::Stmt *, llvm::StringMap<Value>> ran;
  llvm::DenseMap<const ast::Stmt *, Answer> conditions;
  llvm::DenseMap<const ast::Stmt *, int64_t> orders;
  int64_t nextOrder = 0;
};

/// The module as one of its top-level statements sees it.
class ScopeView : public Namespace {
public:
  ScopeView(ModuleScope &scope, int64_t order) : scope(scope), order(order) {}
  std::string path() const override { return scope.path(); }
  std::vector<std::string> names() const override { return scope.names(); }
  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override { return scope.lookupBefore(name, order, diagnostics); }

private:
  ModuleScope &scope;
  int64_t order;
};

void ModuleScope::bind(llvm::StringRef name, const ast::Stmt &stmt, const std::vector<Guard> &guards, int64_t alias, bool run) {
  Binding binding;
  binding.stmt = &stmt;
  binding.order = orders.lookup(&stmt);
  binding.guards = guards;
  binding.alias = alias;
  binding.run = run;
  bindings[name].push_back(std::move(binding));
}

void ModuleScope::read(const ast::Block &block, const std::vector<Guard> &guards) {
  for (const ast::Stmt *stmt : block)
    readOne(*stmt, guards);
}

static std::vector<Guard> guardedBy(std::vector<Guard> guards, const ast::Stmt &stmt, bool firstArm) {
  guards.push_back({&stmt, firstArm});
  return guards;
}

void ModuleScope::readOne(const ast::Stmt &stmt, const std::vector<Guard> &guards) {
  using namespace ast;
  orders[&stmt] = nextOrder++;
  auto under = [&](bool firstArm) { return guardedBy(guards, stmt, firstArm); };
  switch (stmt.kind) {
  case StmtKind::if_:
    read(llvm::cast<IfStmt>(stmt).then, under(true));
    read(llvm::cast<IfStmt>(stmt).otherwise, under(false));
    return;
  case StmtKind::try_: {
    const auto &attempt = llvm::cast<TryStmt>(stmt);
    read(attempt.body, under(true));
    for (const TryStmt::Handler &handler : attempt.handlers)
      read(handler.body, under(false));
    read(attempt.otherwise, under(true));
    read(attempt.finally, guards);
    return;
  }
  case StmtKind::with: read(llvm::cast<WithStmt>(stmt).body, guards); return;
  case StmtKind::function:
    functionsInOrder.push_back(llvm::cast<FunctionStmt>(&stmt));
    bind(llvm::cast<FunctionStmt>(stmt).name, stmt, guards, -1, false);
    return;
  case StmtKind::class_: bind(llvm::cast<ClassStmt>(stmt).name, stmt, guards, -1, false); return;
  case StmtKind::import:
    for (auto [i, alias] : llvm::enumerate(llvm::cast<ImportStmt>(stmt).names))
      bind(alias.as.empty() ? llvm::StringRef(alias.path).split('.').first : llvm::StringRef(alias.as), stmt, guards,
           static_cast<int64_t>(i), false);
    return;
  case StmtKind::importFrom:
    for (auto [i, alias] : llvm::enumerate(llvm::cast<ImportFromStmt>(stmt).names))
      if (alias.path == "*")
        starImports.emplace_back(llvm::cast<ImportFromStmt>(&stmt), orders[&stmt]);
      else
        bind(alias.as.empty() ? alias.path : alias.as, stmt, guards, static_cast<int64_t>(i), false);
    return;
  case StmtKind::assign: {
    const auto &assignment = llvm::cast<AssignStmt>(stmt);
    if (const auto *name = assignment.targets.size() == 1 ? llvm::dyn_cast<NameExpr>(assignment.targets[0]) : nullptr)
      return bind(name->name, stmt, guards, -1, false);
    break;
  }
  case StmtKind::annAssign: {
    const auto &annotated = llvm::cast<AnnAssignStmt>(stmt);
    const auto *name = llvm::dyn_cast<NameExpr>(annotated.target);
    if (name && annotated.value) return bind(name->name, stmt, guards, -1, false);
    break;
  }
  default: break;
  }
  Effects effects;
  effects.statement(stmt);
  for (const auto &name : effects.bound)
    bind(name.first(), stmt, guards, -1, true);
  for (const auto &name : effects.changed)
    if (!effects.bound.contains(name.first())) bind(name.first(), stmt, guards, -1, true);
}

bool ModuleScope::bodyFails(const ast::TryStmt &stmt) {
  return llvm::any_of(stmt.body, [&](const ast::Stmt *inner) { return importFails(*this, *inner); });
}

Answer ModuleScope::holds(const Guard &guard, int64_t order) {
  auto known = conditions.find(guard.stmt);
  Answer first = known == conditions.end() ? Answer::unknown : known->second;
  if (known == conditions.end()) {
    conditions[guard.stmt] = Answer::unknown; // while it is evaluated: a condition that depends on itself stays open
    if (const auto *attempt = llvm::dyn_cast<ast::TryStmt>(guard.stmt)) {
      first = bodyFails(*attempt) ? Answer::no : Answer::yes;
    } else {
      Diagnostics trial; // if a condition cannot be evaluated, host code decides it
      ScopeView view(*this, orders.lookup(guard.stmt));
      Evaluator evaluator(view, unowned(), nullptr, trial);
      MaybeValue value = evaluator.eval(*llvm::cast<ast::IfStmt>(guard.stmt)->condition);
      first = !value || value->asHost() ? Answer::unknown : value->truth() ? Answer::yes : Answer::no;
    }
    conditions[guard.stmt] = first;
  }
  if (first == Answer::unknown || guard.firstArm) return first;
  return first == Answer::yes ? Answer::no : Answer::yes;
}

// Consecutive statements, such as `configs.append(...)`, run in one frame, instead of each on
// a copy of the previous one's result. A mistake in one of them is reported when that one is evaluated by itself.
void ModuleScope::runInOrder(llvm::StringRef name, std::vector<Binding> &all, int64_t order) {
  auto end = llvm::find_if(all, [&](const Binding &binding) { return binding.order >= order; });
  auto inRow = [&](const Binding &binding) {
    if (!binding.run || !binding.guards.empty() || binding.value || binding.evaluating) return false;
    return binding.stmt->kind == ast::StmtKind::expression;
  };
  auto begin = end;
  while (begin != all.begin() && inRow(*std::prev(begin)))
    --begin;
  constexpr int64_t few = 8;
  if (end - begin <= few) return;
  Diagnostics trial;
  MaybeValue before = lookupBefore(name, begin->order, trial);
  auto frame = std::make_shared<Frame>();
  if (before) frame->names[name] = copyValue(*before);
  for (auto binding = begin; binding != end; ++binding) {
    binding->evaluating = true;
    ScopeView view(*this, binding->order);
    Flow flow = Evaluator(view, unowned(), frame, trial).run(*binding->stmt);
    binding->evaluating = false;
    if (flow != Flow::normal) return;
  }
  if (auto found = frame->names.find(name); found != frame->names.end()) std::prev(end)->value = found->second;
}

bool ModuleScope::namesWhatIsMissing(const Binding &binding) {
  const auto *assignment = llvm::dyn_cast<ast::AssignStmt>(binding.stmt);
  const auto *access = assignment ? llvm::dyn_cast<ast::AttributeExpr>(assignment->value) : nullptr;
  if (!access) return false;
  Diagnostics trial;
  ScopeView view(*this, binding.order);
  MaybeValue object = Evaluator(view, unowned(), nullptr, trial).eval(*access->object);
  std::shared_ptr<Namespace> language = object ? object->asNamespace() : nullptr;
  return language && llvm::StringRef(language->path()).starts_with("triton.language") && !language->lookup(access->name, trial);
}

MaybeValue ModuleScope::onlyValue(llvm::StringRef name, llvm::ArrayRef<Binding *> open) {
  MaybeValue only;
  for (Binding *binding : open) {
    if (binding->alias >= 0 ? importFails(*this, *binding->stmt) : namesWhatIsMissing(*binding)) continue;
    Diagnostics trial;
    MaybeValue value = valueOf(name, *binding, trial);
    if (!value || value->asHost() || (only && !(*only == *value))) return std::nullopt;
    only = value;
  }
  return only;
}

MaybeValue ModuleScope::lookupBefore(llvm::StringRef name, int64_t order, Diagnostics &diagnostics) {
  auto found = bindings.find(name);
  if (found != bindings.end()) runInOrder(name, found->second, order);
  std::vector<Binding *> open; // under conditions that host code decides, later ones first
  if (found != bindings.end()) {
    for (Binding &binding : llvm::reverse(found->second)) {
      if (binding.order >= order) continue;
      Answer answer = Answer::yes;
      for (const Guard &guard : binding.guards) {
        Answer one = holds(guard, order);
        answer = one == Answer::no || answer == Answer::no ? Answer::no : one == Answer::unknown ? one : answer;
      }
      if (answer == Answer::no) continue;
      if (!open.empty() || answer == Answer::unknown) {
        open.push_back(&binding);
        if (answer == Answer::yes) break;
        continue;
      }
      int64_t errors = errorCount(diagnostics);
      MaybeValue value = valueOf(name, binding, diagnostics);
      if (value || errorCount(diagnostics) != errors) return value;
    }
    if (open.size() == 1) return valueOf(name, *open.front(), diagnostics);
    if (MaybeValue value = open.empty() ? std::nullopt : onlyValue(name, open)) return value;
    if (std::optional<bool> there = open.empty() ? std::nullopt : isThere(name)) return Value::boolean(*there);
    if (open.size() > 1) return Value::host("'" + name.str() + "', which depends on a condition of host code,");
  }
  if (MaybeValue member = throughStars(name, order, diagnostics)) return member;
  if (name == "__name__") return Value::string(llvm::sys::path::stem(path()).str());
  if (name == "__file__") return Value::string(path());
  return std::nullopt;
}

// Modules that import everything from one another are a cycle; a name is looked for once in each of them.
MaybeValue ModuleScope::throughStars(llvm::StringRef name, int64_t order, Diagnostics &diagnostics) {
  if (starImports.empty() || name.starts_with("_")) return std::nullopt;
  thread_local llvm::StringMap<llvm::DenseSet<const ModuleScope *>> searched;
  auto [found, isOutermost] = searched.try_emplace(name);
  if (!found->second.insert(this).second) return std::nullopt;
  MaybeValue member;
  for (const auto &[stmt, position] : llvm::reverse(starImports)) {
    if (position >= order) continue;
    MaybeValue source = importModule(*this, stmt->module, stmt->level, stmt->range, diagnostics);
    if (source && source->asNamespace()) member = source->asNamespace()->lookup(name, diagnostics);
    if (member) break;
  }
  if (isOutermost) searched.erase(name);
  return member;
}

MaybeValue ModuleScope::imported(const Binding &binding, Diagnostics &diagnostics) {
  if (const auto *import = llvm::dyn_cast<ast::ImportStmt>(binding.stmt)) {
    const ast::ImportAlias &alias = import->names[static_cast<size_t>(binding.alias)];
    llvm::StringRef whole = alias.path;
    return importModule(*this, alias.as.empty() ? whole.split('.').first : whole, 0, alias.range, diagnostics);
  }
  const auto &from = llvm::cast<ast::ImportFromStmt>(*binding.stmt);
  const ast::ImportAlias &alias = from.names[static_cast<size_t>(binding.alias)];
  MaybeValue source = importModule(*this, from.module, from.level, from.range, diagnostics);
  if (!source) return std::nullopt;
  int64_t errors = errorCount(diagnostics);
  MaybeValue member = importMember(*this, *source, from.module, from.level, alias.path, diagnostics);
  bool mayFail = llvm::any_of(binding.guards, [](const Guard &guard) { return guard.stmt->kind == ast::StmtKind::try_ && guard.firstArm; });
  if (!member && errorCount(diagnostics) == errors && source->asNamespace()) { // a function of the module makes it on demand
    MaybeValue maker = source->asNamespace()->lookup("__getattr__", diagnostics);
    if (maker && maker->asCallable()) return Value::host(from.module + "." + alias.path);
  }
  if (!member && errorCount(diagnostics) == errors && !mayFail)
    return failUnknown(diagnostics, alias.range, Diag::unknownMember, {source->describe(), alias.path}, alias.path,
                       source->asNamespace() ? source->asNamespace()->names() : std::vector<std::string>());
  return member;
}

MaybeValue ModuleScope::runStatement(llvm::StringRef name, const Binding &binding, Diagnostics &diagnostics) {
  auto done = ran.find(binding.stmt);
  if (done == ran.end()) {
    Effects effects;
    effects.statement(*binding.stmt);
    auto frame = std::make_shared<Frame>();
    ScopeView view(*this, binding.order);
    for (const auto &changed : effects.changed) {
      Diagnostics trial;
      if (MaybeValue before = lookupBefore(changed.first(), binding.order, trial)) frame->names[changed.first()] = copyValue(*before);
    }
    Evaluator evaluator(view, unowned(), frame, diagnostics);
    Flow flow = evaluator.run(*binding.stmt);
    if (flow == Flow::failed) return std::nullopt;
    if (flow == Flow::host) {
      for (const llvm::StringSet<> *set : {&effects.bound, &effects.changed})
        for (const auto &entry : *set)
          frame->names[entry.first()] = Value::host("'" + entry.first().str() + "', which depends on host code,");
    }
    done = ran.try_emplace(binding.stmt, std::move(frame->names)).first;
  }
  auto found = done->second.find(name);
  return found == done->second.end() ? std::nullopt : MaybeValue(found->second);
}

MaybeValue ModuleScope::valueOf(llvm::StringRef name, Binding &binding, Diagnostics &diagnostics) {
  if (binding.value) return binding.value;
  Budget budget;
  if (!mayRecurse()) {
    withinBudget(binding.stmt->range, diagnostics);
    return std::nullopt;
  }
  if (binding.alias >= 0) {                      // not kept: modules may import one another
    if (binding.evaluating) return std::nullopt; // a circle of imports leads back to this name: it has no value yet
    binding.evaluating = true;
    MaybeValue value = imported(binding, diagnostics);
    binding.evaluating = false;
    return value;
  }
  if (binding.evaluating) return fail(diagnostics, binding.stmt->range, Diag::recursiveName, {name.str()});
  binding.evaluating = true;
  ScopeView view(*this, binding.order);
  Evaluator evaluator(view, unowned(), nullptr, diagnostics);
  MaybeValue value;
  if (binding.run)
    value = runStatement(name, binding, diagnostics);
  else if (const auto *function = llvm::dyn_cast<ast::FunctionStmt>(binding.stmt))
    value = evaluator.define(*function);
  else if (const auto *type = llvm::dyn_cast<ast::ClassStmt>(binding.stmt))
    value = evaluator.defineClass(*type);
  else if (const auto *annotated = llvm::dyn_cast<ast::AnnAssignStmt>(binding.stmt))
    value = evaluator.eval(*annotated->value);
  else
    value = evaluator.eval(*llvm::cast<ast::AssignStmt>(binding.stmt)->value);
  binding.evaluating = false;
  binding.value = unowning(value);
  if (std::shared_ptr<const JitFunction> function = value ? value->asFunction() : nullptr; function && function->module == module())
    held.insert(function.get());
  return value;
}

} // namespace

std::shared_ptr<Namespace> makeFileScope(std::shared_ptr<const ast::Module> module, std::shared_ptr<ModuleTable> table) {
  return std::make_shared<ModuleScope>(std::move(module), std::move(table), nullptr);
}

std::shared_ptr<Namespace> moduleScope(std::shared_ptr<const ast::Module> module) {
  auto table = std::make_shared<ModuleTable>();
  std::string path = module->source->name();
  auto scope = std::make_shared<ModuleScope>(std::move(module), table, table);
  table->root = scope;
  table->rootPath = path;
  return scope;
}

std::shared_ptr<Namespace> loadModule(const std::string &path, Diagnostics &diagnostics) {
  Result<std::string> text = readFile(path);
  if (!text) {
    fail(diagnostics, {}, Diag::fileNotFound, {path, text.error()});
    return nullptr;
  }
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create(path, std::move(*text), 1), diagnostics);
  return module ? moduleScope(std::move(module)) : nullptr;
}

std::vector<std::string> kernelNames(Namespace &module) {
  std::vector<std::string> names;
  llvm::StringSet<> known;
  auto *scope = dynamic_cast<ModuleScope *>(&module);
  if (!scope) return names;
  for (const ast::FunctionStmt *function : scope->functions()) {
    if (function->decorators.empty() || known.contains(function->name)) continue;
    Diagnostics trial;
    MaybeValue value = scope->lookup(function->name, trial);
    std::shared_ptr<const JitFunction> kernel = value ? value->asFunction() : nullptr;
    // A kernel with an error in its decorators still exists; a lookup of its name reports the error. A kernel below an `if` whose
    // condition is false does not exist.
    bool broken = !value && errorCount(trial) != 0 && llvm::any_of(function->decorators, [](const ast::Expr *decorator) {
      const auto *call = llvm::dyn_cast<ast::CallExpr>(decorator);
      const ast::Expr *callee = call ? call->callee : decorator;
      const auto *attribute = llvm::dyn_cast<ast::AttributeExpr>(callee);
      const auto *name = llvm::dyn_cast<ast::NameExpr>(callee);
      return (attribute && attribute->name == "jit") || (name && name->name == "jit");
    });
    if (!(kernel && kernel->decl == function) && !broken) continue;
    known.insert(function->name);
    names.push_back(function->name);
  }
  return names;
}

std::shared_ptr<const JitFunction> findKernel(Namespace &module, llvm::StringRef name, Diagnostics &diagnostics) {
  int64_t errors = errorCount(diagnostics);
  MaybeValue value = module.lookup(name, diagnostics);
  if (value && value->asFunction()) return value->asFunction();
  if (errorCount(diagnostics) != errors) return nullptr;
  if (value) {
    auto function = std::dynamic_pointer_cast<const PlainFunction>(value->asCallable());
    fail(diagnostics, function && function->decl ? function->decl->nameRange : SourceRange(), Diag::notAKernel,
         {name.str(), function ? "a plain function" : value->describe()});
    return nullptr;
  }
  std::vector<std::string> kernels = kernelNames(module);
  std::string near = nearestName(name, kernels);
  std::string list = kernels.empty() ? "no function of it is marked @triton.jit" : "its kernels are " + joinNames(kernels, 20);
  auto *scope = dynamic_cast<ModuleScope *>(&module);
  llvm::ArrayRef<const ast::FunctionStmt *> functions;
  if (scope) functions = scope->functions();
  const auto *written = llvm::find_if(functions, [&](const ast::FunctionStmt *function) { return function->name == name; });
  bool isLeftOut = written != functions.end();
  if (isLeftOut) list = "the file defines it under an 'if' or a 'try' that does not get there on this machine";
  fail(diagnostics, isLeftOut ? (*written)->nameRange : SourceRange(), Diag::unknownKernel,
       {name.str(), module.path(), near.empty() || isLeftOut ? list : "did you mean '" + near + "'? " + list});
  return nullptr;
}

} // namespace tilewright
