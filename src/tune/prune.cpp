#include "tune/prune.h"

#include "evaluate/evaluate.h"
#include "tune/problem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

using Items = std::vector<std::pair<std::string, Value>>;

/// The functions of prune_configs_by, called in the same way as by Python.
class Pruner {
public:
  Pruner(const JitFunction &kernel, llvm::ArrayRef<Config> configs, llvm::ArrayRef<Argument> known, Diagnostics &diagnostics)
      : kernel(kernel), configs(configs), diagnostics(diagnostics), arguments(argumentDict(kernel, known)) {
    for (const auto &[name, value] : arguments.asDict()->items)
      named.emplace_back(*name.asString(), value);
  }

  /// early_config_prune(configs, named_args, **kwargs) -> configs
  std::optional<std::vector<size_t>> early() const {
    std::vector<size_t> all(configs.size());
    std::iota(all.begin(), all.end(), size_t(0));
    const Value &function = kernel.autotune->earlyPrune;
    if (function.isNone()) return all;
    std::vector<Value> objects;
    for (const Config &config : configs)
      objects.push_back(Value::nameSpace(std::make_shared<ConfigObject>(config)));
    std::vector<Value> positional{Value::list(objects), arguments};
    std::optional<Value> result = call(function, positional, named);
    if (!result) result = call(function, positional, {}); // it takes no keywords
    if (!result || result->asHost()) {
      leaveOut("early_config_prune");
      return all;
    }
    return placesOf(*result, objects);
  }

  /// perf_model(**arguments and configuration) -> an estimate of the time. The best `top_k` of `kept`.
  std::optional<std::vector<size_t>> best(std::vector<size_t> kept) const {
    const Value &model = kernel.autotune->perfModel;
    if (model.isNone()) return kept;
    std::optional<size_t> most = topK();
    if (!most) return std::nullopt;
    if (kept.size() <= std::max(*most, size_t(1))) return kept;
    std::vector<double> estimates(configs.size());
    for (size_t i : kept) {
      std::optional<Value> estimate = call(model, {}, withConfig(configs[i]));
      std::optional<double> number = estimate ? estimate->toDouble() : std::nullopt;
      if (!number) {
        leaveOut("perf_model");
        return kept;
      }
      estimates[i] = *number;
    }
    std::sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return std::pair(estimates[a], a) < std::pair(estimates[b], b); });
    kept.resize(std::max(*most, size_t(1)));
    return kept;
  }

private:
  std::optional<Value> call(const Value &function, const std::vector<Value> &positional, const Items &keywords) const {
    std::shared_ptr<const Callable> callable = function.asCallable();
    Diagnostics trial;
    return callable ? callable->call(positional, keywords, range(), trial) : std::nullopt;
  }

  std::optional<std::vector<size_t>> placesOf(const Value &result, const std::vector<Value> &objects) const {
    const Sequence *list = result.asSequence();
    if (!list) return wrong("early_config_prune", "a list of configurations", result);
    std::vector<size_t> places;
    for (const Value &item : list->items) {
      auto object = std::dynamic_pointer_cast<ConfigObject>(item.asNamespace());
      auto same = [&](const Config &config) { return object && configText(config) == configText(object->config); };
      const Config *config = llvm::find_if(configs, same);
      if (config == configs.end()) return wrong("early_config_prune", "some of the configurations", item);
      places.push_back(static_cast<size_t>(config - configs.begin()));
    }
    if (!places.empty()) return places;
    diagnostics.error(range(), Diag::prunedAll, {kernel.name});
    return std::nullopt;
  }

  std::optional<size_t> topK() const {
    const Value &given = kernel.autotune->topK;
    double share = 1.0;
    if (const double *number = given.asFloat()) share = *number;
    std::optional<Int> count = given.isNone() || given.asFloat() ? std::nullopt : given.toInt();
    bool isShare = given.isNone() || (given.asFloat() && share <= 1.0 && share >= 0);
    if (!isShare && (!count || *count < 0)) {
      wrong("top_k", "a float from 0.0 to 1.0 or an int", given);
      return std::nullopt;
    }
    return isShare ? static_cast<size_t>(static_cast<double>(configs.size()) * share) : static_cast<size_t>(*count);
  }

  Items withConfig(const Config &config) const {
    Items all = named;
    for (const auto &[name, value] : config.kwargs)
      all.emplace_back(name, value);
    all.emplace_back("num_warps", Value::integer(config.numWarps));
    all.emplace_back("num_ctas", Value::integer(config.numCtas));
    all.emplace_back("num_stages", Value::integer(config.numStages));
    if (config.maxnreg) all.emplace_back("maxnreg", Value::integer(*config.maxnreg));
    return all;
  }

  void leaveOut(const char *function) const { diagnostics.warning(range(), Diag::hookLeftOut, {kernel.name, function}); }
  std::nullopt_t wrong(const char *function, const char *wanted, const Value &given) const {
    diagnostics.error(range(), Diag::pruneResult, {kernel.name, function, wanted, given.describe()});
    return std::nullopt;
  }
  SourceRange range() const { return kernel.decl ? kernel.decl->range : SourceRange(); }

  const JitFunction &kernel;
  llvm::ArrayRef<Config> configs;
  Diagnostics &diagnostics;
  Value arguments; // a dict
  Items named;     // the same
};

} // namespace

std::optional<std::vector<size_t>> prunedConfigs(const JitFunction &kernel, llvm::ArrayRef<Config> configs, llvm::ArrayRef<Argument> known,
                                                 Diagnostics &diagnostics) {
  Pruner pruner(kernel, configs, known, diagnostics);
  std::optional<std::vector<size_t>> kept = pruner.early();
  return kept ? pruner.best(std::move(*kept)) : std::nullopt;
}

} // namespace tilewright
