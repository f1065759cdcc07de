// The modules of Python's library that kernel files use to make constants and lists of configurations.
#include "evaluate/classes.h"
#include "support/options.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

extern char **environ;

namespace tilewright {

MaybeValue TableNamespace::lookup(llvm::StringRef name, Diagnostics &) {
  if (auto found = members.find(name); found != members.end()) return found->second;
  if (!restIsHost) return std::nullopt;
  return hostAttribute(HostValue{fullPath, {}}, name);
}

std::vector<std::string> TableNamespace::names() const {
  std::vector<std::string> all;
  for (const auto &entry : members)
    all.push_back(entry.first().str());
  return all;
}

Value hostModule(llvm::StringRef path) {
  return Value::host(path.str());
}

namespace {

std::optional<double> number(const NativeCall &call, size_t i) {
  return i < call.args.size() ? call.args[i].toDouble() : std::nullopt;
}

Value realFunction(std::string name, double (*function)(double)) {
  return nativeFunction(name, [function](const NativeCall &call) -> MaybeValue {
    std::optional<double> x = number(call, 0);
    if (!x || call.args.size() != 1) return call.badCall("math." + call.name.str() + "() needs one number");
    double result = function(*x);
    if (std::isnan(result) && !std::isnan(*x)) return call.badValue("math." + call.name.str() + "() has no value at " + floatToString(*x));
    return Value::floating(result);
  });
}

Value wholeFunction(std::string name, double (*function)(double)) {
  return nativeFunction(name, [function](const NativeCall &call) -> MaybeValue {
    std::optional<double> x = number(call, 0);
    if (x && call.args[0].toInt()) return Value::integer(*call.args[0].toInt());
    if (!x || !(std::fabs(*x) < 1.7e38)) return call.badValue("math." + call.name.str() + "() needs a finite number");
    return Value::integer(static_cast<Int>(function(*x)));
  });
}

MaybeValue logarithm(const NativeCall &call) {
  std::optional<double> x = number(call, 0), base = number(call, 1);
  if (!x || (call.args.size() > 1 && !base)) return call.badCall("math.log() needs a number");
  if (*x <= 0 || (base && *base <= 0)) return call.badValue("math.log() has no value at " + floatToString(*x));
  return Value::floating(base ? std::log(*x) / std::log(*base) : std::log(*x));
}

MaybeValue foldIntegers(const NativeCall &call) {
  Int total = call.name == "gcd" ? 0 : 1;
  for (const Value &arg : call.args) {
    if (!arg.toInt()) return call.badCall("math." + call.name.str() + "() needs ints");
    Int a = total, b = *arg.toInt();
    while (b) {
      Int rest = a % b;
      a = b;
      b = rest;
    }
    Int divisor = a < 0 ? -a : a;
    if (call.name == "gcd")
      total = divisor;
    else if (__builtin_mul_overflow(divisor ? total / divisor : 0, *arg.toInt(), &total))
      return fail(call.diagnostics, call.range, Diag::integerTooLarge, {"math.lcm"});
  }
  return Value::integer(total < 0 ? -total : total);
}

MaybeValue product(const NativeCall &call) {
  std::optional<Values> items = call.args.empty() ? std::nullopt : iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return call.args.empty() ? MaybeValue(call.badCall("math.prod() needs numbers")) : std::nullopt;
  MaybeValue total = Value::integer(1);
  for (const Value &item : *items)
    if (total && !total->asHost())
      total = item.asHost() ? item : evaluateBinary(ast::BinaryOp::mul, *total, item, call.range, call.diagnostics);
  return total;
}

MaybeValue integerRoot(const NativeCall &call) {
  if (call.args.size() != 1 || !call.args[0].toInt() || *call.args[0].toInt() < 0)
    return call.badValue("math.isqrt() needs an int that is not negative");
  Int n = *call.args[0].toInt(), root = 0;
  for (Int bit = static_cast<Int>(1) << 62; bit; bit >>= 1)
    if ((root + bit) * (root + bit) <= n) root += bit;
  return Value::integer(root);
}

constexpr std::pair<const char *, double (*)(double)> realFunctions[] = {
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log2", [](double x) { return x > 0 ? std::log2(x) : NAN; }},
    {"log10", [](double x) { return x > 0 ? std::log10(x) : NAN; }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"erfc", [](double x) { return std::erfc(x); }},
    {"fabs", [](double x) { return std::fabs(x); }},
    {"gamma", [](double x) { return std::tgamma(x); }},
    {"lgamma", [](double x) { return std::lgamma(x); }},
    {"cbrt", [](double x) { return std::cbrt(x); }},
    {"radians", [](double x) { return x * M_PI / 180; }},
    {"degrees", [](double x) { return x * 180 / M_PI; }},
};

std::shared_ptr<Namespace> makeMath() {
  auto math = std::make_shared<TableNamespace>("math", false);
  math->add("pi", Value::floating(M_PI)).add("e", Value::floating(M_E)).add("tau", Value::floating(2 * M_PI));
  math->add("inf", Value::floating(std::numeric_limits<double>::infinity()))
      .add("nan", Value::floating(std::numeric_limits<double>::quiet_NaN()));
  for (const auto &[name, function] : realFunctions)
    math->add(name, realFunction(name, function));
  math->add("ceil", wholeFunction("ceil", std::ceil))
      .add("floor", wholeFunction("floor", std::floor))
      .add("trunc", wholeFunction("trunc", std::trunc));
  math->add("log", nativeFunction("log", logarithm))
      .add("prod", nativeFunction("prod", product))
      .add("isqrt", nativeFunction("isqrt", integerRoot));
  math->add("gcd", nativeFunction("gcd", foldIntegers)).add("lcm", nativeFunction("lcm", foldIntegers));
  auto binary = [&](const char *label, double (*function)(double, double)) {
    math->add(label, nativeFunction(label, [function](const NativeCall &call) -> MaybeValue {
                std::optional<double> x = number(call, 0), y = number(call, 1);
                if (!x || !y) return call.badCall("math." + call.name.str() + "() needs two numbers");
                return Value::floating(function(*x, *y));
              }));
  };
  binary("pow", std::pow);
  binary("fmod", std::fmod);
  binary("atan2", std::atan2);
  binary("hypot", std::hypot);
  binary("copysign", std::copysign);
  auto question = [&](const char *label, bool (*function)(double)) {
    math->add(label, nativeFunction(label, [function](const NativeCall &call) -> MaybeValue {
                std::optional<double> x = number(call, 0);
                return x ? MaybeValue(Value::boolean(function(*x))) : call.badCall("math." + call.name.str() + "() needs a number");
              }));
  };
  question("isnan", [](double x) { return std::isnan(x); });
  question("isinf", [](double x) { return std::isinf(x); });
  question("isfinite", [](double x) { return std::isfinite(x); });
  return math;
}

std::shared_ptr<Namespace> makeOs() {
  auto os = std::make_shared<TableNamespace>("os", true);
  std::vector<std::pair<Value, Value>> variables;
  for (char **entry = environ; entry && *entry; ++entry) {
    auto [name, value] = llvm::StringRef(*entry).split('=');
    variables.emplace_back(Value::string(name.str()), Value::string(value.str()));
  }
  Value all = Value::dict(std::move(variables));
  os->add("environ", all);
  os->add("getenv", nativeFunction("getenv", [all](const NativeCall &call) {
            return callMethod(all, "get", NativeCall{"get", call.args, call.keywords, call.range, call.diagnostics});
          }));
  return os;
}

MaybeValue cartesian(const NativeCall &call) {
  constexpr size_t longest = 1 << 20;
  const Value *repeat = call.keyword("repeat");
  Int times = repeat && repeat->toInt() ? *repeat->toInt() : 1;
  std::vector<Values> rows{{}};
  for (Int time = 0; time < times && spend(1); ++time) {
    for (const Value &arg : call.args) {
      std::optional<Values> items = iterate(arg, call.range, call.diagnostics);
      if (!items) return std::nullopt;
      std::vector<Values> longer;
      if (items->size() * rows.size() > longest) return call.badValue("this product has more than a million rows");
      size_t width = rows.empty() ? 0 : rows.front().size() + 1;
      if (!spendBytes(static_cast<int64_t>(items->size() * rows.size() * width * sizeof(Value)))) return std::nullopt;
      for (const Values &row : rows)
        for (const Value &item : *items) {
          longer.push_back(row);
          longer.back().push_back(item);
        }
      rows = std::move(longer);
    }
  }
  Values tuples;
  for (Values &row : rows)
    tuples.push_back(Value::tuple(std::move(row)));
  return Value::list(std::move(tuples));
}

MaybeValue chained(const NativeCall &call) {
  Values all;
  for (const Value &arg : call.args) {
    std::optional<Values> items = iterate(arg, call.range, call.diagnostics);
    if (!items) return std::nullopt;
    all.insert(all.end(), items->begin(), items->end());
  }
  return Value::list(std::move(all));
}

Value identity() {
  return nativeFunctionOfHost("decorator",
                              [](const NativeCall &call) -> MaybeValue { return call.args.empty() ? Value::none() : call.args[0]; });
}

/// @lru_cache, @lru_cache(maxsize=None), @wraps(f): the function itself.
MaybeValue transparentDecorator(const NativeCall &call) {
  bool bare =
      call.name != "wraps" && call.args.size() == 1 && call.keywords.empty() && (call.args[0].asCallable() || call.args[0].asFunction());
  return bare ? call.args[0] : identity();
}

MaybeValue partial(const NativeCall &call) {
  if (call.args.empty()) return call.badCall("partial() needs a function");
  Value function = call.args[0];
  Values first(call.args.begin() + 1, call.args.end());
  Keywords fixed = call.keywords;
  return nativeFunctionOfHost("partial", [function, first, fixed](const NativeCall &inner) {
    Values args = first;
    args.insert(args.end(), inner.args.begin(), inner.args.end());
    Keywords keywords = inner.keywords;
    for (const auto &entry : fixed)
      if (!inner.keyword(entry.first)) keywords.push_back(entry);
    return callValue(function, args, keywords, inner.range, inner.diagnostics);
  });
}

MaybeValue folded(const NativeCall &call) {
  std::optional<Values> items = call.args.size() < 2 ? std::nullopt : iterate(call.args[1], call.range, call.diagnostics);
  if (!items) return call.args.size() < 2 ? MaybeValue(call.badCall("reduce() needs a function and a list")) : std::nullopt;
  if (call.args.size() > 2) items->insert(items->begin(), call.args[2]);
  if (items->empty()) return call.badValue("reduce() of an empty sequence");
  MaybeValue total = items->front();
  for (size_t i = 1; i < items->size() && total && !total->asHost(); ++i)
    total = callValue(call.args[0], {*total, (*items)[i]}, {}, call.range, call.diagnostics);
  return total;
}

MaybeValue makeNamedTuple(const NativeCall &call) {
  const Value *name = call.argument(0, "typename"), *fieldList = call.argument(1, "field_names"), *defaults = call.keyword("defaults");
  if (!name || !name->asString() || !fieldList) return call.badCall("namedtuple() needs a name and its fields");
  std::vector<std::string> fields;
  if (const std::string *text = fieldList->asString()) {
    std::string spaced = *text;
    std::replace(spaced.begin(), spaced.end(), ',', ' ');
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef(spaced).split(words, ' ', -1, false);
    for (llvm::StringRef word : words)
      fields.push_back(word.str());
  } else {
    std::optional<Values> items = iterate(*fieldList, call.range, call.diagnostics);
    if (!items) return std::nullopt;
    for (const Value &item : *items)
      fields.push_back(strOf(item));
  }
  std::vector<MaybeValue> values(fields.size());
  if (const Sequence *given = defaults ? defaults->asSequence() : nullptr)
    for (size_t i = 0; i < std::min(given->items.size(), fields.size()); ++i)
      values[fields.size() - 1 - i] = given->items[given->items.size() - 1 - i];
  return namedTupleClass(*name->asString(), std::move(fields), std::move(values));
}

/// packaging.version.parse("2.4.1+cu121") and Version(...): the numbers in front, which compare as versions do.
MaybeValue parsedVersion(const NativeCall &call) {
  const std::string *text = call.args.empty() ? nullptr : call.args[0].asString();
  if (!text) return Value::host("a version");
  Values numbers;
  llvm::StringRef rest = llvm::StringRef(*text).split('+').first;
  while (!rest.empty()) {
    auto [word, others] = rest.split('.');
    int64_t number = 0;
    if (word.consumeInteger(10, number)) break;
    numbers.push_back(Value::integer(number));
    if (!word.empty()) break; // 2.4rc1
    rest = others;
  }
  return Value::tuple(std::move(numbers));
}

/// importlib.import_module(name) of one of the language's modules; other modules are left to host code.
MaybeValue importedByName(const NativeCall &call) {
  const Value *name = call.argument(0, "name");
  std::shared_ptr<Namespace> ours = name && name->asString() ? languageModule(*name->asString()) : nullptr;
  return ours ? Value::nameSpace(std::move(ours)) : Value::host("importlib.import_module(...)");
}

/// importlib.util.find_spec(name): a module of the language has a spec; a module that the language lacks has none.
MaybeValue foundSpec(const NativeCall &call) {
  const Value *name = call.argument(0, "name");
  if (!name || !name->asString()) return Value::host("importlib.util.find_spec(...)");
  std::shared_ptr<Namespace> ours = languageModule(*name->asString());
  llvm::StringRef package = llvm::StringRef(*name->asString()).split('.').first;
  if (!ours) return package == "triton" || package == "tilewright" ? Value::none() : Value::host("importlib.util.find_spec(...)");
  auto loader = std::make_shared<TableNamespace>("a loader", true), spec = std::make_shared<TableNamespace>("a spec", true);
  loader->add("exec_module", nativeFunction("exec_module", [](const NativeCall &) -> MaybeValue { return Value::none(); }));
  spec->add("name", *name).add("loader", Value::nameSpace(loader));
  return Value::nameSpace(std::move(spec));
}

/// importlib.util.module_from_spec(spec)
MaybeValue moduleOfSpec(const NativeCall &call) {
  std::shared_ptr<Namespace> spec = call.args.empty() ? nullptr : call.args[0].asNamespace();
  MaybeValue name = spec ? spec->lookup("name", call.diagnostics) : std::nullopt;
  return name && name->asString() ? importedByName(NativeCall{call.name, {*name}, {}, call.range, call.diagnostics})
                                  : Value::host("importlib.util.module_from_spec(...)");
}

std::shared_ptr<Namespace> makeSys() {
  auto sys = std::make_shared<TableNamespace>("sys", true);
  sys->add("version_info",
           Value::namedTuple({"major", "minor", "micro", "releaselevel", "serial"},
                             {Value::integer(3), Value::integer(12), Value::integer(0), Value::string("final"), Value::integer(0)}));
  sys->add("platform", Value::string("linux")).add("maxsize", Value::integer(std::numeric_limits<int64_t>::max()));
  return sys;
}

/// operator.ge and similar functions, by which helpers compare versions.
std::shared_ptr<Namespace> makeOperators() {
  auto module = std::make_shared<TableNamespace>("operator", true);
  constexpr std::pair<llvm::StringLiteral, ast::CompareOp> comparisons[] = {{"eq", ast::CompareOp::eq}, {"ne", ast::CompareOp::ne},
                                                                            {"lt", ast::CompareOp::lt}, {"le", ast::CompareOp::le},
                                                                            {"gt", ast::CompareOp::gt}, {"ge", ast::CompareOp::ge}};
  for (auto [name, comparison] : comparisons)
    module->add(name.str(), nativeFunction(name.str(), [op = comparison](const NativeCall &call) -> MaybeValue {
                  if (call.args.size() != 2) return call.badCall("operator." + call.name.str() + "() needs two values");
                  return evaluateCompare(op, call.args[0], call.args[1], call.range, call.diagnostics);
                }));
  return module;
}

std::shared_ptr<Namespace> makeModule(llvm::StringRef path) {
  if (path == "operator") return makeOperators();
  if (path == "sys") return makeSys();
  if (path == "math") return makeMath();
  if (path == "os") return makeOs();
  auto module = std::make_shared<TableNamespace>(path.str(), true);
  if (path == "itertools") {
    module->add("product", nativeFunction("product", cartesian)).add("chain", nativeFunction("chain", chained));
  } else if (path == "functools") {
    for (const char *name : {"lru_cache", "cache", "wraps"})
      module->add(name, nativeFunctionOfHost(name, transparentDecorator));
    module->add("partial", nativeFunctionOfHost("partial", partial)).add("reduce", nativeFunction("reduce", folded));
  } else if (path == "collections") {
    module->add("namedtuple", nativeFunction("namedtuple", makeNamedTuple)).add("OrderedDict", *pythonFunction("dict"));
  } else if (path == "copy") {
    for (const char *name : {"copy", "deepcopy"})
      module->add(name, nativeFunctionOfHost(name, [](const NativeCall &call) -> MaybeValue {
                    return call.args.empty() ? MaybeValue(call.badCall("copy() needs a value")) : copyValue(call.args[0]);
                  }));
  } else if (path == "typing") {
    module->add("TYPE_CHECKING", Value::boolean(false));
  } else if (path == "packaging.version") {
    for (const char *name : {"parse", "Version"})
      module->add(name, nativeFunction(name, parsedVersion));
  } else if (path == "packaging") {
    module->add("version", Value::nameSpace(makeModule("packaging.version")));
  } else if (path == "importlib.metadata") {
    module->add("version", nativeFunction("version", [](const NativeCall &call) -> MaybeValue {
                  const Value *name = call.argument(0, "distribution_name");
                  if (!name || !name->asString()) return Value::host("importlib.metadata.version(...)");
                  return packageVersion(*name->asString(), "importlib.metadata.version('" + *name->asString() + "')");
                }));
  } else if (path == "importlib.util") {
    module->add("find_spec", nativeFunction("find_spec", foundSpec))
        .add("module_from_spec", nativeFunction("module_from_spec", moduleOfSpec));
  } else if (path == "importlib") {
    module->add("util", Value::nameSpace(makeModule("importlib.util")))
        .add("metadata", Value::nameSpace(makeModule("importlib.metadata")))
        .add("import_module", nativeFunction("import_module", importedByName));
  } else {
    return nullptr;
  }
  return module;
}

} // namespace

std::shared_ptr<Namespace> pythonModule(llvm::StringRef path) {
  static const llvm::StringMap<std::shared_ptr<Namespace>> modules = [] {
    llvm::StringMap<std::shared_ptr<Namespace>> all;
    for (const char *name : {"math", "os", "itertools", "functools", "collections", "copy", "typing", "importlib", "importlib.util",
                             "importlib.metadata", "packaging", "packaging.version", "sys", "operator"})
      all[name] = makeModule(name);
    return all;
  }();
  return modules.lookup(path);
}

} // namespace tilewright
