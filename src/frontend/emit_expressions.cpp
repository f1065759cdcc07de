// Expressions. An expression of constexprs is evaluated at compile time, with Python's meaning. An expression with a run-time value emits
// code. Both kinds mix: `BLOCK * 2 + offsets` multiplies at compile time and adds at run time.

#include "evaluate/evaluate.h"
#include "evaluate/libdevice.h"
#include "frontend/emit.h"
#include "syntax/parser.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

bool Emitter::step(SourceRange range) {
  if (spend(1) && mayRecurse()) return true;
  if (withinBudget(range, *unit.diagnostics)) return true;
  ops.addCallNotes();
  return false;
}

bool Emitter::grow(int64_t operations) {
  constexpr int64_t maxOperations = 1 << 18; // two seconds of compilation
  unit.operations += operations;
  if (unit.operations <= maxOperations) return true;
  if (unrolled.empty())
    ops.fail(Diag::kernelTooLarge, {std::to_string(maxOperations), "this statement is added and calls are inlined"});
  else
    ops.failAt(unrolled.front(), Diag::kernelTooLarge, {std::to_string(maxOperations), "this loop is unrolled"});
  return false;
}

Maybe Emitter::expression(const ast::Expr &expr) {
  if (!step(expr.range)) return std::nullopt;
  Maybe result = expressionWithin(expr);
  if (!withinBudget(expr.range, *unit.diagnostics)) return ops.addCallNotes(), std::nullopt;
  if (result && result->isRuntime() && !isa<ast::NameExpr>(expr) && !grow(1)) return std::nullopt;
  return result;
}

// Returns the name of the method that implements an operator.
static llvm::StringRef methodOf(ast::UnaryOp op) {
  switch (op) {
  case ast::UnaryOp::minus: return "__neg__";
  case ast::UnaryOp::plus: return "__pos__";
  case ast::UnaryOp::invert: return "__invert__";
  case ast::UnaryOp::not_: return "__not__";
  }
  return "";
}

// Long: one case for each kind of expression, to be read as a table.
Maybe Emitter::expressionWithin(const ast::Expr &expr) {
  ops.at(expr.range);
  switch (expr.kind) {
  case ast::ExprKind::name: return name(cast<ast::NameExpr>(expr));
  case ast::ExprKind::integer: return Operand::of(Value::integer(cast<ast::IntegerExpr>(expr).value));
  case ast::ExprKind::floating: return Operand::of(Value::floating(cast<ast::FloatExpr>(expr).value));
  case ast::ExprKind::string: return Operand::of(Value::string(cast<ast::StringExpr>(expr).value));
  case ast::ExprKind::boolean: return Operand::of(Value::boolean(cast<ast::BoolExpr>(expr).value));
  case ast::ExprKind::none: return Operand::none();
  case ast::ExprKind::ellipsis: return Operand::of(Value::ellipsis());
  case ast::ExprKind::fstring: return formatted(cast<ast::FStringExpr>(expr));
  case ast::ExprKind::tuple:
  case ast::ExprKind::list: {
    llvm::ArrayRef<ast::Expr *> elements =
        expr.kind == ast::ExprKind::tuple ? cast<ast::TupleExpr>(expr).elements : cast<ast::ListExpr>(expr).elements;
    std::vector<Operand> items;
    for (const ast::Expr *element : elements) {
      auto *starred = dyn_cast<ast::StarredExpr>(element);
      Maybe item = expression(starred ? *starred->value : *element);
      if (!item) return std::nullopt;
      if (!starred)
        items.push_back(std::move(*item));
      else if (item->isTuple())
        items.insert(items.end(), item->items.begin(), item->items.end());
      else
        return ops.failAt(element->range, Diag::notATuple, {item->describe()});
    }
    return tupleOf(std::move(items), expr.range);
  }
  case ast::ExprKind::attribute: return attributeOf(cast<ast::AttributeExpr>(expr));
  case ast::ExprKind::subscript: return subscript(cast<ast::SubscriptExpr>(expr));
  case ast::ExprKind::call: return callExpression(cast<ast::CallExpr>(expr));
  case ast::ExprKind::unary: {
    const auto &operation = cast<ast::UnaryExpr>(expr);
    Maybe operand = expression(*operation.operand);
    if (!operand) return std::nullopt;
    ops.at(expr.range);
    if (operand->isRuntime()) return ops.unary(operation.op, *operand);
    if (std::optional<Maybe> result = callMethod(*operand, methodOf(operation.op), {}, expr.range)) return *result;
    std::optional<Value> value = operand->value();
    if (!value) return ops.fail(Diag::operandType, {operatorText(operation.op), operand->describe()});
    std::optional<Value> result = evaluateUnary(operation.op, *value, expr.range, *unit.diagnostics);
    if (!result) return ops.addCallNotes(), std::nullopt;
    return Operand::of(*result);
  }
  case ast::ExprKind::binary: {
    const auto &operation = cast<ast::BinaryExpr>(expr);
    Maybe left = expression(*operation.lhs), right = left ? expression(*operation.rhs) : std::nullopt;
    if (!left || !right) return std::nullopt;
    return binary(operation.op, *left, *right, expr.range);
  }
  case ast::ExprKind::boolean_op: return booleanOp(cast<ast::BoolOpExpr>(expr));
  case ast::ExprKind::compare: return compare(cast<ast::CompareExpr>(expr));
  case ast::ExprKind::conditional: return conditional(cast<ast::ConditionalExpr>(expr));
  case ast::ExprKind::comprehension: return comprehension(cast<ast::ComprehensionExpr>(expr));
  case ast::ExprKind::named: {
    const auto &named = cast<ast::NamedExpr>(expr);
    Maybe value = expression(*named.value);
    if (value && !annotatedConstexpr.contains(named.name) && !function.isHelper) value = ops.decay(*value);
    if (!value) return std::nullopt;
    setLocal(named.name, *value);
    return value;
  }
  case ast::ExprKind::lambda: return refuse(expr.range, "a lambda", "write a function with @triton.jit"), std::nullopt;
  case ast::ExprKind::dict: return constantDict(cast<ast::DictExpr>(expr));
  case ast::ExprKind::set: return refuse(expr.range, "a set", "use a tuple"), std::nullopt;
  case ast::ExprKind::slice: return refuse(expr.range, "a slice here", ""), std::nullopt;
  case ast::ExprKind::starred: return refuse(expr.range, "'*' here", ""), std::nullopt;
  case ast::ExprKind::await: return refuse(expr.range, "'await'", ""), std::nullopt;
  case ast::ExprKind::yield: return refuse(expr.range, "'yield'", ""), std::nullopt;
  }
  return std::nullopt;
}

std::string Emitter::inLanguage(llvm::StringRef name) {
  std::shared_ptr<Namespace> language = languageModule("triton.language");
  if (llvm::is_contained(language->names(), name)) return "tl." + name.str();
  std::optional<Type> type = name.size() > 1 ? parseTypeName(name) : std::nullopt;
  for (const std::string &each : languageTypeNames())
    if (type && languageType(each) == type) return "tl." + each;
  return "";
}

std::nullopt_t Emitter::failHostName(SourceRange range, llvm::StringRef name, const HostValue &host) {
  std::string suggestion = inLanguage(name);
  std::string advice = suggestion.empty() ? "pass it as a tl.constexpr parameter, or make it a plain constant" : "write " + suggestion;
  return ops.failAt(range, Diag::hostName, {name.str(), host.description, advice});
}

Maybe Emitter::name(const ast::NameExpr &expr) {
  auto local = locals.find(expr.name);
  if (local != locals.end()) return local->second;
  // The name of a variable in C++ ends with '%' and a number.
  if (auto gone = forgotten.find(expr.name); gone != forgotten.end())
    return ops.failAt(expr.range, Diag::undefinedAfter, {expr.name.substr(0, expr.name.find('%')), gone->second});
  if (!ownNames) ownNames = ast::boundNames(function.decl->body);
  if (ownNames->contains(expr.name)) return ops.failAt(expr.range, Diag::unboundLocal, {expr.name});
  int64_t before = errorCount(*unit.diagnostics);
  if (std::optional<Value> global = function.globals->lookup(expr.name, *unit.diagnostics)) {
    if (const HostValue *host = global->asHost()) return failHostName(expr.range, expr.name, *host);
    return Operand::of(*global);
  }
  if (errorCount(*unit.diagnostics) != before) return ops.addCallNotes(), std::nullopt;
  if (std::optional<Value> python = pythonFunction(expr.name)) return Operand::of(*python);
  std::vector<std::string> names = function.globals->names();
  for (auto &[name, value] : locals)
    names.push_back(name.str());
  std::string suggestion = inLanguage(expr.name);
  if (suggestion.empty()) return unknown(expr.range, Diag::unknownName, {expr.name}, expr.name, names);
  unit.diagnostics->error(expr.range, Diag::unknownName, {expr.name}).hint = "write " + suggestion;
  ops.addCallNotes();
  return std::nullopt;
}

Maybe Emitter::attributeOf(const ast::AttributeExpr &expr) {
  if (Maybe known = hostAnswer(expr)) return known;
  Maybe object = expression(*expr.object);
  if (!object) return std::nullopt;
  ops.at(expr.range);
  return attribute(*object, expr.name, expr.nameRange.file ? expr.nameRange : expr.range);
}

/// Returns the known value of a host attribute such as torch.version.hip, or nothing.
Maybe Emitter::hostAnswer(const ast::AttributeExpr &expr) {
  llvm::SmallVector<llvm::StringRef> path{expr.name};
  const ast::Expr *root = expr.object;
  for (; isa<ast::AttributeExpr>(root); root = cast<ast::AttributeExpr>(root)->object)
    path.push_back(cast<ast::AttributeExpr>(root)->name);
  const auto *named = dyn_cast<ast::NameExpr>(root);
  if (!named || locals.count(named->name)) return std::nullopt;
  Diagnostics trial;
  std::optional<Value> value = function.globals->lookup(named->name, trial);
  if (!value || !value->asHost()) return std::nullopt;
  for (llvm::StringRef name : llvm::reverse(path)) {
    if (!value->asHost()) return std::nullopt;
    value = hostAttribute(*value->asHost(), name);
  }
  return value->asHost() ? std::nullopt : Maybe(Operand::of(*value));
}

/// Returns the path of the host object that a name or an attribute stands for ("torch.float32"), also for aliases. Empty for kernel values.
std::string Emitter::hostPath(const ast::Expr &expr) {
  if (const auto *member = dyn_cast<ast::AttributeExpr>(&expr)) {
    std::string object = hostPath(*member->object);
    return object.empty() ? object : object + "." + member->name;
  }
  const auto *named = dyn_cast<ast::NameExpr>(&expr);
  if (!named || locals.count(named->name)) return "";
  Diagnostics trial;
  std::optional<Value> value = function.globals->lookup(named->name, trial);
  if (value && value->asHost()) return value->asHost()->description;
  return value && value->asNamespace() ? value->asNamespace()->path() : "";
}

/// Evaluates torch.finfo(torch.float32) and torch.iinfo(...), although the type is host code.
Maybe Emitter::typeLimits(const ast::CallExpr &expr) {
  if (expr.args.size() != 1 || !expr.keywords.empty()) return std::nullopt;
  std::string callee = hostPath(*expr.callee);
  if (callee != "torch.finfo" && callee != "torch.iinfo") return std::nullopt;
  Diagnostics trial;
  Value type = Value::host(hostPath(*expr.args[0]));
  std::optional<Value> limits = callValue(Value::host(callee), {type}, {}, expr.range, trial);
  return limits && !limits->asHost() ? Maybe(Operand::of(*limits)) : std::nullopt;
}

std::nullopt_t Emitter::unknown(SourceRange range, Diag id, std::initializer_list<std::string> args, llvm::StringRef name,
                                const std::vector<std::string> &candidates) {
  failUnknown(*unit.diagnostics, range, id, args, name, candidates);
  ops.addCallNotes();
  return std::nullopt;
}

Maybe Emitter::tupleOf(std::vector<Operand> items, SourceRange range) {
  Operand result = Operand::tuple(std::move(items));
  if (countItems(result) > maxItems) return ops.failAt(range, Diag::tupleTooLong, {std::to_string(maxItems)});
  return result;
}

// ---- operators

Maybe Emitter::binary(ast::BinaryOp op, const Operand &x, const Operand &y, SourceRange range) {
  ops.at(range);
  if (std::optional<Maybe> result = binaryMethod(op, x, y, range)) return *result;
  if (x.isTuple() && y.isTuple() && countItems(x) + countItems(y) > maxItems)
    return ops.fail(Diag::tupleTooLong, {std::to_string(maxItems)});
  std::optional<Value> left = x.value(), right = y.value();
  if (left && right) {
    std::optional<Value> result = evaluateBinary(op, *left, *right, range, *unit.diagnostics);
    if (!result) return ops.addCallNotes(), std::nullopt;
    return Operand::of(*result);
  }
  if (x.isTuple() && y.isTuple() && op == ast::BinaryOp::add) {
    std::vector<Operand> items = x.items;
    items.insert(items.end(), y.items.begin(), y.items.end());
    return tupleOf(std::move(items), range);
  }
  if (x.isTuple() && op == ast::BinaryOp::mul && y.isConstant() && y.constant.toInt()) {
    std::vector<Operand> items;
    for (Int i = 0; i < *y.constant.toInt() && static_cast<int64_t>(items.size()) <= maxItems && !x.items.empty(); ++i)
      items.insert(items.end(), x.items.begin(), x.items.end());
    return tupleOf(std::move(items), range);
  }
  return ops.binary(op, x, y);
}

Maybe Emitter::compareTwo(ast::CompareOp op, const Operand &x, const Operand &y, SourceRange range) {
  ops.at(range);
  if (std::optional<Maybe> result = compareMethod(op, x, y, range)) return *result;
  std::optional<Value> left = x.value(), right = y.value();
  if (left && right) {
    std::optional<Value> result = evaluateCompare(op, *left, *right, range, *unit.diagnostics);
    if (!result) return ops.addCallNotes(), std::nullopt;
    return Operand::of(*result);
  }
  if (op == ast::CompareOp::is || op == ast::CompareOp::isNot) { // for example `mask is None`: a run-time value is not a constexpr
    bool same = x.isRuntime() && y.isRuntime() && x.handle == y.handle;
    return Operand::of(Value::boolean(same == (op == ast::CompareOp::is)));
  }
  return ops.compare(op, x, y);
}

// Emits a < b < c as a < b and b < c, with b evaluated once.
Maybe Emitter::compare(const ast::CompareExpr &expr) {
  Maybe left = expression(*expr.operands[0]), result, last;
  for (size_t i = 0; left && i < expr.ops.size(); ++i) {
    const ast::Expr &operand = *expr.operands[i + 1];
    if (result && !ast::boundNames(operand).empty())
      return refuse(operand.range, "':=' after a run-time comparison in a chain of comparisons", "assign before"), std::nullopt;
    Maybe right = expression(operand);
    Maybe link = right ? compareTwo(expr.ops[i], *left, *right, expr.range) : std::nullopt;
    if (!link) return std::nullopt;
    if (!link->isRuntime()) {
      last = link;
      if (!link->constant.truth()) return link;
    } else {
      result = result ? ops.logical(true, *result, *link) : link;
      if (!result) return std::nullopt;
    }
    left = std::move(right);
  }
  if (!left) return std::nullopt;
  return result ? result : last;
}

// Constexprs decide the result at compile time if they can. Otherwise they drop out, and the other operands are combined at run time.
Maybe Emitter::booleanOp(const ast::BoolOpExpr &expr) {
  Maybe result, last;
  for (const ast::Expr *operand : expr.operands) {
    if (result && !result->isBlock() && !ast::boundNames(*operand).empty()) {
      result = shortCircuit(expr.isAnd, *result, *operand);
      if (!result) return std::nullopt;
      continue;
    }
    Maybe value = expression(*operand);
    if (!value) return std::nullopt;
    ops.at(operand->range);
    if (!value->isRuntime()) {
      bool truth = value->isTuple() ? !value->items.empty() : value->constant.truth();
      if (truth != expr.isAnd) return value;
      last = value;
      continue;
    }
    result = result ? ops.logical(expr.isAnd, *result, *value) : value;
    if (!result) return std::nullopt;
  }
  return result ? result : last;
}

Maybe Emitter::shortCircuit(bool isAnd, const Operand &left, const ast::Expr &right) {
  Maybe test = ops.truth(left);
  if (!test) return std::nullopt;
  auto evaluated = [&](Arm &arm) {
    Maybe value = condition(right);
    if (value) value = ops.toTensor(*value);
    arm.value = value;
  };
  auto decided = [&](Arm &arm) { arm.value = ops.toTensor(Operand::of(Value::boolean(!isAnd))); };
  Locals before = locals;
  Arm thenArm = isAnd ? arm(before, evaluated) : arm(before, decided);
  Arm elseArm = isAnd ? arm(before, decided) : arm(before, evaluated);
  if (!thenArm.value || !elseArm.value) return std::nullopt;
  return joinArms(right.range, isAnd ? "'and'" : "'or'", test->handle, thenArm, elseArm);
}

Maybe Emitter::conditional(const ast::ConditionalExpr &expr) {
  Maybe test = condition(*expr.condition);
  if (!test) return std::nullopt;
  if (test->isConstant()) return expression(test->constant.truth() ? *expr.then : *expr.otherwise);
  auto emit = [&](const ast::Expr &value) {
    return [&](Arm &arm) {
      arm.value = expression(value);
      if (arm.value) arm.value = ops.decay(*arm.value);
    };
  };
  Locals before = locals;
  Arm thenArm = arm(before, emit(*expr.then));
  if (!thenArm.value) return std::nullopt;
  Arm elseArm = arm(before, emit(*expr.otherwise));
  if (!elseArm.value) return std::nullopt;
  ops.at(expr.range);
  if (!sameType(*thenArm.value, *elseArm.value))
    return ops.fail(Diag::conditionalTypes, {thenArm.value->describe(), elseArm.value->describe()});
  return joinArms(expr.range, "conditional expression", test->handle, thenArm, elseArm);
}

Maybe Emitter::formatted(const ast::FStringExpr &expr) {
  std::string text;
  for (const ast::FStringExpr::Part &part : expr.parts) {
    text += part.text;
    if (!part.value) continue;
    Maybe operand = expression(*part.value);
    if (!operand) return std::nullopt;
    std::optional<Value> value = operand->value();
    if (!value) return ops.failAt(part.value->range, Diag::constexprExpected, {"a value in an f-string", operand->describe()});
    std::string spec;
    if (part.format) {
      Maybe format = expression(*part.format);
      if (!format) return std::nullopt;
      if (const std::string *known = format->constant.asString()) spec = *known;
    }
    if (part.conversion == 'r' || part.conversion == 'a') value = Value::string(value->repr());
    if (part.conversion == 's') value = Value::string(strOf(*value));
    std::optional<std::string> piece = formatValue(*value, spec, part.value->range, *unit.diagnostics);
    if (!piece) return ops.addCallNotes(), std::nullopt;
    text += *piece;
  }
  return Operand::of(Value::string(std::move(text)));
}

static ast::Names targetNames(const ast::Expr &target) {
  ast::Names names;
  if (auto *name = dyn_cast<ast::NameExpr>(&target)) names.insert(name->name);
  ast::forEachPart(target, [&](const ast::Expr &part) { names.set_union(targetNames(part)); });
  return names;
}

// A dict of constants, such as the table of core.extern_elementwise.
Maybe Emitter::constantDict(const ast::DictExpr &expr) {
  std::vector<std::pair<Value, Value>> items;
  for (auto [key, value] : expr.items) {
    Maybe left = key ? expression(*key) : std::nullopt, right = left ? expression(*value) : std::nullopt;
    if (!key) return refuse(expr.range, "'**' in a dict", ""), std::nullopt;
    if (!right) return std::nullopt;
    std::optional<Value> known = left->value(), entry = right->value();
    if (!known || !entry) return refuse(expr.range, "a dict of run-time values", "use a tuple"), std::nullopt;
    items.emplace_back(std::move(*known), std::move(*entry));
  }
  return Operand::of(Value::dict(std::move(items)));
}

bool Emitter::bindTarget(const ast::Expr &target, const Operand &value) {
  llvm::ArrayRef<ast::Expr *> targets;
  if (auto *name = dyn_cast<ast::NameExpr>(&target)) return setLocal(name->name, value), true;
  if (auto *tuple = dyn_cast<ast::TupleExpr>(&target))
    targets = tuple->elements;
  else if (auto *list = dyn_cast<ast::ListExpr>(&target))
    targets = list->elements;
  else
    return refuse(target.range, "this target of a comprehension", "use names");
  for (const ast::Expr *each : targets)
    if (isa<ast::StarredExpr>(each)) return refuse(each->range, "a target with '*'", "take the rest by a slice, as in rest = values[1:]");
  if (!value.isTuple() || value.items.size() != targets.size())
    return ops.failAt(target.range, Diag::unpackTargets, {value.describe(), std::to_string(targets.size())}), false;
  for (auto [each, item] : llvm::zip_equal(targets, value.items))
    if (!bindTarget(*each, item)) return false;
  return true;
}

bool Emitter::comprehensionItems(const ast::ComprehensionExpr &expr, size_t depth, std::vector<Operand> &items) {
  if (depth == expr.loops.size()) {
    Maybe value = expression(*expr.element);
    if (value && items.size() >= maxItems) return ops.failAt(expr.range, Diag::tupleTooLong, {std::to_string(maxItems)}), false;
    if (value) items.push_back(std::move(*value));
    return value.has_value();
  }
  const ast::ComprehensionExpr::For &loop = expr.loops[depth];
  Maybe source = expression(*loop.iterable);
  if (!source) return false;
  if (!source->isTuple()) return ops.failAt(loop.iterable->range, Diag::notATuple, {source->describe()}), false;
  for (const Operand &item : source->items) {
    if (!step(expr.range) || !bindTarget(*loop.target, item)) return false;
    bool taken = true;
    for (const ast::Expr *filter : loop.conditions) {
      Maybe test = condition(*filter);
      if (!test) return false;
      if (!test->isConstant())
        return ops.failAt(filter->range, Diag::constexprExpected, {"the condition of a comprehension", test->describe()}), false;
      taken = test->constant.truth();
      if (!taken) break;
    }
    if (taken && !comprehensionItems(expr, depth + 1, items)) return false;
  }
  return true;
}

Maybe Emitter::comprehension(const ast::ComprehensionExpr &expr) {
  if (expr.what != ast::ComprehensionKind::list && expr.what != ast::ComprehensionKind::generator)
    return refuse(expr.range, "this comprehension", "use a list comprehension over tuples"), std::nullopt;
  // The variables of a comprehension are local to it, but := in it binds a name of the function.
  std::vector<std::pair<llvm::StringRef, Maybe>> hidden;
  for (const ast::ComprehensionExpr::For &loop : expr.loops)
    for (llvm::StringRef name : targetNames(*loop.target)) {
      if (llvm::any_of(hidden, [&](const auto &each) { return each.first == name; })) continue;
      auto outer = locals.find(name);
      hidden.emplace_back(name, outer == locals.end() ? Maybe() : Maybe(outer->second));
    }
  std::vector<Operand> items;
  if (!comprehensionItems(expr, 0, items)) return std::nullopt;
  for (auto &[name, outer] : hidden) {
    if (outer)
      locals[name] = std::move(*outer);
    else
      locals.erase(name);
  }
  return Operand::tuple(std::move(items));
}

// ---- subscripts

Maybe Emitter::subscript(const ast::SubscriptExpr &expr) {
  Maybe object = expression(*expr.object);
  if (!object) return std::nullopt;
  if (object->isRuntime()) return expandByIndex(*object, expr);
  if (object->isAggregate() && classMember(*object, "__getitem__")) {
    Maybe index = expression(*expr.index);
    if (!index) return std::nullopt;
    return *callMethod(*object, "__getitem__", {*index}, expr.range);
  }
  if (object->isTuple()) {
    if (auto *slice = dyn_cast<ast::SliceExpr>(expr.index)) return sliceTuple(*object, *slice);
    Maybe index = expression(*expr.index);
    if (!index) return std::nullopt;
    std::optional<Int> position = index->isConstant() ? index->constant.toInt() : std::nullopt;
    if (!position) return ops.failAt(expr.index->range, Diag::constexprExpected, {"the index of a tuple", index->describe()});
    Int size = static_cast<Int>(object->items.size());
    Int at = *position < 0 ? *position + size : *position;
    if (at < 0 || at >= size)
      return ops.failAt(expr.index->range, Diag::tupleIndex, {Value::integer(*position).repr(), std::to_string(object->items.size())});
    return object->items[static_cast<size_t>(at)];
  }
  // A launch `kernel[grid](...)` is not allowed in a kernel. Subscripts of constant strings, dicts and lists are.
  Maybe index = expression(*expr.index);
  if (!index) return std::nullopt;
  ops.at(expr.range);
  std::optional<Value> value = object->value(), at = index->value();
  if (!value || !at) return ops.fail(Diag::operandType, {"[...]", object->describe()});
  std::optional<Value> result = evaluateSubscript(*value, *at, expr.range, *unit.diagnostics);
  if (!result) return ops.addCallNotes(), std::nullopt;
  return Operand::of(*result);
}

Maybe Emitter::sliceTuple(const Operand &object, const ast::SliceExpr &slice) {
  Value parts[3];
  const ast::Expr *exprs[3] = {slice.lower, slice.upper, slice.step};
  for (int i = 0; i < 3; ++i) {
    if (!exprs[i]) continue;
    Maybe part = expression(*exprs[i]);
    if (!part) return std::nullopt;
    if (!part->isConstant()) return ops.failAt(exprs[i]->range, Diag::constexprExpected, {"the bound of a slice", part->describe()});
    parts[i] = part->constant;
  }
  std::optional<std::vector<int64_t>> positions =
      slicePositions(makeSlice(parts[0], parts[1], parts[2]), static_cast<int64_t>(object.items.size()), slice.range, *unit.diagnostics);
  if (!positions) return ops.addCallNotes(), std::nullopt;
  std::vector<Operand> items;
  for (int64_t position : *positions)
    items.push_back(object.items[static_cast<size_t>(position)]);
  return Operand::tuple(std::move(items));
}

// x[:, None] may only select whole dimensions and add new ones. As upstream, an index after the last dimension adds a dimension there, so a
// scalar can be indexed.
Maybe Emitter::expandByIndex(const Operand &object, const ast::SubscriptExpr &expr) {
  std::vector<ast::Expr *> parts{expr.index};
  if (auto *tuple = dyn_cast<ast::TupleExpr>(expr.index)) parts = tuple->elements;
  auto isNone = [](const ast::Expr *bound) { return !bound || isa<ast::NoneExpr>(bound); };
  std::string advice = object.type.isPointer()
                           ? "tl.load(pointer + offsets) reads, and tl.store(pointer + offsets, value) writes"
                           : "elements of a tile have no addresses; load the part that you need, or use tl.gather or tl.where";
  Operand result = object;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (auto *slice = dyn_cast<ast::SliceExpr>(parts[i])) {
      if (isNone(slice->lower) && isNone(slice->upper) && isNone(slice->step)) continue;
      return ops.failAt(parts[i]->range, Diag::tileIndex, {object.describe(), advice});
    }
    Maybe value = expression(*parts[i]);
    if (!value) return std::nullopt;
    if (!value->isNone()) return ops.failAt(parts[i]->range, Diag::tileIndex, {object.describe(), advice});
    ops.at(expr.range);
    size_t rank = result.isBlock() ? result.type.shape().size() : 0;
    result = ops.expandDims(result, static_cast<int64_t>(std::min(i, rank)));
  }
  return result;
}

// ---- attributes

static Operand intTuple(llvm::ArrayRef<int64_t> numbers) {
  std::vector<Operand> items;
  for (int64_t number : numbers)
    items.push_back(Operand::of(Value::integer(number)));
  return Operand::tuple(std::move(items));
}

static Operand method(const Operand &object, Value callee) {
  Operand result;
  result.kind = Operand::Kind::method;
  result.constant = std::move(callee);
  result.items.push_back(object);
  return result;
}

Maybe Emitter::attribute(const Operand &object, llvm::StringRef name, SourceRange range) {
  switch (object.kind) {
  case Operand::Kind::runtime: return runtimeAttribute(object, name, range);
  case Operand::Kind::descriptor: return descriptorAttribute(object, name, range);
  case Operand::Kind::tuple:
    for (size_t i = 0; i < object.fields.size(); ++i)
      if (name == llvm::StringRef(object.fields[i])) return object.items[i];
    if (name == "type") return Operand::of(Value::type(object.languageType()));
    if (name == "__class__" && object.cls) return Operand::of(Value::nameSpace(object.cls));
    if (std::optional<Value> member = classMember(object, name)) {
      bool isMethod = (member->asFunction() || member->asCallable()) && !object.cls->classInfo()->isStatic(name);
      return isMethod ? method(object, *member) : Operand::of(*member);
    }
    if (!object.cls && llvm::is_contained({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"}, name))
      return ops.failAt(range, Diag::unsupportedSyntax, {"changing a list", "a list is immutable here: write 'x = x + [y]'"});
    if (!object.value() || !object.fields.empty()) return ops.failAt(range, Diag::unknownMember, {object.describe(), name.str()});
    return constantAttribute(object, name, range);
  case Operand::Kind::constant: return constantAttribute(object, name, range);
  case Operand::Kind::method: break;
  }
  return ops.failAt(range, Diag::unknownMember, {object.describe(), name.str()});
}

// True for attributes that only run-time values have. A number with such an attribute becomes a run-time value.
static bool isTensorAttribute(llvm::StringRef name) {
  return name == "dtype" || name == "shape" || name == "to" || name == "T" || isMethod(name);
}

bool Emitter::hasAttribute(const Operand &object, llvm::StringRef name) {
  constexpr llvm::StringLiteral ofTensors[] = {"shape", "dtype", "type", "numel", "T", "to"};
  constexpr llvm::StringLiteral ofDescriptors[] = {"shape", "strides", "block_shape", "dtype", "type", "block_type", "load", "store"};
  switch (object.kind) {
  case Operand::Kind::runtime: return llvm::is_contained(ofTensors, name) || isMethod(name);
  case Operand::Kind::descriptor: return llvm::is_contained(ofDescriptors, name) || findBuiltin(("tensor_descriptor." + name).str());
  case Operand::Kind::tuple:
    return name == "type" || llvm::is_contained(object.fields, name) || (object.cls && classMember(object, name).has_value());
  case Operand::Kind::constant: {
    Diagnostics trial;
    if (object.isNumber() && isTensorAttribute(name)) return true;
    if (const Builtin *builtin = object.constant.asBuiltin(); builtin && builtin->path == "PropagateNan")
      return name == "ALL" || name == "NONE";
    return evaluateAttribute(object.constant, name, ops.where, trial).has_value();
  }
  case Operand::Kind::method: return false;
  }
  return false;
}

Maybe Emitter::runtimeAttribute(const Operand &object, llvm::StringRef name, SourceRange range) {
  if (name == "shape") return intTuple(object.type.shape());
  if (name == "dtype") return Operand::of(Value::type(object.type.scalarType()));
  if (name == "type") return Operand::of(Value::type(object.type));
  if (name == "numel") return Operand::of(Value::integer(object.type.elements()));
  if (name == "T") {
    CallArguments args{range, {object}, {range}, {}};
    return callBuiltin(*findBuiltin("trans"), std::move(args));
  }
  if (name == "logical_and" || name == "logical_or") return method(object, Value::builtin(findBuiltin(("tensor." + name).str())));
  llvm::StringRef canonical = name == "to" ? "cast" : name;
  if (name == "to" || isMethod(name))
    if (std::optional<Value> callee = languageName(canonical)) return method(object, *callee);
  std::vector<std::string> names{"shape", "dtype", "type", "numel", "T", "to"};
  for (const Builtin *builtin : allBuiltins())
    if (isMethod(builtin->path)) names.push_back(builtin->path.str());
  for (const char *library : {"sum", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "softmax", "sigmoid", "cdiv", "sort", "flip"})
    names.push_back(library);
  return unknown(range, Diag::unknownMember, {object.describe(), name.str()}, name, names);
}

Maybe Emitter::descriptorAttribute(const Operand &object, llvm::StringRef name, SourceRange range) {
  size_t rank = object.type.shape().size();
  auto part = [&](size_t from) { return Operand::tuple({object.items.begin() + from, object.items.begin() + from + rank}); };
  if (name == "shape" && object.items.size() == 2 * rank) return part(0);
  if (name == "strides" && object.items.size() == 2 * rank) return part(rank);
  if (name == "block_shape") return intTuple(object.type.shape());
  if (name == "dtype") return Operand::of(Value::type(object.type.element()));
  if (name == "type") return Operand::of(Value::type(object.type));
  if (name == "block_type") return Operand::of(Value::type(Type::block(object.type.element(), object.type.shape())));
  if (name == "load") return method(object, Value::builtin(findBuiltin("load_tensor_descriptor")));
  if (name == "store") return method(object, Value::builtin(findBuiltin("store_tensor_descriptor")));
  if (const Builtin *builtin = findBuiltin(("tensor_descriptor." + name).str())) return method(object, Value::builtin(builtin));
  return ops.failAt(range, Diag::unknownMember, {object.describe(), name.str()});
}

Maybe Emitter::constantAttribute(const Operand &object, llvm::StringRef name, SourceRange range) {
  if (object.isConstant()) {
    bool plain =
        object.isNumber() || object.isNone() || object.constant.asString() || object.constant.asType() || object.constant.asFunction();
    if (plain && name == "value") return object; // a tl.constexpr stands for its value
    if ((object.isNumber() || object.isNone() || object.constant.asString()) && name == "type")
      return Operand::of(Value::type(object.languageType()));
    if (object.isNumber() && isTensorAttribute(name)) {
      Maybe tensor = ops.toTensor(object);
      return tensor ? runtimeAttribute(*tensor, name, range) : std::nullopt;
    }
    if (const Builtin *builtin = object.constant.asBuiltin()) {
      if (builtin->path == "PropagateNan" && (name == "ALL" || name == "NONE")) return Operand::of(Value::string(name.lower()));
    }
    if (std::shared_ptr<Namespace> scope = object.constant.asNamespace()) {
      int64_t before = errorCount(*unit.diagnostics);
      std::optional<Value> member = scope->lookup(name, *unit.diagnostics);
      if (member) {
        if (const HostValue *host = member->asHost()) return failHostName(range, name, *host);
        return Operand::of(*member);
      }
      if (errorCount(*unit.diagnostics) != before) return ops.addCallNotes(), std::nullopt;
      bool isInLibdevice = llvm::any_of(libraryOverloads(), [&](const LibraryOverload &row) { return row.name == name; });
      if (!isInLibdevice) return unknown(range, Diag::unknownBuiltin, {name.str(), scope->path()}, name, scope->names());
      unit.diagnostics->error(range, Diag::unknownBuiltin, {name.str(), scope->path()}).hint =
          "libdevice has it: 'from triton.language.extra import libdevice', then libdevice." + name.str();
      return ops.addCallNotes(), std::nullopt;
    }
  }
  std::optional<Value> value = object.value(), getter = pythonFunction("getattr");
  if (!value || !getter || !getter->asCallable()) return ops.failAt(range, Diag::unknownMember, {object.describe(), name.str()});
  std::optional<Value> result = getter->asCallable()->call({*value, Value::string(name.str())}, {}, range, *unit.diagnostics);
  if (!result) return ops.addCallNotes(), std::nullopt;
  return Operand::of(*result);
}

} // namespace tilewright
