// Namedtuples and aggregates in kernels. An instance is a tuple of operands with a pointer to its class. The IR has no type for it.
//
//   p = Pair(a, b)         the fields, or what Pair.__init__ assigns to self.x, emitted here
//   p.first, p.unpack()    a field; a method, called with the instance
//   p[0], p + q            Pair.__getitem__, Pair.__add__
//
// Upstream runs methods without @triton.jit as Python code during compilation. Here the emitter emits their statements at the call, and
// constants stay constants. The effect is the same.
#include "evaluate/evaluate.h"
#include "frontend/builtin_emitters.h"

namespace tilewright {

// ---- helpers

Maybe Emitter::inlineHelper(const JitFunction &helper, std::vector<Operand> args, SourceRange range) {
  constexpr size_t maxCalls = 200; // each call recurses through the emitter
  if (unit.calls.size() >= maxCalls) return ops.failAt(range, Diag::nestedTooDeeply, {std::to_string(maxCalls)});
  unit.helpers.push_back(helper.module);
  Emitter inner(unit, helper);
  inner.ops.b.restoreInsertionPoint(ops.b.saveInsertionPoint());
  for (size_t i = 0; i < args.size(); ++i)
    inner.locals[helper.parameters[i].name] = std::move(args[i]);
  unit.calls.push_back(range);
  Maybe result;
  Flow flow = inner.sequence(helper.decl->body, nullptr, result);
  unit.calls.pop_back();
  ops.b.restoreInsertionPoint(inner.ops.b.saveInsertionPoint());
  ops.at(range);
  if (flow == Flow::failed) return std::nullopt;
  if (helper.name == "__init__") return inner.locals[helper.parameters[0].name];
  return result ? result : Operand::none();
}

// Returns the callable member of a class under a name: a jit function or a Python helper.
std::optional<Value> Emitter::classMember(const Operand &object, llvm::StringRef name) {
  if (!object.cls) return std::nullopt;
  Diagnostics ignored;
  return object.cls->lookup(name, ignored);
}

// ---- instances

// A field that __init__ has not set yet.
static Operand unsetField() {
  return Operand::of(Value::host("a field that __init__ has not set"));
}

Maybe Emitter::construct(const std::shared_ptr<Namespace> &type, CallArguments args) {
  const ClassInfo &info = *type->classInfo();
  if (info.hasInitializer) return initialize(type, std::move(args));
  std::vector<Maybe> values(info.fields.size());
  if (args.positional.size() > values.size())
    return ops.failAt(args.range, Diag::callTooManyArguments,
                      {info.name, std::to_string(values.size()), std::to_string(args.positional.size())});
  std::move(args.positional.begin(), args.positional.end(), values.begin());
  std::vector<std::string> names = info.fieldNames();
  for (CallArguments::Keyword &keyword : args.keywords) {
    auto found = llvm::find(names, keyword.name);
    if (found == names.end())
      return ops.failAt(keyword.range, Diag::callUnknownArgument, {info.name, keyword.name, "its fields are " + joinNames(names, 12)});
    Maybe &slot = values[static_cast<size_t>(found - names.begin())];
    if (slot) return ops.failAt(keyword.range, Diag::argumentTwice, {info.name, keyword.name});
    slot = std::move(keyword.value);
  }
  std::vector<Operand> items;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i] && info.fields[i].defaultValue) values[i] = Operand::of(*info.fields[i].defaultValue);
    if (!values[i]) return ops.failAt(args.range, Diag::callMissingArgument, {info.name, names[i]});
    if (!checkField(info, i, *values[i], args.range)) return std::nullopt;
    items.push_back(std::move(*values[i]));
  }
  return Operand::instance(type, std::move(items));
}

bool Emitter::checkField(const ClassInfo &info, size_t field, const Operand &value, SourceRange range) {
  if (!info.isAggregate || !info.fields[field].isConstexpr || value.value()) return true;
  ops.failAt(range, Diag::constexprExpected, {"field '" + info.fields[field].name + "' of '" + info.name + "'", value.describe()});
  return false;
}

Maybe Emitter::initialize(const std::shared_ptr<Namespace> &type, CallArguments args) {
  const ClassInfo &info = *type->classInfo();
  if (info.make && llvm::all_of(args.positional, [](const Operand &x) { return x.value().has_value(); }) &&
      llvm::all_of(args.keywords, [](const CallArguments::Keyword &x) { return x.value.value().has_value(); })) {
    Diagnostics trial; // __init__ may create tiles from constants: then its statements are emitted
    Maybe made = callWithConstants(*info.make, args, trial);
    if (made) return made;
  }
  std::optional<Value> member = type->lookup("__init__", *unit.diagnostics);
  std::shared_ptr<const JitFunction> function = member ? member->asFunction() : nullptr;
  if (member && member->asCallable()) function = member->asCallable()->asHelper(*unit.diagnostics);
  if (!function) return ops.failAt(args.range, Diag::notCallableHere, {"the __init__ of '" + info.name + "'"});
  JitFunction helper = *function;
  helper.isHelper = true;
  args.positional.insert(args.positional.begin(), Operand::instance(type, std::vector<Operand>(info.fields.size(), unsetField())));
  args.ranges.insert(args.ranges.begin(), args.range);
  SourceRange range = args.range;
  std::optional<std::vector<Operand>> bound = bindCall(helper, std::move(args));
  Maybe made = bound ? inlineHelper(helper, std::move(*bound), range) : std::nullopt;
  if (!made) return std::nullopt;
  for (size_t i = 0; i < info.fields.size(); ++i) {
    if (made->items[i].isConstant() && made->items[i].constant.asHost())
      return ops.failAt(range, Diag::fieldUnset, {info.name, info.fields[i].name});
    if (!checkField(info, i, made->items[i], range)) return std::nullopt;
  }
  return made;
}

bool Emitter::assignField(const ast::AttributeExpr &target, const Operand &value) {
  auto *name = llvm::dyn_cast<ast::NameExpr>(target.object);
  auto self = name ? locals.find(name->name) : locals.end();
  bool inInitializer = function.isHelper && function.name == "__init__" && !function.parameters.empty() && name &&
                       name->name == function.parameters[0].name && self != locals.end() && self->second.cls;
  if (!inInitializer) {
    refuse(target.range, "assignment to an attribute", "values are immutable; tl.aggregate_replace returns a changed copy of an aggregate");
    return false;
  }
  for (size_t i = 0; i < self->second.fields.size(); ++i)
    if (self->second.fields[i] == target.name) {
      self->second.items[i] = value;
      return true;
    }
  ops.failAt(target.nameRange, Diag::unknownMember, {self->second.describe(), target.name});
  return false;
}

Maybe Emitter::replaceFields(CallArguments args) {
  if (args.positional.size() != 1 || !args.positional[0].isAggregate())
    return ops.failAt(
        args.range, Diag::callArgumentType,
        {"tl.aggregate_replace", "instance", "an aggregate", args.positional.empty() ? "nothing" : args.positional[0].describe()});
  Operand result = args.positional[0];
  const ClassInfo &info = *result.cls->classInfo();
  for (CallArguments::Keyword &keyword : args.keywords) {
    auto found = llvm::find(result.fields, keyword.name);
    if (found == result.fields.end()) return ops.failAt(keyword.range, Diag::unknownMember, {"an instance of " + info.name, keyword.name});
    auto index = static_cast<size_t>(found - result.fields.begin());
    if (!checkField(info, index, keyword.value, keyword.range)) return std::nullopt;
    result.items[index] = std::move(keyword.value);
  }
  return result;
}

// ---- operators

static llvm::StringRef methodOf(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::add: return "add__";
  case ast::BinaryOp::sub: return "sub__";
  case ast::BinaryOp::mul: return "mul__";
  case ast::BinaryOp::div: return "truediv__";
  case ast::BinaryOp::floordiv: return "floordiv__";
  case ast::BinaryOp::mod: return "mod__";
  case ast::BinaryOp::pow: return "pow__";
  case ast::BinaryOp::lshift: return "lshift__";
  case ast::BinaryOp::rshift: return "rshift__";
  case ast::BinaryOp::bitand_: return "and__";
  case ast::BinaryOp::bitor_: return "or__";
  case ast::BinaryOp::bitxor: return "xor__";
  case ast::BinaryOp::matmul: return "matmul__";
  }
  return "";
}

static llvm::StringRef methodOf(ast::CompareOp op) {
  switch (op) {
  case ast::CompareOp::eq: return "__eq__";
  case ast::CompareOp::ne: return "__ne__";
  case ast::CompareOp::lt: return "__lt__";
  case ast::CompareOp::le: return "__le__";
  case ast::CompareOp::gt: return "__gt__";
  case ast::CompareOp::ge: return "__ge__";
  default: return "";
  }
}

std::optional<Maybe> Emitter::callMethod(const Operand &object, llvm::StringRef name, std::vector<Operand> rest, SourceRange range) {
  if (!object.isAggregate() || name.empty()) return std::nullopt;
  std::optional<Value> member = classMember(object, name);
  if (!member || !(member->asFunction() || member->asCallable())) return std::nullopt;
  CallArguments args{range, {object}, {range}, {}};
  for (Operand &operand : rest) {
    args.positional.push_back(std::move(operand));
    args.ranges.push_back(range);
  }
  return call(Operand::of(*member), std::move(args));
}

std::optional<Maybe> Emitter::binaryMethod(ast::BinaryOp op, const Operand &x, const Operand &y, SourceRange range) {
  if (std::optional<Maybe> result = callMethod(x, ("__" + methodOf(op)).str(), {y}, range)) return result;
  return callMethod(y, ("__r" + methodOf(op)).str(), {x}, range);
}

// Returns the comparison of y with x if x has no method: 2 < c is c > 2.
static ast::CompareOp mirrored(ast::CompareOp op) {
  switch (op) {
  case ast::CompareOp::lt: return ast::CompareOp::gt;
  case ast::CompareOp::le: return ast::CompareOp::ge;
  case ast::CompareOp::gt: return ast::CompareOp::lt;
  case ast::CompareOp::ge: return ast::CompareOp::le;
  default: return op;
  }
}

std::optional<Maybe> Emitter::compareMethod(ast::CompareOp op, const Operand &x, const Operand &y, SourceRange range) {
  if (std::optional<Maybe> result = callMethod(x, methodOf(op), {y}, range)) return result;
  return callMethod(y, methodOf(mirrored(op)), {x}, range);
}

} // namespace tilewright
