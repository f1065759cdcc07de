// `import triton.language as tl` without Python: namespaces whose members are builtins, types, functions of the prelude, and decorators.
// `tilewright` is another name for `triton` here, with its own __version__. The parts of triton for host code (testing,
// compiler, ...) are HostValues.
#include "evaluate/builtins.h"
#include "evaluate/decorators.h"
#include "evaluate/libdevice.h"
#include "support/options.h"
#include "syntax/parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright {

namespace {

/// The module of one of our own sources. An error in it is a bug of ours, which the test that parses it reports.
std::shared_ptr<Namespace> scopeOf(const std::string &name, llvm::StringRef source) {
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create(name, source.str(), 1), diagnostics);
  return module ? moduleScope(std::move(module)) : std::shared_ptr<Namespace>(std::make_shared<TableNamespace>(name, false));
}

std::shared_ptr<Namespace> preludeScope() {
  static const std::shared_ptr<Namespace> scope = scopeOf("<prelude>", preludeSource());
  return scope;
}

/// get_int_dtype(bitwidth, signed)
Value integerTypeFunction() {
  return nativeFunction("get_int_dtype", [](const NativeCall &call) -> MaybeValue {
    const Value *bits = call.argument(0, "bitwidth"), *isSigned = call.argument(1, "signed");
    std::optional<Int> width = bits ? bits->toInt() : std::nullopt;
    if (!width || !isSigned) return call.badCall("get_int_dtype() needs a width in bits and whether it is signed");
    std::optional<Type> type = parseTypeName(*width == 1 ? "int1" : (isSigned->truth() ? "int" : "uint") + intToString(*width));
    if (!type) return call.badValue("there is no integer of " + intToString(*width) + " bits");
    return Value::type(*type);
  });
}

/// triton.language and the modules below it. `prefix` is the prefix of its names in the table of builtins: "", "math.", ...
class LanguageNamespace : public Namespace {
public:
  explicit LanguageNamespace(llvm::StringRef prefix) : prefix(prefix.str()) {}

  std::string path() const override {
    return prefix.empty() ? "triton.language" : "triton.language." + prefix.substr(0, prefix.size() - 1);
  }

  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    if (std::shared_ptr<Namespace> inner = nested(name)) return Value::nameSpace(std::move(inner));
    bool isRoot = prefix.empty(), isMath = prefix == "math.";
    if (isRoot && name == "const") return decoratorNamed("const");
    if (isRoot && name == "_aggregate") return Value::host("triton.aggregate"); // known by its name above a class
    if (isRoot && name == "get_int_dtype") return integerTypeFunction();
    if (isRoot && name == "CONSTEXPR_0") // upstream's name for a default, which copies of its kernels repeat
      return Value::integer(0);
    if (isRoot)
      if (std::optional<Type> type = languageType(name)) return Value::type(*type);
    if (const Builtin *builtin = findBuiltin(prefix + name.str())) return Value::builtin(builtin);
    if (isRoot)
      if (const Builtin *builtin = findBuiltin("math." + name.str())) return Value::builtin(builtin);
    if (isMath)
      if (const Builtin *builtin = findBuiltin(name)) return Value::builtin(builtin);
    if (!isRoot && !isMath) return std::nullopt;
    // Only functions that the prelude defines, not its imports.
    MaybeValue function = preludeScope()->lookup(name, diagnostics);
    return function && (function->asFunction() || function->asCallable()) ? function : std::nullopt;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const Builtin *builtin : allBuiltins())
      if (llvm::StringRef name = builtin->path; name.consume_front(prefix) && !name.contains('.')) all.push_back(name.str());
    if (prefix.empty()) {
      llvm::append_range(all, languageTypeNames());
      llvm::append_range(all, preludeScope()->names());
      llvm::append_range(all, std::vector<std::string>{"math", "extra", "const"});
    }
    return all;
  }

private:
  std::shared_ptr<Namespace> nested(llvm::StringRef name) const;
  std::string prefix;
};

std::shared_ptr<Namespace> languagePart(llvm::StringRef prefix) {
  static const llvm::StringMap<std::shared_ptr<Namespace>> parts = [] {
    llvm::StringMap<std::shared_ptr<Namespace>> all;
    for (const char *name : {"", "math.", "extra.", "extra.cuda.", "extra.libdevice.", "target_info."})
      all[name] = std::make_shared<LanguageNamespace>(name);
    return all;
  }();
  return parts.lookup(prefix);
}

std::shared_ptr<Namespace> LanguageNamespace::nested(llvm::StringRef name) const {
  if (prefix.empty() && (name == "core" || name == "standard" || name == "random")) return languagePart("");
  if (prefix == "extra.cuda." && (name == "gdc" || name == "utils")) return languagePart(prefix); // upstream's files of the same functions
  // All vendors' libdevices have one list of functions here: the back end maps them to the functions of its machine.
  if (llvm::StringRef(prefix).starts_with("extra.") && (name == "libdevice" || (prefix == "extra." && (name == "hip" || name == "intel"))))
    return languagePart(name == "libdevice" ? "extra.libdevice." : "extra.cuda.");
  return languagePart(prefix + name.str() + ".");
}

std::shared_ptr<TableNamespace> table(const std::string &path, bool restIsHost) {
  return std::make_shared<TableNamespace>(path, restIsHost);
}

Value constant(const std::string &name, Value result) {
  return nativeFunctionOfHost(name, [result](const NativeCall &) -> MaybeValue { return result; });
}

/// @triton.must_use_result, and @triton.must_use_result("why").
Value mustUse(const Value &function, const std::string &why) {
  if (!function.asFunction()) return function;
  auto marked = std::make_shared<JitFunction>(*function.asFunction());
  marked->mustUse = why;
  return Value::function(std::move(marked));
}

MaybeValue mustUseResult(const NativeCall &call) {
  const std::string *why = call.args.empty() ? nullptr : call.args[0].asString();
  if (!why) return call.args.empty() ? call.badCall("must_use_result needs a function") : MaybeValue(mustUse(call.args[0], ""));
  return nativeFunctionOfHost("must_use_result", [text = *why](const NativeCall &inner) -> MaybeValue {
    return inner.args.empty() ? inner.badCall("must_use_result needs a function") : MaybeValue(mustUse(inner.args[0], text));
  });
}

/// triton.runtime: questions about the machine are answered for the GPU that kernels are tuned for. See hostCall.
std::shared_ptr<Namespace> makeRuntime() {
  auto target = table("the current target", true);
  target->add("backend", Value::string("cuda")).add("arch", Value::integer(90)).add("warp_size", Value::integer(32));
  auto active = table("triton.runtime.driver.active", true);
  active->add("get_current_target", constant("get_current_target", Value::nameSpace(target)));
  auto driver = table("triton.runtime.driver", true);
  driver->add("active", Value::nameSpace(active));
  auto runtime = table("triton.runtime", true);
  auto jitModule = table("triton.runtime.jit", true);
  auto autotuner = table("triton.runtime.autotuner", true);
  for (const char *name : {"jit", "constexpr_function"})
    jitModule->add(name, decoratorNamed(name));
  for (const char *name : {"autotune", "heuristics", "Config"}) {
    autotuner->add(name, decoratorNamed(name));
    runtime->add(name, decoratorNamed(name));
  }
  runtime->add("driver", Value::nameSpace(driver)).add("jit", Value::nameSpace(jitModule)).add("autotuner", Value::nameSpace(autotuner));
  return runtime;
}

/// triton.backends.backends: it holds the one machine that kernels are compiled for.
Value installedBackends() {
  auto driver = table("a driver", true), backend = table("a backend", true);
  driver->add("is_active", constant("is_active", Value::boolean(true)));
  backend->add("driver", Value::nameSpace(driver));
  return Value::dict({{Value::string("nvidia"), Value::nameSpace(backend)}});
}

// Members of triton that only host code uses.
constexpr llvm::StringLiteral hostModules[] = {"testing", "tools",  "compiler", "backends", "profiler",          "experimental",
                                               "knobs",   "errors", "_C",       "_utils",   "_internal_testing", "_filecheck"};
constexpr llvm::StringLiteral hostMembers[] = {"compile",          "reinterpret",    "TensorWrapper",    "MockTensor",      "set_allocator",
                                               "AsyncCompileMode", "FutureKernel",   "JITFunction",      "KernelInterface", "TritonError",
                                               "CompilationError", "OutOfResources", "InterpreterError", "autotuner",       "aggregate",
                                               "verify",           "bench"};

std::shared_ptr<Namespace> makeTriton(const std::string &version) {
  auto triton = table("triton", false);
  for (const char *name : {"jit", "autotune", "heuristics", "Config", "constexpr_function"})
    triton->add(name, decoratorNamed(name));
  triton->add("cdiv", *pythonFunction("triton.cdiv")).add("next_power_of_2", *pythonFunction("triton.next_power_of_2"));
  triton->add("language", Value::nameSpace(languagePart(""))).add("runtime", Value::nameSpace(makeRuntime()));
  triton->add("__version__", Value::string(version));
  triton->add("must_use_result", nativeFunctionOfHost("must_use_result", mustUseResult));
  for (llvm::StringRef name : hostModules) {
    auto module = table("triton." + name.str(), true);
    if (name == "backends") module->add("backends", installedBackends());
    triton->add(name, Value::nameSpace(module));
  }
  for (llvm::StringRef name : hostMembers)
    triton->add(name, Value::host("triton." + name.str()));
  return triton;
}

} // namespace

std::shared_ptr<const JitFunction> libdeviceFunction(llvm::StringRef name) {
  static const std::shared_ptr<Namespace> scope = scopeOf("<prelude> libdevice", libdeviceSource());
  Diagnostics ignored;
  MaybeValue function = scope->lookup(name, ignored);
  return function ? function->asFunction() : nullptr;
}

std::shared_ptr<Namespace> languageModule(llvm::StringRef path) {
  static const std::shared_ptr<Namespace> triton = makeTriton(tritonVersion().text), tilewright = makeTriton(TILEWRIGHT_VERSION);
  llvm::SmallVector<llvm::StringRef> parts;
  path.split(parts, '.');
  if (parts[0] != "triton" && parts[0] != "tilewright") return nullptr;
  std::shared_ptr<Namespace> module = parts[0] == "triton" ? triton : tilewright;
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    Diagnostics ignored;
    MaybeValue member = module->lookup(part, ignored);
    if (!member) return nullptr;
    module = member->asNamespace();
    if (!module) // a module below one of the host's
      return member->asHost() ? table(path.str(), true) : nullptr;
  }
  return module;
}

} // namespace tilewright
