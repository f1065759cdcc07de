#include "tune/prune.h"

#include "evaluate/evaluate.h"
#include "tune/problem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

using Items = std::vector<std::pair<std::string, Value>>;

/// Calls the functions of prune_configs_by as Python calls them.
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
    return indicesOf(*result, objects);
  }

  /// Returns the best `top_k` of `selected` by perf_model(**arguments and configuration), an estimate of the time.
  std::optional<std::vector<size_t>> best(std::vector<size_t> selected) const {
    const Value &model = kernel.autotune->perfModel;
    if (model.isNone()) return selected;
    std::optional<size_t> limit = topK();
    if (!limit) return std::nullopt;
    if (selected.size() <= std::max(*limit, size_t(1))) return selected;
    std::vector<double> estimates(configs.size());
    for (size_t i : selected) {
      std::optional<Value> estimate = call(model, {}, withConfig(configs[i]));
      std::optional<double> number = estimate ? estimate->toDouble() : std::nullopt;
      if (!number) {
        leaveOut("perf_model");
        return selected;
      }
      estimates[i] = *number;
    }
    std::sort(selected.begin(), selected.end(),
              [&](size_t a, size_t b) { return std::pair(estimates[a], a) < std::pair(estimates[b], b); });
    selected.resize(std::max(*limit, size_t(1)));
    return selected;
  }

private:
  std::optional<Value> call(const Value &function, const std::vector<Value> &positional, const Items &keywords) const {
    std::shared_ptr<const Callable> callable = function.asCallable();
    Diagnostics trial;
    return callable ? callable->call(positional, keywords, range(), trial) : std::nullopt;
  }

  std::optional<std::vector<size_t>> indicesOf(const Value &result, const std::vector<Value> &objects) const {
    const Sequence *list = result.asSequence();
    if (!list) return reportInvalid("early_config_prune", "a list of configurations", result);
    std::vector<size_t> indices;
    for (const Value &item : list->items) {
      auto object = std::dynamic_pointer_cast<ConfigObject>(item.asNamespace());
      auto same = [&](const Config &config) { return object && configText(config) == configText(object->config); };
      const Config *config = llvm::find_if(configs, same);
      if (config == configs.end()) return reportInvalid("early_config_prune", "some of the configurations", item);
      indices.push_back(static_cast<size_t>(config - configs.begin()));
    }
    if (!indices.empty()) return indices;
    diagnostics.error(range(), Diag::prunedAll, {kernel.name});
    return std::nullopt;
  }

  std::optional<size_t> topK() const {
    const Value &given = kernel.autotune->topK;
    double fraction = 1.0;
    if (const double *number = given.asFloat()) fraction = *number;
    std::optional<Int> count = given.isNone() || given.asFloat() ? std::nullopt : given.toInt();
    bool isFraction = given.isNone() || (given.asFloat() && fraction <= 1.0 && fraction >= 0);
    if (!isFraction && (!count || *count < 0)) {
      reportInvalid("top_k", "a float from 0.0 to 1.0 or an int", given);
      return std::nullopt;
    }
    return isFraction ? static_cast<size_t>(static_cast<double>(configs.size()) * fraction) : static_cast<size_t>(*count);
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
  std::nullopt_t reportInvalid(const char *function, const char *wanted, const Value &given) const {
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
  std::optional<std::vector<size_t>> selected = pruner.early();
  return selected ? pruner.best(std::move(*selected)) : std::nullopt;
}

} // namespace tilewright
