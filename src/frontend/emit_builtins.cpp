// Calls: binds arguments to a builtin's parameters, makes the checks common to all builtins, and calls the builtin's emitter.

#include "evaluate/evaluate.h"
#include "frontend/builtin_emitters.h"
#include "ir/interpret/interpret.h"

#include <map>
#include <mutex>

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

BuiltinEmitter emitterOf(const Builtin &builtin) {
  static constexpr BuiltinEmitter emitters[] = {
#define BUILTIN(path, signature, summary, function) function,
#include "evaluate/builtins.def"
      emitLibdevice,
  };
  return emitters[builtin.index];
}

bool isMethod(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      "broadcast_to", "trans",      "permute",    "split",      "view",      "reshape",    "expand_dims", "cast",
      "store",        "advance",    "item",       "ravel",      "squeeze",   "unsqueeze",  "atomic_cas",  "atomic_xchg",
      "atomic_add",   "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_poll", "atomic_load",
      "atomic_store", "exp",        "exp2",       "log",        "log2",      "cos",        "sin",         "sqrt",
      "rsqrt",        "sqrt_rn",    "erf",        "floor",      "ceil",      "abs",        "reduce",      "associative_scan",
      "gather",       "histogram",  "cdiv",       "sigmoid",    "softmax",   "max",        "argmax",      "min",
      "argmin",       "sum",        "xor_sum",    "reduce_or",  "cumsum",    "cumprod",    "sort",        "flip"};
  return names.contains(name);
}

// ---- signatures

namespace {
struct Parameter {
  std::string name;
  bool variadic = false;
  std::optional<Value> defaultValue;
};
} // namespace

static Value parseDefault(llvm::StringRef text) {
  if (text == "True" || text == "False") return Value::boolean(text == "True");
  if (text == "()") return Value::tuple({});
  if (text.starts_with("'")) return Value::string(text.drop_front().drop_back().str());
  int64_t number = 0;
  if (!text.getAsInteger(10, number)) return Value::integer(number);
  return Value::none();
}

// Parses the parameters of a signature such as "load(pointer, mask=None, *rest)". Defaults contain no commas.
static std::vector<Parameter> parseSignature(llvm::StringRef signature) {
  std::vector<Parameter> parameters;
  llvm::StringRef list = signature.drop_front(signature.find('(') + 1).drop_back();
  while (!list.empty()) {
    auto [item, rest] = list.split(',');
    list = rest.ltrim();
    auto [name, value] = item.trim().split('=');
    Parameter parameter;
    parameter.variadic = name.consume_front("*");
    parameter.name = name.str();
    if (item.contains('=')) parameter.defaultValue = parseDefault(value);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// Returns the parameters of the builtin. Parses the signature at the first call, because a kernel uses only a few builtins.
static const std::vector<Parameter> &parametersOf(const Builtin &builtin) {
  static std::mutex lock;
  static std::map<const Builtin *, std::vector<Parameter>> known;
  std::lock_guard<std::mutex> guard(lock);
  auto [entry, isNew] = known.try_emplace(&builtin);
  if (isNew) entry->second = parseSignature(builtin.signature);
  return entry->second;
}

std::optional<Arguments> Emitter::bind(const Builtin &builtin, CallArguments given) {
  const std::vector<Parameter> &parameters = parametersOf(builtin);
  std::string name = ("tl." + builtin.path).str();
  Arguments args{*this, builtin, given.range, {}, {}, {}};
  std::vector<bool> bound(parameters.size());
  for (const Parameter &parameter : parameters) {
    args.names.push_back(parameter.name);
    args.values.push_back(parameter.defaultValue ? Operand::of(*parameter.defaultValue) : Operand::none());
    args.ranges.push_back(given.range);
  }
  size_t next = 0;
  for (size_t i = 0; i < parameters.size() && next < given.positional.size(); ++i) {
    bound[i] = true;
    args.ranges[i] = given.ranges[next];
    if (parameters[i].variadic) {
      args.ranges[i].end = given.ranges.back().end;
      args.values[i] = Operand::tuple({given.positional.begin() + next, given.positional.end()});
      next = given.positional.size();
      break;
    }
    args.values[i] = given.positional[next++];
  }
  if (next < given.positional.size())
    return ops.failAt(given.ranges[next], Diag::callTooManyArguments,
                      {name, std::to_string(parameters.size()), std::to_string(given.positional.size())});
  for (CallArguments::Keyword &keyword : given.keywords) {
    auto found = llvm::find_if(parameters, [&](const Parameter &p) { return p.name == keyword.name; });
    if (found == parameters.end()) {
      std::string near = nearestName(keyword.name, args.names);
      return ops.failAt(
          keyword.range, Diag::callUnknownArgument,
          {name, keyword.name, near.empty() ? "the signature is " + builtin.signature.str() : "did you mean '" + near + "'?"});
    }
    size_t i = found - parameters.begin();
    if (bound[i]) return ops.failAt(keyword.range, Diag::argumentTwice, {name, keyword.name});
    bound[i] = true;
    args.values[i] = std::move(keyword.value);
    args.ranges[i] = keyword.range;
    // `shape=...` for a variadic parameter passes the whole list.
    if (parameters[i].variadic && !args.values[i].isTuple()) args.values[i] = Operand::tuple({args.values[i]});
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (bound[i] || parameters[i].defaultValue) continue;
    if (!parameters[i].variadic) return ops.failAt(given.range, Diag::callMissingArgument, {name, parameters[i].name});
    args.values[i] = Operand::tuple({});
  }
  return args;
}

Maybe Emitter::callBuiltin(const Builtin &builtin, CallArguments given) {
  SourceRange range = given.range;
  BuiltinEmitter emitter = emitterOf(builtin);
  std::optional<Arguments> args = bind(builtin, std::move(given));
  if (!args) return std::nullopt;
  ops.at(range);
  return emitter(*this, *args);
}

// ---- checked access to arguments

std::nullopt_t Arguments::typeError(size_t i, llvm::StringRef expected) {
  return emitter.ops.failAt(ranges[i], Diag::callArgumentType,
                            {("tl." + builtin.path).str(), names[i], expected.str(), values[i].describe()});
}

std::optional<Value> Arguments::constant(size_t i) {
  if (std::optional<Value> value = values[i].value()) return value;
  return emitter.ops.failAt(ranges[i], Diag::constexprExpected,
                            {"argument '" + names[i] + "' of tl." + builtin.path.str(), values[i].describe()});
}

std::optional<int64_t> Arguments::integer(size_t i) {
  std::optional<Value> value = constant(i);
  if (!value) return std::nullopt;
  std::optional<Int> number = value->toInt();
  if (!number) return typeError(i, "an integer");
  const Int limit = Int(1) << 62;
  if (*number > limit || *number < -limit) return typeError(i, "an integer of 64 bits");
  return static_cast<int64_t>(*number);
}

std::optional<bool> Arguments::boolean(size_t i) {
  std::optional<Value> value = constant(i);
  if (!value) return std::nullopt;
  return value->truth();
}

std::optional<std::string> Arguments::string(size_t i) {
  std::optional<Value> value = constant(i);
  if (!value) return std::nullopt;
  if (value->isNone()) return std::string();
  if (const std::string *text = value->asString()) return *text;
  return typeError(i, "a string");
}

std::optional<Type> Arguments::type(size_t i) {
  std::optional<Value> value = constant(i);
  if (!value) return std::nullopt;
  if (const Type *type = value->asType()) return *type;
  if (const std::string *text = value->asString())
    if (std::optional<Type> type = parseTypeName(*text)) return type;
  return typeError(i, "a dtype such as tl.float32");
}

static bool collectIntegers(const Operand &x, std::vector<int64_t> &numbers) {
  if (x.isTuple()) return llvm::all_of(x.items, [&](const Operand &item) { return collectIntegers(item, numbers); });
  std::optional<Int> number = x.isConstant() ? x.constant.toInt() : std::nullopt;
  if (!number || *number > (Int(1) << 62) || *number < -(Int(1) << 62)) return false;
  numbers.push_back(static_cast<int64_t>(*number));
  return true;
}

std::optional<std::vector<int64_t>> Arguments::integers(size_t i) {
  std::vector<int64_t> numbers;
  if (collectIntegers(values[i], numbers)) return numbers;
  return typeError(i, "integers known at compile time");
}

std::optional<std::vector<Operand>> Arguments::list(size_t i) {
  if (!values[i].isTuple()) return std::vector<Operand>{values[i]};
  return values[i].items;
}

std::shared_ptr<const JitFunction> Arguments::function(size_t i) {
  std::shared_ptr<const JitFunction> function = values[i].isConstant() ? values[i].constant.asFunction() : nullptr;
  if (!function) typeError(i, "a function marked with @triton.jit");
  return function;
}

Maybe Arguments::tensor(size_t i) {
  if (values[i].isRuntime()) return values[i];
  if (!values[i].isNumber()) return typeError(i, "a tile or a number");
  SourceRange before = emitter.ops.where;
  emitter.ops.where = ranges[i];
  Maybe result = emitter.ops.toTensor(values[i]);
  emitter.ops.where = before;
  return result;
}

Maybe Arguments::tile(size_t i) {
  if (values[i].isBlock()) return values[i];
  return typeError(i, "a tile");
}

// ---- call expressions

static llvm::StringRef textOf(SourceRange range) {
  return range.file ? llvm::StringRef(range.file->text()).substr(range.begin, range.end - range.begin) : llvm::StringRef();
}

std::optional<CallArguments> Emitter::arguments(const ast::CallExpr &expr) {
  CallArguments args;
  args.range = expr.range;
  for (const ast::Expr *argument : expr.args) {
    auto *starred = dyn_cast<ast::StarredExpr>(argument);
    Maybe value = expression(starred ? *starred->value : *argument);
    if (!value) return std::nullopt;
    if (!starred) {
      args.positional.push_back(std::move(*value));
      args.ranges.push_back(argument->range);
      continue;
    }
    if (!value->isTuple()) return ops.failAt(argument->range, Diag::notATuple, {value->describe()});
    for (const Operand &item : value->items) {
      args.positional.push_back(item);
      args.ranges.push_back(argument->range);
    }
  }
  for (const ast::Keyword &keyword : expr.keywords) {
    if (keyword.name.empty()) return refuse(keyword.value->range, "'**' in a call", "name the arguments"), std::nullopt;
    Maybe value = expression(*keyword.value);
    if (!value) return std::nullopt;
    if (function.isHelper && (keyword.name == "_semantic" || keyword.name == "_builder" || keyword.name == "_generator")) continue;
    args.keywords.push_back({keyword.name, std::move(*value), keyword.value->range});
  }
  return args;
}

// Reports the message of `@triton.must_use_result` if the result of the call is not used.
bool Emitter::checkUsed(const Operand &callee, const ast::CallExpr &expr) {
  const Value &called = callee.constant; // of a method, too
  std::shared_ptr<const JitFunction> jit = called.asFunction();
  std::shared_ptr<const Callable> python = called.asCallable();
  std::optional<std::string> why = jit ? jit->mustUse : python ? python->mustUse() : std::nullopt;
  if (!why) return true;
  ops.failAt(expr.range, Diag::unusedResult, {std::string(textOf(expr.callee->range)), why->empty() ? "" : " " + *why});
  return false;
}

Maybe Emitter::callExpression(const ast::CallExpr &expr) {
  bool isUnused = std::exchange(unused, nullptr) == &expr;
  if (Maybe limits = typeLimits(expr)) return limits;
  Maybe callee = expression(*expr.callee);
  if (callee && isUnused && !checkUsed(*callee, expr)) return std::nullopt;
  std::optional<CallArguments> args = callee ? arguments(expr) : std::nullopt;
  if (!args) return std::nullopt;
  ops.at(expr.range);
  return call(*callee, std::move(*args));
}

Maybe Emitter::call(const Operand &callee, CallArguments args) {
  if (callee.kind == Operand::Kind::method) {
    args.positional.insert(args.positional.begin(), callee.items[0]);
    args.ranges.insert(args.ranges.begin(), args.range);
    return call(Operand::of(callee.constant), std::move(args));
  }
  if (callee.isConstant()) {
    if (std::shared_ptr<const JitFunction> jit = callee.constant.asFunction()) return callFunction(*jit, std::move(args));
    if (const Builtin *builtin = callee.constant.asBuiltin())
      return builtin->path == "aggregate_replace" ? replaceFields(std::move(args)) : callBuiltin(*builtin, std::move(args));
    if (std::shared_ptr<Namespace> type = callee.constant.asNamespace(); type && type->classInfo()) return construct(type, std::move(args));
    if (std::shared_ptr<const Callable> python = callee.constant.asCallable()) return pythonCall(*python, args);
    if (const Type *type = callee.constant.asType()) { // tl.float32(x)
      CallArguments castArgs{args.range, args.positional, args.ranges, {}};
      castArgs.positional.push_back(Operand::of(Value::type(*type)));
      castArgs.ranges.push_back(args.range);
      return callBuiltin(*findBuiltin("cast"), std::move(castArgs));
    }
  }
  return ops.failAt(args.range, Diag::notCallableHere, {callee.describe()});
}

// Python functions and host functions run on constexprs at compile time. A few also support run-time values.
Maybe Emitter::callWithConstants(const Callable &callee, const CallArguments &args, Diagnostics &diagnostics) {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> keywords;
  for (const Operand &value : args.positional)
    values.push_back(*value.value());
  for (const CallArguments::Keyword &keyword : args.keywords)
    keywords.push_back({keyword.name, *keyword.value.value()});
  std::optional<Value> result = callee.call(values, keywords, args.range, diagnostics);
  if (!result) return ops.addCallNotes(), std::nullopt;
  return Operand::of(*result);
}

Maybe Emitter::pythonCall(const Callable &callee, const CallArguments &args) {
  std::string name = callee.name();
  llvm::StringRef known = name;
  ops.at(args.range);
  if (known == "isinstance") return isInstance(args);
  if (known == "hasattr" || known == "getattr") return attributeByName(args, known == "hasattr");
  if (known == "breakpoint") return breakpoint(args);
  if (known == "print") { // as upstream: at run time, an optional text and the values
    CallArguments print = args;
    if (print.positional.empty() || !print.positional[0].isConstant() || !print.positional[0].constant.asString()) {
      print.positional.insert(print.positional.begin(), Operand::of(Value::string("")));
      print.ranges.insert(print.ranges.begin(), args.range);
    }
    return callBuiltin(*findBuiltin("device_print"), std::move(print));
  }
  if (callee.isBuiltin())
    if (std::optional<Maybe> made = helperCall(callee, args)) return *made;
  bool anyRuntime = false;
  for (const Operand &value : args.positional)
    anyRuntime |= !value.value();
  for (const CallArguments::Keyword &keyword : args.keywords)
    anyRuntime |= !keyword.value.value();
  if (anyRuntime) {
    if (known == "len" && args.positional.size() == 1 && args.positional[0].isTuple())
      return Operand::of(Value::integer(static_cast<int64_t>(args.positional[0].items.size())));
    if ((known == "tuple" || known == "list") && args.positional.size() == 1 && args.positional[0].isTuple()) return args.positional[0];
    if ((known == "min" || known == "max") && args.keywords.empty()) {
      std::vector<Operand> values =
          args.positional.size() == 1 && args.positional[0].isTuple() ? args.positional[0].items : args.positional;
      Maybe result = values[0];
      for (size_t i = 1; result && i < values.size(); ++i) {
        CallArguments pair{args.range, {*result, values[i]}, {args.range, args.range}, {}};
        result = callBuiltin(*findBuiltin(known == "min" ? "minimum" : "maximum"), std::move(pair));
      }
      return result;
    }
    if (known == "abs" && args.positional.size() == 1) return callBuiltin(*findBuiltin("abs"), args);
    if (std::optional<Maybe> made = helperCall(callee, args)) return *made;
    llvm::StringRef plain = known.split(" [").first; // without a fingerprint
    std::string suggestion = inLanguage(plain), own = "mark it with @triton.jit if it is yours";
    std::string advice = known == "int" || known == "float" ? "convert with .to(tl.int32) or .to(tl.float32)"
                         : known == "len"                   ? "use x.shape[0] for a tile; pass the size of a tensor as an argument"
                         : !suggestion.empty()              ? "call " + suggestion + ", or " + own
                                                            : own + "; instead of a library function, call one of triton.language";
    return ops.fail(Diag::hostCall, {plain.str(), advice});
  }
  if ((known == "min" || known == "max") && args.positional.size() > 1)
    for (const Operand &value : args.positional)
      if (const double *number = value.constant.asFloat(); number && (std::isnan(*number) || (*number == 0 && std::signbit(*number))))
        return ops.fail(Diag::badCall, {name + "() of constants is ambiguous for NaN and -0.0: use tl." + name + "imum"});
  return callWithConstants(callee, args, *unit.diagnostics);
}

std::optional<Maybe> Emitter::helperCall(const Callable &callee, const CallArguments &args) {
  std::shared_ptr<const JitFunction> helper = callee.asHelper(*unit.diagnostics);
  if (!helper) return std::nullopt;
  std::optional<std::vector<Operand>> bound = bindCall(*helper, args);
  return bound ? inlineHelper(*helper, std::move(*bound), args.range) : Maybe();
}

// The interpreter stops here and shows the named numbers and tiles. In compiled code, breakpoint() is an error.
Maybe Emitter::breakpoint(const CallArguments &args) {
  if (!unit.options->breakpoints)
    return refuse(args.range, "a breakpoint in compiled code", "run the kernel on the interpreter: TRITON_INTERPRET=1"), std::nullopt;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<int32_t> isSignedValue;
  for (const auto &[name, local] : locals) {
    std::optional<Value> constant = local.value();
    bool isNumber = constant && (constant->asFloat() || constant->toInt());
    if (!isNumber && (!local.isRuntime() || local.isBlockPointer() || local.kind == Operand::Kind::descriptor)) continue;
    Maybe value = ops.toTensor(local);
    if (value && value->type.scalarType() == Type(Scalar::fp8e4b15)) value = ops.cast(*value, Type(Scalar::fp16));
    if (!value) return std::nullopt;
    Type scalar = value->type.scalarType();
    names.push_back(name);
    values.push_back(value->handle);
    isSignedValue.push_back(scalar.isScalar() && isSigned(scalar.scalar()));
  }
  auto stop = tt::PrintOp::create(ops.b, "", false, values, isSignedValue);
  stop->setAttr(tt::breakpointName, ops.b.getStrArrayAttr(names));
  return Operand::none();
}

// hasattr(x, "shape") and getattr(x, "sum")
Maybe Emitter::attributeByName(const CallArguments &args, bool ask) {
  size_t count = args.positional.size();
  const std::string *name = count >= 2 && args.positional[1].isConstant() ? args.positional[1].constant.asString() : nullptr;
  if (!name || count > (ask ? 2 : 3)) return ops.fail(Diag::badCall, {"this needs a value and the name of an attribute"});
  bool has = hasAttribute(args.positional[0], *name);
  if (ask) return Operand::of(Value::boolean(has));
  return has || count == 2 ? attribute(args.positional[0], *name, args.range) : Maybe(args.positional[2]);
}

// isinstance(x, tl.tensor), (x, tl.constexpr), (x, int), (x, (int, float)), ...
Maybe Emitter::isInstance(const CallArguments &args) {
  if (args.positional.size() != 2) return ops.fail(Diag::callMissingArgument, {"isinstance", "a value and a type"});
  const Operand &value = args.positional[0];
  std::vector<Operand> classes = args.positional[1].isTuple() ? args.positional[1].items : std::vector<Operand>{args.positional[1]};
  bool result = false, host = false;
  for (const Operand &wanted : classes) {
    const Builtin *builtin = wanted.isConstant() ? wanted.constant.asBuiltin() : nullptr;
    std::shared_ptr<const Callable> python = wanted.isConstant() ? wanted.constant.asCallable() : nullptr;
    llvm::StringRef name = builtin ? builtin->path : llvm::StringRef();
    std::string pythonName = python ? python->name() : "";
    if (python) name = pythonName;
    name = name.substr(name.rfind('.') == llvm::StringRef::npos ? 0 : name.rfind('.') + 1);
    const Type *type = value.isConstant() ? value.constant.asType() : nullptr;
    std::shared_ptr<Namespace> wantedClass = wanted.isConstant() ? wanted.constant.asNamespace() : nullptr;
    if (wantedClass && wantedClass->classInfo())
      result |= value.cls && value.cls->classInfo()->isA(*wantedClass->classInfo());
    else if (name == "constexpr_type")
      result |= type && type->isOfConstant();
    else if (name == "tuple_type")
      result |= type && type->isOfTuple();
    else if (name == "tensor")
      result |= value.isRuntime();
    else if (name == "constexpr")
      result |= value.isConstant();
    else if (name == "tuple" || name == "list")
      result |= value.isTuple() && !value.isAggregate();
    else if (name == "dtype")
      result |= type && !type->isOfConstant() && !type->isOfTuple();
    else if (name == "pointer_type")
      result |= type && type->isPointer();
    else if (name == "block_type")
      result |= type && type->isBlock();
    else if (name == "tensor_descriptor")
      result |= value.kind == Operand::Kind::descriptor;
    else if (name == "bool")
      result |= value.isConstant() && value.constant.asBool();
    else if (name == "int")
      result |= value.isConstant() && value.constant.toInt().has_value();
    else if (name == "float")
      result |= value.isConstant() && value.constant.asFloat();
    else if (name == "str")
      result |= value.isConstant() && value.constant.asString();
    else
      host = true;
  }
  if (!result && host)
    return ops.fail(Diag::unsupportedSyntax, {"isinstance with this type", "test for tl.tensor, tl.constexpr, tl.tuple or tl.dtype"});
  return Operand::of(Value::boolean(result));
}

} // namespace tilewright
