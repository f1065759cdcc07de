// Runs the statements of plain Python functions and of top-level code, by which files build their lists of configurations.
#include "evaluate/classes.h"
#include "evaluate/decorators.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tilewright {

namespace {

std::string sourceText(const ast::Expr &expr) {
  if (!expr.range.file) return {};
  return std::string(expr.range.file->text().substr(expr.range.begin, expr.range.end - expr.range.begin));
}

/// The last part of a dotted name: "NamedTuple" for typing.NamedTuple.
llvm::StringRef lastName(const ast::Expr &expr) {
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr)) return name->name;
  if (const auto *attribute = llvm::dyn_cast<ast::AttributeExpr>(&expr)) return attribute->name;
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) return lastName(*call->callee);
  return {};
}

} // namespace

void Evaluator::bind(llvm::StringRef name, const Value &value) {
  if (!frame) // := in a module-level expression: the rest of the expression sees its name
    frame = std::make_shared<Frame>();
  Frame *target = frame.get();
  while (target->isComprehension && target->outer)
    target = target->outer.get();
  target->names[name] = value;
}

bool Evaluator::assign(const ast::Expr &target, const Value &value) {
  using namespace ast;
  switch (target.kind) {
  case ExprKind::name: frame->names[llvm::cast<NameExpr>(target).name] = value; return true;
  case ExprKind::starred: return assign(*llvm::cast<StarredExpr>(target).value, value);
  case ExprKind::attribute: // an attribute of a host object; attributes of compile-time values do not change
    return true;
  case ExprKind::subscript: return assignSubscript(llvm::cast<SubscriptExpr>(target), value);
  case ExprKind::tuple:
  case ExprKind::list: break;
  default: return true; // the parser admits no other target
  }
  const std::vector<Expr *> &targets =
      target.kind == ExprKind::tuple ? llvm::cast<TupleExpr>(target).elements : llvm::cast<ListExpr>(target).elements;
  if (value.asHost()) {
    for (const Expr *part : targets)
      if (!assign(*part, value)) return false;
    return true;
  }
  std::optional<Values> items = iterate(value, target.range, diagnostics);
  if (!items) return false;
  size_t star = targets.size();
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i]->kind == ExprKind::starred) star = i;
  bool fits = star == targets.size() ? items->size() == targets.size() : items->size() + 1 >= targets.size();
  if (!fits) {
    fail(diagnostics, target.range, Diag::unpackCount, {std::to_string(items->size()), std::to_string(targets.size()) + " names"});
    return false;
  }
  size_t extra = items->size() + 1 - targets.size(); // of the starred target
  for (size_t i = 0, at = 0; i < targets.size(); ++i) {
    if (i == star) {
      if (!assign(*targets[i],
                  Value::list(Values(items->begin() + static_cast<int64_t>(at), items->begin() + static_cast<int64_t>(at + extra)))))
        return false;
      at += extra;
    } else if (!assign(*targets[i], (*items)[at++])) {
      return false;
    }
  }
  return true;
}

bool Evaluator::assignSubscript(const ast::SubscriptExpr &target, const Value &value) {
  MaybeValue object = eval(*target.object);
  if (!object) return false;
  if (object->asHost()) return true;
  MaybeValue index = eval(*target.index);
  if (!index) return false;
  // The objects of lists and dicts are not const; Value only returns them as const.
  if (auto *dict = const_cast<Dict *>(object->asDict())) {
    put(*dict, *index, value);
    return true;
  }
  auto *sequence = const_cast<Sequence *>(object->asSequence());
  std::optional<Int> position = index->toInt();
  if (!sequence || sequence->isTuple || sequence->isSet || !position) {
    if (!index->asHost()) fail(diagnostics, target.range, Diag::badIndex, {object->describe() + " that is assigned to", index->describe()});
    return index->asHost() != nullptr;
  }
  Int length = static_cast<Int>(sequence->items.size()), at = *position < 0 ? *position + length : *position;
  if (at < 0 || at >= length) {
    fail(diagnostics, target.range, Diag::indexOutOfRange, {intToString(*position), object->describe(), intToString(length)});
    return false;
  }
  sequence->items[static_cast<size_t>(at)] = value;
  return true;
}

Flow Evaluator::run(const ast::Block &block) {
  for (const ast::Stmt *stmt : block)
    if (Flow flow = run(*stmt); flow != Flow::normal) return flow;
  return Flow::normal;
}

// Long: one case for each kind of statement, to be read as a table.
Flow Evaluator::run(const ast::Stmt &stmt) {
  using namespace ast;
  if (!step(stmt.range)) return Flow::failed;
  auto bindOr = [&](llvm::StringRef name, const MaybeValue &value) {
    if (!value) return Flow::failed;
    bind(name, *value);
    return Flow::normal;
  };
  switch (stmt.kind) {
  case StmtKind::expression: return eval(*llvm::cast<ExprStmt>(stmt).value) ? Flow::normal : Flow::failed;
  case StmtKind::assign: {
    const auto &assignment = llvm::cast<AssignStmt>(stmt);
    MaybeValue value = eval(*assignment.value);
    if (!value) return Flow::failed;
    for (const Expr *target : assignment.targets)
      if (!assign(*target, *value)) return Flow::failed;
    return Flow::normal;
  }
  case StmtKind::augAssign: {
    const auto &augmented = llvm::cast<AugAssignStmt>(stmt);
    MaybeValue old = eval(*augmented.target);
    MaybeValue value = old ? eval(*augmented.value) : std::nullopt;
    if (!value) return Flow::failed;
    const Sequence *sequence = old->asSequence();
    if (sequence && !sequence->isTuple && !sequence->isSet && augmented.op == BinaryOp::add && !value->asHost()) {
      Values args{*value}; // in place, as every name of the list sees it
      return callMethod(*old, "extend", NativeCall{"extend", args, {}, stmt.range, diagnostics}) ? Flow::normal : Flow::failed;
    }
    if (!old->asHost()) old = value->asHost() ? value : evaluateBinary(augmented.op, *old, *value, stmt.range, diagnostics);
    return old && assign(*augmented.target, *old) ? Flow::normal : Flow::failed;
  }
  case StmtKind::annAssign: {
    const auto &annotated = llvm::cast<AnnAssignStmt>(stmt);
    if (!annotated.value) return Flow::normal;
    MaybeValue value = eval(*annotated.value);
    return value && assign(*annotated.target, *value) ? Flow::normal : Flow::failed;
  }
  case StmtKind::return_: {
    const auto &result = llvm::cast<ReturnStmt>(stmt);
    MaybeValue value = result.value ? eval(*result.value) : Value::none();
    if (!value) return Flow::failed;
    returned = std::move(*value);
    return Flow::returned;
  }
  case StmtKind::pass:
  case StmtKind::global: // assignments to globals stay in the function: top-level values do not change when functions are called
    return Flow::normal;
  case StmtKind::break_: return Flow::broke;
  case StmtKind::continue_: return Flow::continued;
  case StmtKind::delete_:
    for (const Expr *target : llvm::cast<DeleteStmt>(stmt).targets) {
      const auto *name = llvm::dyn_cast<NameExpr>(target);
      if (!name) return Flow::host;
      frame->names.erase(name->name);
    }
    return Flow::normal;
  case StmtKind::assert_: {
    const auto &assertion = llvm::cast<AssertStmt>(stmt);
    MaybeValue condition = eval(*assertion.condition);
    if (!condition) return Flow::failed;
    if (condition->asHost() || condition->truth()) return Flow::normal;
    MaybeValue message = assertion.message ? eval(*assertion.message) : std::nullopt;
    fail(diagnostics, assertion.condition->range, Diag::assertionFailed, {message ? ": " + strOf(*message) : ""});
    return Flow::failed;
  }
  case StmtKind::raise: {
    const Expr *exception = llvm::cast<RaiseStmt>(stmt).exception;
    fail(diagnostics, stmt.range, Diag::raisedException, {exception ? sourceText(*exception) : "an exception again"});
    return Flow::failed;
  }
  case StmtKind::import:
  case StmtKind::importFrom: return runImport(stmt);
  case StmtKind::if_: {
    const auto &choice = llvm::cast<IfStmt>(stmt);
    MaybeValue condition = eval(*choice.condition);
    if (!condition) return Flow::failed;
    if (condition->asHost()) return Flow::host;
    return run(condition->truth() ? choice.then : choice.otherwise);
  }
  case StmtKind::for_: return runFor(llvm::cast<ForStmt>(stmt));
  case StmtKind::while_: return runWhile(llvm::cast<WhileStmt>(stmt));
  case StmtKind::with: {
    const auto &with = llvm::cast<WithStmt>(stmt);
    for (const WithStmt::Item &item : with.items) {
      MaybeValue context = eval(*item.context);
      if (!context || (item.target && !assign(*item.target, *context))) return Flow::failed;
    }
    return run(with.body);
  }
  case StmtKind::try_: return runTry(llvm::cast<TryStmt>(stmt));
  case StmtKind::function: return bindOr(llvm::cast<FunctionStmt>(stmt).name, define(llvm::cast<FunctionStmt>(stmt)));
  case StmtKind::class_: return bindOr(llvm::cast<ClassStmt>(stmt).name, defineClass(llvm::cast<ClassStmt>(stmt)));
  case StmtKind::match: return Flow::host;
  }
  return Flow::failed;
}

Flow Evaluator::runFor(const ast::ForStmt &stmt) {
  MaybeValue iterable = eval(*stmt.iterable);
  if (!iterable) return Flow::failed;
  if (iterable->asHost() || stmt.isAsync) return Flow::host;
  Flow flow = Flow::normal;
  bool done = forEach(*iterable, stmt.iterable->range, [&](const Value &item) {
    flow = step(stmt.range) && assign(*stmt.target, item) ? run(stmt.body) : Flow::failed;
    return flow == Flow::normal || flow == Flow::continued;
  });
  if (!done) return Flow::failed;
  if (flow == Flow::broke) return Flow::normal;
  return flow == Flow::normal || flow == Flow::continued ? run(stmt.otherwise) : flow;
}

// A list is read again in each iteration, because the body may change it; a set or dict must not change its size.
bool Evaluator::forEach(const Value &iterable, SourceRange range, llvm::function_ref<bool(const Value &)> body) {
  const Sequence *sequence = iterable.asSequence();
  if (sequence && !sequence->isTuple && !sequence->isSet) {
    for (size_t i = 0; i < sequence->items.size(); ++i)
      if (Value item = sequence->items[i]; !body(item)) break;
    return true;
  }
  std::optional<Values> items = iterate(iterable, range, diagnostics);
  if (!items) return false;
  for (const Value &item : *items) {
    if (!body(item)) break;
    size_t now = sequence ? sequence->items.size() : iterable.asDict() ? iterable.asDict()->items.size() : items->size();
    if (now == items->size()) continue;
    fail(diagnostics, range, Diag::badValue, {iterable.describe() + " changed its size while it was iterated over"});
    return false;
  }
  return true;
}

Flow Evaluator::runWhile(const ast::WhileStmt &stmt) {
  while (true) {
    if (!step(stmt.range)) return Flow::failed;
    MaybeValue condition = eval(*stmt.condition);
    if (!condition) return Flow::failed;
    if (condition->asHost()) return Flow::host;
    if (!condition->truth()) return run(stmt.otherwise);
    Flow flow = run(stmt.body);
    if (flow == Flow::broke) return Flow::normal;
    if (flow != Flow::normal && flow != Flow::continued) return flow;
  }
}

// Whatever goes wrong in the body is an exception for the first handler: its kind is not followed.
Flow Evaluator::runTry(const ast::TryStmt &stmt) {
  Flow flow = Flow::normal;
  if (stmt.handlers.empty()) {
    flow = run(stmt.body);
  } else {
    Diagnostics caught;
    Evaluator inner(lookups, closureScope, frame, caught);
    inner.locals = locals;
    flow = inner.run(stmt.body);
    returned = inner.returned;
    if (inner.yielded) yielded = inner.yielded;
    if (flow == Flow::failed) {
      const ast::TryStmt::Handler &handler = stmt.handlers.front();
      if (!handler.name.empty()) bind(handler.name, Value::host("the exception '" + handler.name + "'"));
      flow = run(handler.body);
    } else if (flow == Flow::normal) {
      flow = run(stmt.otherwise);
    }
  }
  Flow last = run(stmt.finally);
  return last == Flow::normal ? flow : last;
}

Flow Evaluator::runImport(const ast::Stmt &stmt) {
  if (const auto *import = llvm::dyn_cast<ast::ImportStmt>(&stmt)) {
    for (const ast::ImportAlias &alias : import->names) {
      llvm::StringRef path = alias.path;
      MaybeValue module = importModule(*closureScope, alias.as.empty() ? path.split('.').first : path, 0, alias.range, diagnostics);
      if (!module) return Flow::failed;
      bind(alias.as.empty() ? path.split('.').first : llvm::StringRef(alias.as), *module);
    }
    return Flow::normal;
  }
  const auto &from = llvm::cast<ast::ImportFromStmt>(stmt);
  MaybeValue module = importModule(*closureScope, from.module, from.level, from.range, diagnostics);
  if (!module) return Flow::failed;
  for (const ast::ImportAlias &alias : from.names) {
    if (alias.path == "*") return Flow::host;
    int64_t errors = errorCount(diagnostics);
    MaybeValue member = importMember(*closureScope, *module, from.module, from.level, alias.path, diagnostics);
    if (!member) {
      if (errorCount(diagnostics) == errors)
        failUnknown(diagnostics, alias.range, Diag::unknownMember, {module->describe(), alias.path}, alias.path,
                    module->asNamespace() ? module->asNamespace()->names() : std::vector<std::string>());
      return Flow::failed;
    }
    bind(alias.as.empty() ? alias.path : alias.as, *member);
  }
  return Flow::normal;
}

// Repositories wrap triton.autotune in functions with the same parameters, for example to add caches.
Value Evaluator::autotuneOfHost(const ast::Expr &decorator) {
  Value host = Value::host("a decorator");
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&decorator);
  if (!call) return host;
  Diagnostics trial;
  Evaluator inner(lookups, closureScope, frame, trial);
  Keywords keywords;
  bool hasConfigs = false;
  for (const ast::Keyword &keyword : call->keywords) {
    if (keyword.name != "configs" && keyword.name != "key" && keyword.name != "reset_to_zero" && keyword.name != "restore_value") continue;
    MaybeValue value = inner.eval(*keyword.value);
    if (!value || value->asHost()) return host;
    hasConfigs = hasConfigs || keyword.name == "configs";
    keywords.emplace_back(keyword.name, std::move(*value));
  }
  MaybeValue autotune = hasConfigs ? callValue(decoratorNamed("autotune"), {}, keywords, decorator.range, trial) : std::nullopt;
  return autotune ? *autotune : host;
}

MaybeValue Evaluator::define(const ast::FunctionStmt &decl) {
  MaybeValue value = makeFunction(&decl, nullptr);
  for (auto it = decl.decorators.rbegin(); value && it != decl.decorators.rend(); ++it) {
    if (lastName(**it) == "staticmethod") continue; // the class keeps this
    MaybeValue decorator = eval(**it);
    if (!decorator) return std::nullopt;
    MaybeValue decorated = decorator->asHost() ? decorator : callValue(*decorator, {*value}, {}, (*it)->range, diagnostics);
    if (decorated && decorated->asHost() && value->asFunction()) {
      Value autotune = autotuneOfHost(**it);
      decorated = autotune.asHost() ? autotune : callValue(autotune, {*value}, {}, (*it)->range, diagnostics);
    }
    if (!decorated) return std::nullopt;
    // torch.compile and similar decorators change nothing for a kernel.
    if (!decorated->asHost()) value = std::move(decorated);
  }
  return value;
}

/// The parts of a class's body that kernels use: its fields, and its functions by name.
bool Evaluator::readClassBody(const ast::ClassStmt &decl, ClassInfo &info, llvm::StringMap<Value> &members) {
  for (const ast::Stmt *stmt : decl.body) {
    if (const auto *function = llvm::dyn_cast<ast::FunctionStmt>(stmt)) {
      bool isStatic = llvm::any_of(function->decorators, [](const ast::Expr *decorator) { return lastName(*decorator) == "staticmethod"; });
      MaybeValue value = define(*function);
      if (!value) return false;
      if (auto plain = std::dynamic_pointer_cast<const PlainFunction>(value->asCallable())) {
        auto method = std::make_shared<PlainFunction>(*plain);
        method->isMethod = true;
        value = Value::callable(std::move(method));
      }
      members[function->name] = *value;
      info.members.push_back(function->name);
      if (isStatic) info.staticMembers.push_back(function->name);
      info.hasInitializer = info.hasInitializer || function->name == "__init__";
      continue;
    }
    const auto *field = llvm::dyn_cast<ast::AnnAssignStmt>(stmt);
    const auto *name = field ? llvm::dyn_cast<ast::NameExpr>(field->target) : nullptr;
    if (!name) continue;
    MaybeValue value = field->value ? eval(*field->value) : std::nullopt;
    if (field->value && !value) return false;
    info.fields.push_back({name->name, isConstexprAnnotation(*field->annotation, lookups), std::move(value)});
  }
  return true;
}

/// Returns the value of `enum.auto()`: one more than the last member; null if that is not an integer.
static MaybeValue automatic(const ast::Expr &value, const MaybeValue &last) {
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&value);
  if (!call || lastName(*call->callee) != "auto" || !call->args.empty()) return std::nullopt;
  if (!last) return Value::integer(1);
  const Int *number = last->asInt();
  return number ? MaybeValue(Value::integer(*number + 1)) : std::nullopt;
}

/// A class of host code. The members of an enum and their values are known; members of an IntEnum are numbers themselves.
Value Evaluator::hostClass(const ast::ClassStmt &decl) {
  std::string description = "the class '" + decl.name + "'";
  bool isEnum = false, isNumber = false;
  for (const ast::Expr *base : decl.bases) {
    llvm::StringRef name = lastName(*base);
    isEnum = isEnum || name == "Enum" || name == "IntEnum" || name == "StrEnum";
    isNumber = isNumber || name == "IntEnum" || name == "StrEnum" || name == "int" || name == "str";
  }
  if (!isEnum || !decl.decorators.empty()) return Value::host(std::move(description));
  auto members = std::make_shared<llvm::StringMap<Value>>();
  auto names = std::make_shared<Frame>();
  names->outer = frame;
  Diagnostics trial;
  Evaluator body(lookups, closureScope, names, trial);
  MaybeValue last;
  for (const ast::Stmt *stmt : decl.body) {
    const auto *assignment = llvm::dyn_cast<ast::AssignStmt>(stmt);
    if (!assignment) continue;
    MaybeValue value = automatic(*assignment->value, last);
    if (!value) value = body.eval(*assignment->value);
    Value known = value ? *value : Value::host("a value of " + description);
    last = known;
    for (const ast::Expr *target : assignment->targets) {
      const auto *name = llvm::dyn_cast<ast::NameExpr>(target);
      if (!name) return Value::host(std::move(description));
      names->names[name->name] = known;
      auto fields = std::make_shared<llvm::StringMap<Value>>();
      fields->try_emplace("value", known);
      fields->try_emplace("name", Value::string(name->name));
      (*members)[name->name] = isNumber || known.asHost() ? known : Value::host(description + "." + name->name, std::move(fields));
    }
  }
  return Value::host(std::move(description), std::move(members));
}

MaybeValue Evaluator::defineClass(const ast::ClassStmt &decl) {
  ClassInfo info;
  info.name = decl.name;
  for (const ast::Expr *decorator : decl.decorators)
    info.isAggregate = info.isAggregate || lastName(*decorator) == "aggregate" || lastName(*decorator) == "_aggregate";
  bool isNamedTuple = false;
  std::vector<std::shared_ptr<Namespace>> bases;
  for (const ast::Expr *base : decl.bases) {
    isNamedTuple = isNamedTuple || lastName(*base) == "NamedTuple";
    if (!info.isAggregate) continue;
    MaybeValue value = eval(*base);
    std::shared_ptr<Namespace> type = value ? value->asNamespace() : nullptr;
    const ClassInfo *inherited = type ? type->classInfo() : nullptr;
    if (!inherited || !inherited->isAggregate) return Value::host("the class '" + decl.name + "', whose base is no aggregate,");
    llvm::append_range(info.fields, inherited->fields);
    llvm::append_range(info.lineage, inherited->lineage);
    info.hasInitializer = info.hasInitializer || inherited->hasInitializer;
    bases.push_back(std::move(type));
  }
  if (!isNamedTuple && !info.isAggregate) return hostClass(decl);
  llvm::StringMap<Value> members;
  if (!readClassBody(decl, info, members)) return std::nullopt;
  return sourceClass(std::move(info), std::move(members), std::move(bases));
}

} // namespace tilewright
