// Signatures become specializations. A heuristic that depends on constants alone gives a constant. Of one that depends on arguments, the
// launcher computes the result, and there is a specialization for True and one for False.
//
//   @triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
//   "n=i32, BLOCK=64"     n=i32, BLOCK=64, EVEN=True    if n % 64 == 0 is 1
//                         n=i32, BLOCK=64, EVEN=False   if n % 64 == 0 is 0

#include "aot/build.h"
#include "evaluate/evaluate.h"
#include "evaluate/parameters.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::aot {

// The default of parameters that a signature does not give.
static const char *const notGiven = "\x01not given";

static bool isGiven(const ArgumentSpec &spec) {
  return !spec.constant || !spec.constant->asString() || *spec.constant->asString() != notGiven;
}

Value argumentsOfHeuristic(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args) {
  std::vector<std::pair<Value, Value>> items;
  for (auto [parameter, spec] : llvm::zip(kernel.parameters, args))
    if (isGiven(spec))
      items.emplace_back(Value::string(parameter.name), spec.constant ? *spec.constant : Value::host("an argument of the launch"));
  return Value::dict(std::move(items));
}

static std::vector<std::string> namesOfHeuristics(const JitFunction &kernel) {
  std::vector<std::string> names;
  for (const auto &[name, rule] : kernel.heuristics)
    names.push_back(name);
  return names;
}

std::vector<std::string> namesOfConfigs(const JitFunction &kernel) {
  std::vector<std::string> names;
  if (!kernel.autotune) return names;
  for (const Config &config : kernel.autotune->configs)
    for (const auto &[name, value] : config.kwargs)
      if (!llvm::is_contained(names, name)) names.push_back(name);
  return names;
}

/// Reads a signature in which the parameters of `open` may be missing.
static std::optional<std::vector<ArgumentSpec>> readOpen(JitFunction kernel, const std::string &signature, llvm::ArrayRef<std::string> open,
                                                         Diagnostics &diagnostics) {
  kernel.heuristics.clear();
  for (JitFunction::Parameter &parameter : kernel.parameters)
    if (llvm::is_contained(open, parameter.name)) parameter.defaultValue = Value::string(notGiven);
  return parseSignature(signature, kernel, diagnostics);
}

/// Returns the parameters among `names` that a signature gives, or does not give. Empty after an error.
static std::vector<std::string> parametersOf(const JitFunction &kernel, const std::string &signature, llvm::ArrayRef<std::string> open,
                                             llvm::ArrayRef<std::string> names, bool given) {
  std::vector<std::string> found;
  Diagnostics unused;
  std::optional<std::vector<ArgumentSpec>> args = readOpen(kernel, signature, open, unused);
  if (!args) return found;
  for (auto [parameter, spec] : llvm::zip(kernel.parameters, *args))
    if (isGiven(spec) == given && llvm::is_contained(names, parameter.name)) found.push_back(parameter.name);
  return found;
}

std::vector<std::string> openParameters(const JitFunction &kernel, const std::string &signature) {
  JitFunction plain = kernel;
  plain.autotune.reset();
  std::vector<std::string> configs = namesOfConfigs(kernel), open = namesOfHeuristics(kernel);
  open.insert(open.end(), configs.begin(), configs.end());
  return parametersOf(plain, signature, open, configs, /*given=*/false);
}

std::vector<std::string> givenHeuristics(const JitFunction &kernel, const std::string &signature) {
  std::vector<std::string> rules = namesOfHeuristics(kernel);
  return parametersOf(kernel, signature, rules, rules, /*given=*/true);
}

namespace {
/// Gives the parameters of heuristics their values, one heuristic after another.
class Completion {
public:
  Completion(const JitFunction &kernel, Diagnostics &diagnostics) : kernel(kernel), diagnostics(diagnostics) {}

  bool complete(std::vector<Specialization> &list) {
    for (const auto &[name, rule] : kernel.heuristics) {
      std::vector<Specialization> next;
      for (Specialization &each : list)
        if (!add(name, rule, std::move(each), next)) return false;
      list = std::move(next);
    }
    return true;
  }

private:
  bool add(const std::string &name, const Value &rule, Specialization given, std::vector<Specialization> &result) {
    std::optional<size_t> found = indexOfParameter(kernel, name);
    if (!found || isGiven(given.args[*found])) return result.push_back(std::move(given)), true;
    const size_t index = *found;
    const std::vector<ArgumentSpec> known = given.args;
    Diagnostics trial;
    MaybeValue value = callValue(rule, {argumentsOfHeuristic(kernel, known)}, {}, kernel.parameters[index].range, trial);
    if (value && !value->asHost()) {
      given.args[index].constant = *value;
      given.ruled.push_back({index, {}, 0});
      return result.push_back(std::move(given)), true;
    }
    auto indexOf = [&](llvm::StringRef argument) {
      for (auto [i, spec] : llvm::enumerate(known))
        if (kernel.parameters[i].name == argument && !spec.constant && fitsSlot(spec.type)) return static_cast<int64_t>(i);
      return int64_t{-1};
    };
    Diagnostics reasons;
    std::optional<GridProgram> program = heuristicProgram(rule, kernel, known, indexOf, reasons);
    if (!program) return refuse(name, reasons);
    for (bool isTrue : {true, false}) {
      std::optional<int64_t> fixed = evaluate(*program, {});
      if (fixed && (*fixed != 0) != isTrue) continue;
      Specialization each = given;
      each.args[index].constant = Value::boolean(isTrue);
      each.ruled.push_back({index, fixed ? GridProgram() : *program, isTrue});
      result.push_back(std::move(each));
    }
    return true;
  }

  /// True for integers whose values are those of a launcher's slot.
  static bool fitsSlot(const Type &type) { return type.isScalar() && isInteger(type.scalar()) && scalarName(type.scalar()) != "uint64"; }

  bool refuse(const std::string &name, const Diagnostics &reasons) {
    std::string reason;
    for (const Diagnostic &each : reasons.all())
      if (reason.empty()) reason = ": " + each.message;
    diagnostics.error(
        {}, Diag::invalidOption,
        {"'" + name + "' of kernel '" + kernel.name + "' is not given, and its heuristic depends on arguments of the launch" + reason,
         "give its value in each --signature; it must then be right for each launch that the signature fits"});
    return false;
  }

  const JitFunction &kernel;
  Diagnostics &diagnostics;
};
} // namespace

std::optional<std::vector<Specialization>> readSpecializations(const JitFunction &kernel, const std::string &signature,
                                                               const KernelOptions &options, Diagnostics &diagnostics) {
  std::optional<std::vector<ArgumentSpec>> args = readOpen(kernel, signature, namesOfHeuristics(kernel), diagnostics);
  if (!args) return std::nullopt;
  std::vector<Specialization> result{{std::move(*args), options, {}, {}, {}}};
  if (!Completion(kernel, diagnostics).complete(result)) return std::nullopt;
  return result;
}

} // namespace tilewright::aot
