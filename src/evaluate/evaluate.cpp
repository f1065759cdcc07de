// Evaluates Python expressions to compile-time values. Host values pass through without an error: see evaluate.h.
#include "evaluate/evaluate.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Casting.h"

namespace tilewright {

namespace {

/// True for a name that CPython defines in every module. Host code may use those that are not in pythonFunction.
bool isPythonBuiltin(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
#include "evaluate/python_builtins.inc"
  };
  return names.contains(name);
}

} // namespace

bool Evaluator::step(SourceRange range) {
  return spend(1) && mayRecurse() ? true : withinBudget(range, diagnostics);
}

Evaluator::Evaluator(Namespace &lookups, std::shared_ptr<Namespace> closureScope, std::shared_ptr<Frame> frame, Diagnostics &diagnostics)
    : lookups(lookups), closureScope(std::move(closureScope)), frame(std::move(frame)), diagnostics(diagnostics) {}

MaybeValue Evaluator::name(const ast::NameExpr &expr) {
  for (const Frame *f = frame.get(); f; f = f->outer.get())
    if (auto found = f->names.find(expr.name); found != f->names.end()) return found->second;
  if (locals)
    if (auto found = locals->find(expr.name); found != locals->end()) return found->second;
  int64_t errors = errorCount(diagnostics);
  if (MaybeValue value = lookups.lookup(expr.name, diagnostics)) return value;
  if (errorCount(diagnostics) != errors) return std::nullopt;
  if (MaybeValue value = pythonFunction(expr.name)) return value;
  if (isPythonBuiltin(expr.name)) return Value::host("'" + expr.name + "'");
  std::vector<std::string> candidates = lookups.names();
  for (const Frame *f = frame.get(); f; f = f->outer.get())
    for (const auto &entry : f->names)
      candidates.push_back(entry.first().str());
  return failUnknown(diagnostics, expr.range, Diag::unknownName, {expr.name}, expr.name, candidates);
}

MaybeValue Evaluator::eval(const ast::Expr &expr) {
  if (!step(expr.range)) return std::nullopt;
  MaybeValue value = evalWithin(expr);
  return withinBudget(expr.range, diagnostics) ? std::move(value) : std::nullopt;
}

// Long: one case for each kind of expression, to be read as a table.
MaybeValue Evaluator::evalWithin(const ast::Expr &expr) {
  using namespace ast;
  switch (expr.kind) {
  case ExprKind::name: return name(llvm::cast<NameExpr>(expr));
  case ExprKind::integer: return Value::integer(llvm::cast<IntegerExpr>(expr).value);
  case ExprKind::floating: return Value::floating(llvm::cast<FloatExpr>(expr).value);
  case ExprKind::string:
    if (llvm::cast<StringExpr>(expr).isBytes) return Value::host("a bytes literal");
    return Value::string(llvm::cast<StringExpr>(expr).value);
  case ExprKind::boolean: return Value::boolean(llvm::cast<BoolExpr>(expr).value);
  case ExprKind::none: return Value::none();
  case ExprKind::ellipsis: return Value::ellipsis();
  case ExprKind::fstring: return formatted(llvm::cast<FStringExpr>(expr));
  case ExprKind::tuple: return sequence(expr, llvm::cast<TupleExpr>(expr).elements);
  case ExprKind::list: return sequence(expr, llvm::cast<ListExpr>(expr).elements);
  case ExprKind::set: return sequence(expr, llvm::cast<SetExpr>(expr).elements);
  case ExprKind::dict: return dict(llvm::cast<DictExpr>(expr));
  case ExprKind::attribute: {
    const auto &attribute = llvm::cast<AttributeExpr>(expr);
    MaybeValue object = eval(*attribute.object);
    if (!object) return std::nullopt;
    if (const HostValue *host = object->asHost()) return hostAttribute(*host, attribute.name);
    return evaluateAttribute(*object, attribute.name, attribute.nameRange, diagnostics);
  }
  case ExprKind::subscript: return subscript(llvm::cast<SubscriptExpr>(expr));
  case ExprKind::slice: {
    const auto &slice = llvm::cast<SliceExpr>(expr);
    Value parts[3];
    const Expr *sources[3] = {slice.lower, slice.upper, slice.step};
    for (int i = 0; i < 3; ++i) {
      MaybeValue part = sources[i] ? eval(*sources[i]) : Value::none();
      if (!part || part->asHost()) return part;
      parts[i] = *part;
    }
    return makeSlice(parts[0], parts[1], parts[2]);
  }
  case ExprKind::call: return call(llvm::cast<CallExpr>(expr));
  case ExprKind::starred: return fail(diagnostics, expr.range, Diag::notEvaluated, {"a starred expression here", ""});
  case ExprKind::unary: {
    const auto &unary = llvm::cast<UnaryExpr>(expr);
    MaybeValue operand = eval(*unary.operand);
    if (!operand || operand->asHost()) return operand;
    return evaluateUnary(unary.op, *operand, expr.range, diagnostics);
  }
  case ExprKind::binary: {
    const auto &binary = llvm::cast<BinaryExpr>(expr);
    MaybeValue lhs = eval(*binary.lhs);
    if (!lhs) return std::nullopt;
    MaybeValue rhs = eval(*binary.rhs);
    if (!rhs || rhs->asHost()) return rhs;
    if (lhs->asHost()) return lhs;
    return evaluateBinary(binary.op, *lhs, *rhs, expr.range, diagnostics);
  }
  case ExprKind::boolean_op: return boolOp(llvm::cast<BoolOpExpr>(expr));
  case ExprKind::compare: return compare(llvm::cast<CompareExpr>(expr));
  case ExprKind::conditional: {
    const auto &conditional = llvm::cast<ConditionalExpr>(expr);
    MaybeValue condition = eval(*conditional.condition);
    if (!condition || condition->asHost()) return condition;
    return eval(condition->truth() ? *conditional.then : *conditional.otherwise);
  }
  case ExprKind::lambda: return makeFunction(nullptr, llvm::cast<LambdaExpr>(&expr));
  case ExprKind::comprehension: return comprehension(llvm::cast<ComprehensionExpr>(expr));
  case ExprKind::named: {
    const auto &named = llvm::cast<NamedExpr>(expr);
    MaybeValue value = eval(*named.value);
    if (value) bind(named.name, *value);
    return value;
  }
  case ExprKind::yield: return yield(llvm::cast<YieldExpr>(expr));
  case ExprKind::await: return Value::host("an awaited value");
  }
  return std::nullopt;
}

MaybeValue Evaluator::sequence(const ast::Expr &expr, const std::vector<ast::Expr *> &parts) {
  bool host = false;
  std::optional<Values> items = elements(parts, host);
  if (!items) return std::nullopt;
  if (host) return Value::host("a sequence of unknown length");
  return expr.kind == ast::ExprKind::tuple  ? Value::tuple(std::move(*items))
         : expr.kind == ast::ExprKind::list ? Value::list(std::move(*items))
                                            : Value::set(std::move(*items));
}

MaybeValue Evaluator::subscript(const ast::SubscriptExpr &expr) {
  MaybeValue object = eval(*expr.object);
  if (!object) return std::nullopt;
  if (const HostValue *host = object->asHost()) return Value::host(host->description + "[...]");
  if (object->asFunction() || object->asCallable() || object->asBuiltin()) // kernel[grid], list[int]
    return object->asFunction() ? Value::host("a launch of " + object->describe()) : *object;
  MaybeValue index = eval(*expr.index);
  if (!index || index->asHost()) return index;
  return evaluateSubscript(*object, *index, expr.range, diagnostics);
}

MaybeValue Evaluator::yield(const ast::YieldExpr &expr) {
  MaybeValue value = expr.value ? eval(*expr.value) : Value::none();
  if (!value) return std::nullopt;
  if (!yielded) yielded.emplace();
  spendBytes(sizeof(Value));
  if (!expr.from) {
    yielded->push_back(*value);
    return Value::none();
  }
  std::optional<Values> items = iterate(*value, expr.range, diagnostics);
  if (!items) return std::nullopt;
  yielded->insert(yielded->end(), items->begin(), items->end());
  return Value::none();
}

std::optional<Values> Evaluator::elements(const std::vector<ast::Expr *> &exprs, bool &host) {
  Values items;
  for (const ast::Expr *expr : exprs) {
    const auto *starred = llvm::dyn_cast<ast::StarredExpr>(expr);
    MaybeValue value = eval(starred ? *starred->value : *expr);
    if (!value) return std::nullopt;
    if (!starred) {
      items.push_back(std::move(*value));
      continue;
    }
    if (value->asHost()) {
      host = true;
      continue;
    }
    std::optional<Values> spread = iterate(*value, expr->range, diagnostics);
    if (!spread) return std::nullopt;
    items.insert(items.end(), spread->begin(), spread->end());
  }
  return items;
}

MaybeValue Evaluator::dict(const ast::DictExpr &expr) {
  std::vector<std::pair<Value, Value>> items;
  for (const auto &[keyExpr, valueExpr] : expr.items) {
    MaybeValue key = keyExpr ? eval(*keyExpr) : Value::none();
    MaybeValue value = key ? eval(*valueExpr) : std::nullopt;
    if (!value) return std::nullopt;
    if (keyExpr) {
      items.emplace_back(std::move(*key), std::move(*value));
    } else if (const Dict *spread = value->asDict()) {
      items.insert(items.end(), spread->items.begin(), spread->items.end());
    } else if (value->asHost()) {
      return value;
    } else {
      return fail(diagnostics, valueExpr->range, Diag::operatorTypes, {"**", value->describe()});
    }
  }
  return Value::dict(std::move(items));
}

MaybeValue Evaluator::compare(const ast::CompareExpr &expr) {
  MaybeValue lhs = eval(*expr.operands[0]);
  if (!lhs) return std::nullopt;
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    MaybeValue rhs = eval(*expr.operands[i + 1]);
    if (!rhs || rhs->asHost()) return rhs;
    if (lhs->asHost()) return lhs;
    MaybeValue result = evaluateCompare(expr.ops[i], *lhs, *rhs, expr.range, diagnostics);
    if (!result || !result->truth() || i + 1 == expr.ops.size()) return result;
    lhs = std::move(rhs);
  }
  return std::nullopt;
}

MaybeValue Evaluator::boolOp(const ast::BoolOpExpr &expr) {
  MaybeValue value;
  for (const ast::Expr *operand : expr.operands) {
    value = eval(*operand);
    if (!value || value->asHost() || value->truth() != expr.isAnd) return value;
  }
  return value;
}

MaybeValue Evaluator::formatted(const ast::FStringExpr &expr) {
  std::string text;
  for (const ast::FStringExpr::Part &part : expr.parts) {
    if (!part.value) {
      text += part.text;
      continue;
    }
    MaybeValue value = eval(*part.value);
    if (!value || value->asHost()) return value;
    MaybeValue spec = part.format ? eval(*part.format) : Value::string("");
    if (!spec || spec->asHost()) return spec;
    if (part.conversion) value = Value::string(part.conversion == 's' ? strOf(*value) : value->repr());
    std::optional<std::string> piece = formatValue(*value, spec->asString() ? *spec->asString() : "", part.value->range, diagnostics);
    if (!piece || !spendBytes(static_cast<int64_t>(piece->size()))) return std::nullopt;
    text += *piece;
  }
  return Value::string(std::move(text));
}

MaybeValue Evaluator::comprehension(const ast::ComprehensionExpr &expr) {
  auto inner = std::make_shared<Frame>();
  inner->outer = frame;
  inner->isComprehension = true;
  std::swap(frame, inner);
  Values items;
  std::vector<std::pair<Value, Value>> pairs;
  bool host = false;
  bool done = comprehend(expr, 0, items, pairs, host);
  std::swap(frame, inner);
  if (!done) return std::nullopt;
  if (host) return Value::host("a comprehension over host values");
  switch (expr.what) {
  case ast::ComprehensionKind::set: return Value::set(std::move(items));
  case ast::ComprehensionKind::dict: return Value::dict(std::move(pairs));
  default: // a generator is its list: nothing here can tell them apart
    return Value::list(std::move(items));
  }
}

bool Evaluator::comprehend(const ast::ComprehensionExpr &expr, size_t depth, Values &items, std::vector<std::pair<Value, Value>> &pairs,
                           bool &host) {
  if (depth == expr.loops.size()) {
    MaybeValue element = eval(*expr.element);
    MaybeValue value = element && expr.value ? eval(*expr.value) : Value::none();
    if (!element || !value) return false;
    spendBytes(2 * sizeof(Value));
    if (!expr.value) {
      items.push_back(std::move(*element));
      return true;
    }
    pairs.emplace_back(std::move(*element), std::move(*value));
    return true;
  }
  const ast::ComprehensionExpr::For &loop = expr.loops[depth];
  if (!step(loop.iterable->range)) return false;
  MaybeValue iterable = eval(*loop.iterable);
  if (!iterable) return false;
  if (iterable->asHost()) {
    host = true;
    return true;
  }
  bool good = true;
  bool done = forEach(*iterable, loop.iterable->range, [&](const Value &item) {
    good = step(loop.iterable->range) && assign(*loop.target, item);
    std::optional<bool> chosen = good ? filtered(loop, host) : std::nullopt;
    good = chosen && (host || !*chosen || comprehend(expr, depth + 1, items, pairs, host));
    return good && !host;
  });
  return done && good;
}

/// True if the conditions after a comprehension's `for` hold; `host` if that depends on host code. Null after an error.
std::optional<bool> Evaluator::filtered(const ast::ComprehensionExpr::For &loop, bool &host) {
  for (const ast::Expr *condition : loop.conditions) {
    MaybeValue value = eval(*condition);
    if (!value) return std::nullopt;
    host = host || value->asHost();
    if (host || !value->truth()) return false;
  }
  return true;
}

MaybeValue Evaluator::call(const ast::CallExpr &expr) {
  const auto *method = llvm::dyn_cast<ast::AttributeExpr>(expr.callee);
  MaybeValue object = eval(method ? *method->object : *expr.callee), callee;
  if (!object) return std::nullopt;
  bool bound = method && !object->asHost() && hasMethod(*object, method->name);
  if (!bound) {
    if (method)
      callee = object->asHost() ? hostAttribute(*object->asHost(), method->name)
                                : evaluateAttribute(*object, method->name, method->nameRange, diagnostics);
    else
      callee = object;
    if (!callee) return std::nullopt;
    // Arguments of host code are not looked at, except for the questions that callValue answers.
    const HostValue *called = callee->asHost();
    bool asksForLimits = called && (called->description == "torch.iinfo" || called->description == "torch.finfo");
    if (called && !asksForLimits) return hostCall(*called);
  }
  bool host = false;
  std::optional<Values> args = elements(expr.args, host);
  if (!args) return std::nullopt;
  Keywords keywords;
  for (const ast::Keyword &keyword : expr.keywords) {
    MaybeValue value = eval(*keyword.value);
    if (!value) return std::nullopt;
    if (!keyword.name.empty()) {
      keywords.emplace_back(keyword.name, std::move(*value));
    } else if (const Dict *spread = value->asDict()) {
      for (const auto &[key, item] : spread->items) {
        if (!key.asString())
          return fail(diagnostics, keyword.value->range, Diag::badCall, {"the keys after ** have to be strings, not " + key.describe()});
        keywords.emplace_back(*key.asString(), item);
      }
    } else if (value->asHost()) {
      keywords.emplace_back("**", *value); // keywords that are not known: the language's decorators ignore them
    } else {
      return fail(diagnostics, keyword.value->range, Diag::operatorTypes, {"**", value->describe()});
    }
  }
  if (host) return Value::host("a call with unknown arguments");
  // A generator is its list here: a second next() of the same one would return the first item again.
  bool isNext =
      !method && llvm::isa<ast::NameExpr>(expr.callee) && llvm::cast<ast::NameExpr>(expr.callee)->name == "next" && callee->asCallable();
  if (isNext && !expr.args.empty() && llvm::isa<ast::NameExpr, ast::AttributeExpr, ast::SubscriptExpr>(expr.args[0]))
    return Value::host("next() of a stored generator");
  if (bound) return callMethod(*object, method->name, NativeCall{method->name, *args, keywords, expr.range, diagnostics});
  return callValue(*callee, *args, keywords, expr.range, diagnostics);
}

MaybeValue Evaluator::makeFunction(const ast::FunctionStmt *decl, const ast::LambdaExpr *lambda) {
  const auto *source = dynamic_cast<const SourceNamespace *>(closureScope.get());
  if (!source) return Value::host(lambda ? "a lambda" : "the function '" + decl->name + "'");
  spend(8);
  auto function = std::make_shared<PlainFunction>();
  function->functionName = decl ? decl->name : "<lambda>";
  function->globals = closureScope;
  function->module = source->module();
  function->decl = decl;
  function->lambda = lambda;
  if (frame) {
    function->liveFrame = frame;
    function->captured = std::make_shared<llvm::StringMap<Value>>();
    for (const Frame *f = frame.get(); f; f = f->outer.get())
      for (const auto &entry : f->names) {
        spendBytes(sizeof(Value) + 32);
        function->captured->try_emplace(entry.first(), entry.second);
      }
  }
  for (const ast::Parameter &parameter : function->parameters()) {
    if (!parameter.defaultValue) continue;
    // A kernel's defaults are read by readParameters, which reports their errors.
    MaybeValue value = eval(*parameter.defaultValue);
    if (!value) return std::nullopt;
    function->defaults[parameter.name] = std::move(*value);
  }
  return Value::callable(std::move(function));
}

namespace {

/// The scope of a function defined inside another one.
class ClosureScope : public SourceNamespace {
public:
  explicit ClosureScope(const PlainFunction &function)
      : SourceNamespace(function.module), globals(function.globals), live(function.liveFrame), captured(function.captured) {}

  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    for (std::shared_ptr<Frame> frame = live.lock(); frame; frame = frame->outer)
      if (auto found = frame->names.find(name); found != frame->names.end()) return found->second;
    if (auto found = captured->find(name); found != captured->end()) return found->second;
    return globals->lookup(name, diagnostics);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all = globals->names();
    for (const auto &entry : *captured)
      all.push_back(entry.first().str());
    return all;
  }

  const std::shared_ptr<Namespace> globals;

private:
  std::weak_ptr<Frame> live;
  std::shared_ptr<llvm::StringMap<Value>> captured;
};

/// Puts the arguments of a call into the frame; false after an error.
bool bindArguments(const PlainFunction &function, const Values &args, const Keywords &keywords, SourceRange range, Frame &frame,
                   Diagnostics &diagnostics) {
  auto wrong = [&](const std::string &what) {
    fail(diagnostics, range, Diag::badCall, {function.functionName + "() " + what});
    return false;
  };
  size_t next = 0;
  std::vector<bool> used(keywords.size());
  bool takesAnyKeyword = false;
  for (const ast::Parameter &parameter : function.parameters()) {
    if (parameter.kind == ast::ParameterKind::variadic) {
      frame.names[parameter.name] = Value::tuple(Values(args.begin() + static_cast<int64_t>(std::min(next, args.size())), args.end()));
      next = std::max(next, args.size());
      continue;
    }
    if (parameter.kind == ast::ParameterKind::keywordVariadic) {
      takesAnyKeyword = true;
      continue;
    }
    MaybeValue value;
    bool byPosition = parameter.kind != ast::ParameterKind::keywordOnly;
    if (byPosition && next < args.size()) value = args[next++];
    for (size_t i = 0; i < keywords.size() && parameter.kind != ast::ParameterKind::positionalOnly; ++i) {
      if (keywords[i].first != parameter.name) continue;
      if (value || used[i]) return wrong("got two values for '" + parameter.name + "'");
      used[i] = true;
      value = keywords[i].second;
    }
    if (!value)
      if (auto found = function.defaults.find(parameter.name); found != function.defaults.end()) value = found->second;
    if (!value) return wrong("needs a value for '" + parameter.name + "'");
    frame.names[parameter.name] = std::move(*value);
  }
  if (next < args.size())
    return wrong("takes " + std::to_string(next) + " positional arguments, " + std::to_string(args.size()) + " are given");
  std::vector<std::pair<Value, Value>> rest;
  for (size_t i = 0; i < keywords.size(); ++i) {
    if (!used[i] && !takesAnyKeyword) return wrong("has no parameter '" + keywords[i].first + "'");
    if (!used[i]) rest.emplace_back(Value::string(keywords[i].first), keywords[i].second);
  }
  if (takesAnyKeyword) frame.names[function.parameters().back().name] = Value::dict(std::move(rest));
  return true;
}

} // namespace

std::shared_ptr<Namespace> PlainFunction::scope() const {
  return captured ? std::make_shared<ClosureScope>(*this) : globals;
}

std::shared_ptr<const JitFunction> PlainFunction::asHelper(Diagnostics &diagnostics) const {
  if (!decl || !(constexprFunction || isMethod)) return nullptr;
  auto function = std::make_shared<JitFunction>();
  function->name = functionName;
  function->module = module;
  function->decl = decl;
  function->globals = scope();
  function->isHelper = true;
  return readParameters(*function, diagnostics) ? function : nullptr;
}

MaybeValue PlainFunction::call(const Values &args, const Keywords &keywords, SourceRange call, Diagnostics &diagnostics) const {
  Budget budget;
  constexpr int64_t deepestCall = 500;
  thread_local int64_t depth = 0;
  struct Level {
    Level() { ++depth; }
    ~Level() { --depth; }
  } level;
  if (depth > deepestCall) return fail(diagnostics, call, Diag::callsTooDeep, {std::to_string(deepestCall)});
  constexpr int64_t cost = 8; // of a frame, a scope and an evaluator
  if (!spend(cost) || !mayRecurse()) {
    withinBudget(call, diagnostics);
    return std::nullopt;
  }
  for (const auto &[key, value] : keywords)
    if (key == "**") return value;
  auto frame = std::make_shared<Frame>();
  if (!bindArguments(*this, args, keywords, call, *frame, diagnostics)) return std::nullopt;
  std::shared_ptr<Namespace> names = scope();
  Evaluator evaluator(*names, names, frame, diagnostics);
  if (lambda) return evaluator.eval(*lambda->body);
  if (decl->isAsync) return Value::host(functionName + "()");
  switch (evaluator.run(decl->body)) {
  case Flow::failed: return std::nullopt;
  case Flow::host: return Value::host("the result of " + functionName + "()");
  default: return evaluator.yielded ? Value::list(std::move(*evaluator.yielded)) : evaluator.returned;
  }
}

std::optional<Value> evaluate(const ast::Expr &expr, Namespace &globals, const llvm::StringMap<Value> *locals, Diagnostics &diagnostics) {
  Budget budget;
  Evaluator evaluator(globals, globals.weak_from_this().lock(), nullptr, diagnostics);
  evaluator.locals = locals;
  return evaluator.eval(expr);
}

} // namespace tilewright
