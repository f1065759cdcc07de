// @triton.jit, @triton.autotune, @triton.heuristics and triton.Config: they make a plain function of a module a kernel.
#include "evaluate/decorators.h"

#include "evaluate/builtins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Casting.h"

#include <limits>

namespace tilewright {

namespace {

/// The strings of a list of names; a position means the parameter there. Anything else is left to host code.
std::vector<std::string> parameterNames(const Value *value, const PlainFunction *function) {
  std::vector<std::string> names;
  if (!value) return names;
  const Sequence *sequence = value->asSequence();
  for (const Value &item : sequence ? sequence->items : Values{*value}) {
    if (const std::string *text = item.asString())
      names.push_back(*text);
    else if (std::optional<Int> position = item.toInt();
             position && function && *position >= 0 && *position < static_cast<Int>(function->parameters().size()))
      names.push_back(function->parameters()[static_cast<size_t>(*position)].name);
  }
  return names;
}

MaybeValue makeJit(const Value &target, const NativeCall &call) {
  if (target.asFunction() || target.asHost()) return target;
  auto function = std::dynamic_pointer_cast<const PlainFunction>(target.asCallable());
  if (!function || !function->decl)
    return fail(call.diagnostics, function ? function->lambda->range : call.range, Diag::jitTarget, {"triton.jit", target.describe()});
  auto kernel = std::make_shared<JitFunction>();
  kernel->name = function->functionName;
  kernel->module = function->module;
  kernel->decl = function->decl;
  kernel->globals = function->scope();
  const Value *isNoinline = call.keyword("noinline");
  kernel->noinline_ = isNoinline && isNoinline->truth();
  const Value *hasAnySize = call.keyword("any_size");
  kernel->anySize = hasAnySize && hasAnySize->truth();
  kernel->doNotSpecialize = parameterNames(call.keyword("do_not_specialize"), function.get());
  kernel->doNotSpecializeOnAlignment = parameterNames(call.keyword("do_not_specialize_on_alignment"), function.get());
  if (!readParameters(*kernel, call.diagnostics)) return std::nullopt;
  return Value::function(std::move(kernel));
}

MaybeValue jit(const NativeCall &call) {
  const Value *target = call.argument(0, "fn");
  if (target && !target->isNone()) return makeJit(*target, call);
  // @triton.jit(options): a decorator that remembers them.
  Keywords options = call.keywords;
  return nativeFunctionOfHost("triton.jit", [options](const NativeCall &inner) -> MaybeValue {
    if (inner.args.size() != 1) return inner.badCall("@triton.jit(...) needs a function");
    return makeJit(inner.args[0], NativeCall{inner.name, inner.args, options, inner.range, inner.diagnostics});
  });
}

MaybeValue constexprFunction(const NativeCall &call) {
  std::shared_ptr<const Callable> callable = call.args.empty() ? nullptr : call.args[0].asCallable();
  if (callable && !std::dynamic_pointer_cast<const PlainFunction>(callable)) return call.args[0]; // ours: it takes constants as it is
  auto function = call.args.empty() ? nullptr : std::dynamic_pointer_cast<const PlainFunction>(call.args[0].asCallable());
  if (!function)
    return call.args.empty() || !call.args[0].asHost()
               ? MaybeValue(fail(call.diagnostics, call.range, Diag::jitTarget,
                                 {"triton.constexpr_function", call.args.empty() ? "nothing" : call.args[0].describe()}))
               : MaybeValue(call.args[0]);
  auto marked = std::make_shared<PlainFunction>(*function);
  marked->constexprFunction = true;
  return Value::callable(std::move(marked));
}

/// An option of a Config; its default where host code decides it. The compiler knows which numbers make sense (support/options.h).
std::optional<int64_t> configNumber(const NativeCall &call, size_t position, llvm::StringRef name, int64_t otherwise) {
  const Value *value = call.argument(position, name);
  if (value && value->asHost()) call.diagnostics.warning(call.range, Diag::hostConfigs, {name.str()});
  if (!value || value->asHost() || value->isNone()) return otherwise;
  std::optional<Int> number = value->toInt();
  if (!number || *number > std::numeric_limits<int64_t>::max() || *number < std::numeric_limits<int64_t>::min()) {
    call.diagnostics.error(call.range, Diag::badConfig, {"Config: " + name.str() + " has to be an int, not " + value->repr(), ""});
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

MaybeValue makeConfig(const NativeCall &call) {
  const Value *kwargs = call.argument(0, "kwargs");
  if (kwargs && kwargs->asHost()) return *kwargs;
  const Dict *dict = kwargs ? kwargs->asDict() : nullptr;
  if (!dict)
    return fail(call.diagnostics, call.range, Diag::badConfig,
                {"Config needs a dict of constexpr parameters, not " + (kwargs ? kwargs->describe() : "nothing"),
                 "write triton.Config({'BLOCK': 128}, num_warps=4)"});
  Config config;
  for (const auto &[key, value] : dict->items) {
    if (!key.asString())
      return fail(call.diagnostics, call.range, Diag::badConfig, {"Config: the name of a parameter is a string, not " + key.repr(), ""});
    config.kwargs.emplace_back(*key.asString(), value);
  }
  constexpr llvm::StringLiteral known[] = {"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override"};
  for (const auto &[name, value] : call.keywords) // the remaining keywords are options of other vendors' back ends
    if (!llvm::is_contained(known, name) && !value.asHost() && nearestName(name, {"num_warps", "num_stages", "num_ctas", "maxnreg"}) != "")
      return failUnknown(call.diagnostics, call.range, Diag::badConfig, {"Config has no option '" + name + "'", ""}, name,
                         {"num_warps", "num_stages", "num_ctas", "maxnreg"});
  constexpr int64_t noLimit = -1;
  const Value *limit = call.argument(4, "maxnreg");
  bool isLimited = limit && !limit->asHost() && !limit->isNone();
  std::optional<int64_t> warps = configNumber(call, 1, "num_warps", 4), stages = configNumber(call, 2, "num_stages", 3),
                         ctas = configNumber(call, 3, "num_ctas", 1), registers = configNumber(call, 4, "maxnreg", noLimit);
  if (!warps || !stages || !ctas || !registers) return std::nullopt;
  config.numWarps = *warps;
  config.numStages = *stages;
  config.numCtas = *ctas;
  if (isLimited) config.maxnreg = *registers;
  const Value *hook = call.argument(5, "pre_hook");
  config.hasHook = hook && !hook->isNone();
  return Value::nameSpace(std::make_shared<ConfigObject>(std::move(config)));
}

/// The kernel below a decorator; null after an error, or (with `host`) if it depends on host code.
std::shared_ptr<const JitFunction> decorated(const NativeCall &call, bool &host) {
  host = !call.args.empty() && call.args[0].asHost();
  std::shared_ptr<const JitFunction> kernel = call.args.empty() ? nullptr : call.args[0].asFunction();
  if (!kernel && !host)
    fail(call.diagnostics, call.range, Diag::autotuneTarget, {call.name.str(), call.args.empty() ? "nothing" : call.args[0].describe()});
  return kernel;
}

void readPruning(const Value *given, Autotune &tuning) {
  const Dict *dict = given ? given->asDict() : nullptr;
  if (!dict) return;
  for (const auto &[name, value] : dict->items) {
    if (!name.asString()) continue;
    if (*name.asString() == "early_config_prune") tuning.earlyPrune = value;
    if (*name.asString() == "perf_model") tuning.perfModel = value;
    if (*name.asString() == "top_k") tuning.topK = value;
  }
}

MaybeValue autotune(const NativeCall &call) {
  const Value *configs = call.argument(0, "configs"), *key = call.argument(1, "key");
  Autotune tuning;
  const Sequence *list = configs ? configs->asSequence() : nullptr;
  tuning.isAuto = configs && configs->asString() && *configs->asString() == "auto";
  if (!list && !tuning.isAuto && !(configs && configs->asHost()))
    return fail(call.diagnostics, call.range, Diag::badConfig,
                {"autotune needs a list of configs, not " + (configs ? configs->describe() : "nothing"),
                 "write configs=[triton.Config({...}), ...], or \"auto\" for a guess"});
  if (!key)
    return fail(call.diagnostics, call.range, Diag::badConfig,
                {"autotune needs a key: the parameters whose values the choice depends on", "write key=['n'], or key=[]"});
  for (const Value &item : list ? list->items : Values{}) {
    auto config = std::dynamic_pointer_cast<ConfigObject>(item.asNamespace());
    if (!config && !item.asHost())
      return fail(call.diagnostics, call.range, Diag::badConfig, {"autotune: " + item.describe() + " is not a triton.Config", ""});
    if (config) tuning.configs.push_back(config->config);
  }
  if (tuning.configs.empty() && !tuning.isAuto && (!list || !list->items.empty()))
    call.diagnostics.warning(call.range, Diag::hostConfigs, {"the list of configs of @triton.autotune"});
  if (list && list->items.empty()) tuning.configs.emplace_back(); // as upstream: one plain configuration
  tuning.key = parameterNames(key, nullptr);
  tuning.resetToZero = parameterNames(call.keyword("reset_to_zero"), nullptr);
  tuning.restoreValue = parameterNames(call.keyword("restore_value"), nullptr);
  for (const char *name : {"pre_hook", "post_hook"})
    if (const Value *hook = call.keyword(name); hook && !hook->isNone()) tuning.hasHook = true;
  readPruning(call.argument(2, "prune_configs_by"), tuning);
  return nativeFunctionOfHost("triton.autotune", [tuning](const NativeCall &inner) -> MaybeValue {
    bool host = false;
    std::shared_ptr<const JitFunction> kernel = decorated(inner, host);
    if (!kernel) return host ? MaybeValue(inner.args[0]) : std::nullopt;
    if (kernel->autotune) return fail(inner.diagnostics, inner.range, Diag::autotunedTwice, {kernel->name});
    auto tuned = std::make_shared<JitFunction>(*kernel);
    tuned->autotune = tuning;
    return Value::function(std::move(tuned));
  });
}

MaybeValue heuristics(const NativeCall &call) {
  const Value *values = call.argument(0, "values");
  const Dict *dict = values ? values->asDict() : nullptr;
  if (!dict && !(values && values->asHost()))
    return fail(call.diagnostics, call.range, Diag::badConfig,
                {"heuristics needs a dict of functions, not " + (values ? values->describe() : "nothing"),
                 "write @triton.heuristics({'EVEN': lambda args: ...})"});
  Heuristics added;
  if (dict)
    for (const auto &[name, function] : dict->items)
      if (name.asString()) added.emplace_back(*name.asString(), function);
  return nativeFunctionOfHost("triton.heuristics", [added](const NativeCall &inner) -> MaybeValue {
    bool host = false;
    std::shared_ptr<const JitFunction> kernel = decorated(inner, host);
    if (!kernel) return host ? MaybeValue(inner.args[0]) : std::nullopt;
    auto extended = std::make_shared<JitFunction>(*kernel);
    extended->heuristics.insert(extended->heuristics.begin(), added.begin(), added.end()); // the outermost runs first
    return Value::function(std::move(extended));
  });
}

std::string annotationText(const ast::Expr &annotation) {
  if (const auto *text = llvm::dyn_cast<ast::StringExpr>(&annotation)) return text->value;
  if (!annotation.range.file) return {};
  return std::string(annotation.range.file->text().substr(annotation.range.begin, annotation.range.end - annotation.range.begin));
}

} // namespace

MaybeValue ConfigObject::lookup(llvm::StringRef name, Diagnostics &) {
  if (name == "kwargs" || name == "all_kwargs") {
    std::vector<std::pair<Value, Value>> items;
    for (const auto &[key, value] : config.kwargs)
      items.emplace_back(Value::string(key), value);
    if (name == "kwargs") return Value::dict(std::move(items));
    for (const char *option : {"num_warps", "num_stages", "num_ctas", "maxnreg"}) {
      Diagnostics none;
      MaybeValue value = lookup(option, none);
      if (value && !value->isNone()) items.emplace_back(Value::string(option), *value);
    }
    Value all = Value::dict(std::move(items));
    return nativeFunction("all_kwargs", [all](const NativeCall &) -> MaybeValue { return copyValue(all); });
  }
  if (name == "num_warps") return Value::integer(config.numWarps);
  if (name == "num_stages") return Value::integer(config.numStages);
  if (name == "num_ctas") return Value::integer(config.numCtas);
  if (name == "maxnreg") return config.maxnreg ? Value::integer(*config.maxnreg) : Value::none();
  if (name == "pre_hook" || name == "ir_override") return Value::none();
  return std::nullopt;
}

bool isConstexprMarker(const Value &value) {
  return value.asBuiltin() && value.asBuiltin()->path == "constexpr";
}

bool isConstMarker(const Value &value) {
  std::shared_ptr<const Callable> callable = value.asCallable();
  return callable && callable == decoratorNamed("const").asCallable();
}

bool isConstexprAnnotation(const ast::Expr &annotation, Namespace &globals) {
  if (llvm::StringRef(annotationText(annotation)).contains("constexpr")) return true;
  if (annotation.kind != ast::ExprKind::name && annotation.kind != ast::ExprKind::attribute) return false;
  Diagnostics trial;
  MaybeValue value = evaluate(annotation, globals, nullptr, trial);
  return value && isConstexprMarker(*value);
}

bool readParameters(JitFunction &function, Diagnostics &diagnostics) {
  function.parameters.clear();
  function.name = function.decl->name;
  for (const ast::Parameter &source : function.decl->parameters) {
    if (source.kind == ast::ParameterKind::keywordVariadic) {
      fail(diagnostics, source.range, Diag::unsupportedParameter, {"**" + source.name, "name the parameters that the kernel takes"});
      return false;
    }
    JitFunction::Parameter parameter;
    parameter.name = source.name;
    parameter.range = source.range;
    parameter.isVariadic = source.kind == ast::ParameterKind::variadic;
    if (source.annotation) {
      parameter.isConstexpr = isConstexprAnnotation(*source.annotation, *function.globals);
      if (!parameter.isConstexpr) {
        // The compiler ignores other annotations (torch.Tensor, int, a name under TYPE_CHECKING): they are for readers and type checkers.
        Diagnostics trial;
        MaybeValue value = evaluate(*source.annotation, *function.globals, nullptr, trial);
        if (value && value->asType())
          parameter.annotation = *value->asType();
        else if (value && value->asString())
          parameter.annotation = parseTypeName(*value->asString());
        parameter.isConst =
            value && (isConstMarker(*value) || (value->asString() && llvm::StringRef(*value->asString()).ends_with("const")));
      }
    }
    if (source.defaultValue) {
      parameter.defaultValue = evaluate(*source.defaultValue, *function.globals, nullptr, diagnostics);
      if (!parameter.defaultValue) return false;
    }
    function.parameters.push_back(std::move(parameter));
  }
  return true;
}

Value decoratorNamed(llvm::StringRef name) {
  static const llvm::StringMap<Value> functions = [] {
    llvm::StringMap<Value> all;
    all["jit"] = nativeFunctionOfHost("triton.jit", jit);
    all["autotune"] = nativeFunctionOfHost("triton.autotune", autotune);
    all["heuristics"] = nativeFunctionOfHost("triton.heuristics", heuristics);
    all["Config"] = nativeFunctionOfHost("Config", makeConfig);
    all["constexpr_function"] = nativeFunctionOfHost("triton.constexpr_function", constexprFunction);
    all["const"] =
        nativeFunctionOfHost("tl.const", [](const NativeCall &call) -> MaybeValue { return call.badCall("tl.const is an annotation"); });
    return all;
  }();
  return functions.lookup(name);
}

} // namespace tilewright
