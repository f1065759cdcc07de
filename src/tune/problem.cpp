#include "tune/problem.h"

#include "runtime/cuda/device.h"
#include "runtime/pool.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

static std::string deviceText(const LaunchOptions &options) {
  if (options.device < 0) {
    int64_t threads = options.threads > 0 ? options.threads : defaultThreads();
    return "cpu " + hostCpu().cpu + " " + hostCpu().name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
  Diagnostics ignored; // a device that cannot be opened fails the launch, which reports it
  const gpu::CudaDevice *device = gpu::CudaDevice::get(options.device, ignored);
  if (!device) return "cuda";
  return "cuda " + device->name + " " + device->target.name + ", " + std::to_string(device->multiprocessors) + " multiprocessors";
}

/// The element types of the tensors in an argument: "*fp32", "(*fp16, *fp16)"; empty where there is none.
static std::string tensorText(const Argument &argument) {
  if (argument.isPointer()) return "*" + scalarName(argument.element()).str();
  if (argument.kind() == Argument::Kind::descriptor) return "tensordesc<" + scalarName(argument.element()).str() + ">";
  std::string members;
  for (const Argument &member : argument.members())
    if (std::string text = tensorText(member); !text.empty()) members += (members.empty() ? "" : ", ") + text;
  return members.empty() ? "" : "(" + members + ")";
}

TuneProblem tuneProblem(const JitFunction &kernel, std::string source, const std::vector<bool> &isKey, llvm::ArrayRef<Argument> known,
                        const LaunchOptions &options) {
  std::string key;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].kind() == Argument::Kind::missing) continue;
    std::optional<Value> value = isKey[i] ? known[i].value() : std::nullopt;
    std::string text = value ? value->repr() : tensorText(known[i]);
    if (!text.empty()) key += (key.empty() ? "" : ", ") + kernel.parameters[i].name + "=" + text;
  }
  return {kernel.name, std::move(source), deviceText(options), std::move(key)};
}

std::vector<bool> namedParameters(const JitFunction &kernel, llvm::ArrayRef<std::string> names) {
  std::vector<bool> named;
  for (const JitFunction::Parameter &parameter : kernel.parameters)
    named.push_back(llvm::is_contained(names, parameter.name));
  return named;
}

static std::string constantsText(const Config &config) {
  std::string text;
  for (const auto &[name, value] : config.kwargs)
    text += name + "=" + value.repr() + ", ";
  return text;
}

std::string configText(const Config &config) {
  std::string text = constantsText(config);
  text += "num_warps=" + std::to_string(config.numWarps) + ", num_stages=" + std::to_string(config.numStages);
  if (config.numCtas != 1) text += ", num_ctas=" + std::to_string(config.numCtas);
  if (config.maxnreg) text += ", maxnreg=" + std::to_string(*config.maxnreg);
  return text;
}

std::vector<size_t> firstAlike(const JitFunction &kernel, llvm::ArrayRef<Config> configs, bool onCpu) {
  bool isAsked = llvm::any_of(kernel.parameters, [](const JitFunction::Parameter &parameter) {
    return llvm::is_contained({"num_warps", "num_stages", "num_ctas", "maxnreg"}, parameter.name);
  });
  std::vector<size_t> first;
  llvm::StringMap<size_t> known;
  for (const Config &config : configs) {
    bool isAlone = !onCpu || isAsked || config.hasHook; // nobody knows what a hook does
    first.push_back(isAlone ? first.size() : known.try_emplace(constantsText(config), first.size()).first->second);
  }
  return first;
}

std::vector<size_t> sameConstants(llvm::ArrayRef<Config> configs) {
  std::vector<size_t> first;
  llvm::StringMap<size_t> known;
  for (const Config &config : configs)
    first.push_back(known.try_emplace(constantsText(config), first.size()).first->second);
  return first;
}

} // namespace tilewright
