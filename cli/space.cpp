#include "cli/space.h"

#include "evaluate/evaluate.h"
#include "evaluate/module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>

namespace tilewright {

namespace {
struct Axis {
  std::string name;
  std::vector<int64_t> values;
};
constexpr size_t maxConfigs = 10000;
} // namespace

static int64_t *optionOf(Config &config, llvm::StringRef name) {
  if (name == "num_warps") return &config.numWarps;
  if (name == "num_stages") return &config.numStages;
  if (name == "num_ctas") return &config.numCtas;
  return nullptr;
}

static Result<Axis> readAxis(llvm::StringRef word, const JitFunction &kernel) {
  auto [name, list] = word.split('=');
  Axis axis{name.str(), {}};
  std::vector<std::string> names = {"num_warps", "num_stages", "num_ctas"};
  for (const JitFunction::Parameter &parameter : kernel.parameters)
    names.push_back(parameter.name);
  if (list.empty()) return Failure{"'" + word.str() + "' is not NAME=VALUE,VALUE"};
  if (!llvm::is_contained(names, axis.name)) {
    std::string near = nearestName(name, names);
    return Failure{"'" + axis.name + "' is not a parameter of kernel '" + kernel.name + "'" +
                   (near.empty() ? "" : "; did you mean '" + near + "'?")};
  }
  llvm::SmallVector<llvm::StringRef> texts;
  list.split(texts, ',');
  for (llvm::StringRef text : texts) {
    int64_t value = 0;
    if (text.getAsInteger(10, value)) return Failure{"'" + text.str() + "' of " + axis.name + " is not an integer"};
    axis.values.push_back(value);
  }
  return axis;
}

Result<std::vector<Config>> readSpace(const std::string &text, const JitFunction &kernel) {
  std::vector<Config> configs(1);
  std::vector<std::string> seen;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ' ', -1, false);
  for (llvm::StringRef word : words) {
    Result<Axis> axis = readAxis(word, kernel);
    if (!axis) return Failure{axis.error()};
    if (llvm::is_contained(seen, axis->name)) return Failure{"'" + axis->name + "' is there twice"};
    seen.push_back(axis->name);
    if (configs.size() * axis->values.size() > maxConfigs)
      return Failure{"these are more than " + std::to_string(maxConfigs) + " configurations"};
    std::vector<Config> longer;
    for (const Config &config : configs)
      for (int64_t value : axis->values) {
        Config &next = longer.emplace_back(config);
        if (int64_t *option = optionOf(next, axis->name))
          *option = value;
        else
          next.kwargs.emplace_back(axis->name, Value::integer(value));
      }
    configs = std::move(longer);
  }
  if (seen.empty()) return Failure{"it is empty"};
  return configs;
}

Result<double> readSeconds(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  std::string unit = end;
  if (end == text.c_str() || !(value > 0) || (unit != "" && unit != "s" && unit != "m"))
    return Failure{"'" + text + "' is not a time such as 90s or 2m"};
  return unit == "m" ? 60 * value : value;
}

std::string configSource(const Config &config) {
  std::string values;
  for (const auto &[name, value] : config.kwargs)
    values += (values.empty() ? "\"" : ", \"") + name + "\": " + value.repr();
  std::string text =
      "triton.Config({" + values + "}, num_warps=" + std::to_string(config.numWarps) + ", num_stages=" + std::to_string(config.numStages);
  return text + (config.numCtas == 1 ? "" : ", num_ctas=" + std::to_string(config.numCtas)) + ")";
}

} // namespace tilewright
