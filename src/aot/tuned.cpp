#include "aot/tuned.h"

#include "aot_runtime/cpu_features.h"
#include "evaluate/module.h"
#include "evaluate/parameters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::aot {
namespace {

/// "a_ptr=*fp16, M=512" as names and texts.
std::vector<std::pair<std::string, std::string>> partsOf(llvm::StringRef key) {
  std::vector<std::pair<std::string, std::string>> parts;
  llvm::SmallVector<llvm::StringRef> words;
  key.split(words, ", ", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    parts.emplace_back(word.split('=').first.str(), word.split('=').second.str());
  return parts;
}

/// Returns the values of the key of an entry, in the order of the kernel's key; 0 for constants that are not integers. Null if the entry is
/// for other types or other constants than the signature, or for values that are not integers.
std::optional<std::vector<int64_t>> problemOf(const TunedEntry &entry, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args) {
  std::vector<std::pair<std::string, std::string>> parts = partsOf(entry.problem.key);
  std::vector<int64_t> values;
  for (const std::string &name : kernel.autotune->key) {
    std::optional<size_t> index = indexOfParameter(kernel, name);
    if (!index) continue; // Triton ignores names that are not parameters
    auto part = llvm::find_if(parts, [&](const auto &each) { return each.first == name; });
    if (part == parts.end()) return std::nullopt;
    int64_t value = 0;
    bool isInteger = !llvm::StringRef(part->second).getAsInteger(10, value);
    const ArgumentSpec &spec = args[*index];
    if (spec.constant ? spec.constant->repr() != part->second : !isInteger) return std::nullopt;
    values.push_back(value);
  }
  for (const auto &[name, text] : parts) {
    std::optional<size_t> index = indexOfParameter(kernel, name);
    if (!index || args[*index].constant || !args[*index].type.isPointer() || text[0] != '*') continue;
    if ("*" + scalarName(args[*index].type.scalar()).str() != text) return std::nullopt;
  }
  return values;
}

/// The specializations with a configuration's constants and options. Null after an error.
std::optional<std::vector<Specialization>> withConfig(const JitFunction &kernel, std::string signature, const Config &config,
                                                      KernelOptions options, Diagnostics &diagnostics) {
  for (const auto &[name, value] : config.kwargs)
    signature += (llvm::StringRef(signature).trim().empty() ? "" : ", ") + name + "=" + value.repr();
  options.numWarps = config.numWarps, options.numStages = config.numStages, options.numCtas = config.numCtas;
  options.maxnreg = config.maxnreg;
  return readSpecializations(kernel, signature, options, diagnostics);
}

/// "sm_90a" of "cuda NVIDIA H200 sm_90a, 132 multiprocessors", "avx512" of "cpu znver4 avx512, 8 threads".
std::string levelOf(llvm::StringRef device) {
  return device.rsplit(", ").first.rsplit(' ').second.str();
}

/// How far a device is from a target: 0 for its own level, more for higher levels. Null for a device of another kind, of
/// another compute capability or of a lower level.
std::optional<int64_t> distanceOf(llvm::StringRef device, const Target &target) {
  std::string level = levelOf(device);
  if (target.gpu) {
    std::optional<GpuTarget> measured = device.starts_with("cuda ") ? gpuTarget(level) : std::nullopt;
    return measured && measured->capability == target.gpu->capability ? std::optional<int64_t>(0) : std::nullopt;
  }
  std::optional<CpuTarget> measured = device.starts_with("cpu ") ? cpuTarget(level) : std::nullopt;
  std::optional<int64_t> of = rankOfLevel(level), wanted = rankOfLevel(target.cpu->name);
  if (!measured || measured->isa != target.cpu->isa || !of || !wanted || *of < *wanted) return std::nullopt;
  return *of - *wanted;
}

/// A winner for a signature.
struct Winner {
  const Config *config;
  std::vector<int64_t> problem;
};

class Selection {
public:
  Selection(const JitFunction &kernel, const std::string &signature, const KernelOptions &options, Diagnostics &diagnostics)
      : kernel(kernel), signature(signature), options(options), diagnostics(diagnostics) {}

  /// Keeps the entries for this signature, by device.
  void read(llvm::ArrayRef<TunedEntry> entries, llvm::ArrayRef<ArgumentSpec> args) {
    std::vector<std::string> list;
    for (const Config &config : kernel.autotune->configs)
      list.push_back(configText(config));
    for (bool ofThisList : {true, false}) // of a problem that was measured over several lists, the kernel's own decides
      for (const TunedEntry &entry : entries) {
        if ((entry.configs == list) != ofThisList) continue;
        std::optional<std::vector<int64_t>> problem = problemOf(entry, kernel, args);
        auto config = llvm::find(list, entry.configs[entry.best]);
        if (!problem || config == list.end()) continue;
        std::vector<Winner> &known = winners[entry.problem.device];
        if (llvm::any_of(known, [&](const Winner &each) { return each.problem == *problem; })) continue;
        known.push_back({&kernel.autotune->configs[static_cast<size_t>(config - list.begin())], std::move(*problem)});
      }
  }

  /// Chooses the device of each target, and adds its winners. False after an error.
  bool add(const std::vector<Target> &targets, const std::vector<std::string> &named, std::vector<Specialization> &result) {
    std::vector<std::pair<std::string, std::vector<std::string>>> chosen; // devices, and the targets that take their measurements
    for (const Target &target : targets) {
      std::optional<std::string> device = deviceFor(target, named);
      if (!device) return false;
      auto known = llvm::find_if(chosen, [&](const auto &each) { return each.first == *device; });
      if (known == chosen.end()) known = chosen.insert(chosen.end(), {*device, {}});
      known->second.push_back(target.text);
    }
    for (const auto &[device, texts] : chosen)
      if (!addWinners(winners[device], texts, result)) return false;
    return true;
  }

private:
  std::optional<std::string> deviceFor(const Target &target, const std::vector<std::string> &named) {
    std::vector<std::string> ofKind, wanted;
    for (const auto &[device, list] : winners) {
      if (!llvm::StringRef(device).starts_with(target.gpu ? "cuda " : "cpu ")) continue;
      ofKind.push_back(device);
      if (llvm::any_of(named, [&](const std::string &text) { return llvm::StringRef(device).contains(text); })) wanted.push_back(device);
    }
    std::vector<std::string> nearest;
    int64_t least = INT64_MAX;
    for (const std::string &device : wanted.empty() ? ofKind : wanted) {
      std::optional<int64_t> far = distanceOf(device, target);
      if (!far || *far > least) continue;
      if (*far < least) nearest.clear();
      least = *far;
      nearest.push_back(device);
    }
    if (nearest.empty()) nearest = wanted; // named by the user
    if (nearest.size() == 1) return nearest.front();
    std::string what = "of kernel '" + kernel.name + "' for the signature '" + signature + "' and the target " + target.text;
    if (nearest.empty())
      diagnostics.error({}, Diag::invalidOption,
                        {"--tuned finds no measurements " + what +
                             (ofKind.empty() ? "" : "; it finds those of other devices: " + llvm::join(ofKind, "; ")),
                         "run 'tilewright tune' for the sizes that matter, give --tuned-file an exported file, or name a device with "
                         "--tuned-device"});
    else
      diagnostics.error({}, Diag::invalidOption,
                        {"--tuned finds measurements of several devices " + what + ": " + llvm::join(nearest, "; "),
                         "choose one: --tuned-device '" + nearest.front() + "'"});
    return std::nullopt;
  }

  bool addWinners(llvm::ArrayRef<Winner> list, const std::vector<std::string> &targets, std::vector<Specialization> &result) {
    std::vector<const Config *> done;
    for (const Winner &winner : list) {
      if (llvm::is_contained(done, winner.config)) continue;
      done.push_back(winner.config);
      std::optional<std::vector<Specialization>> made = withConfig(kernel, signature, *winner.config, options, diagnostics);
      if (!made) return false;
      for (Specialization &each : *made) {
        each.targets = targets;
        for (const Winner &other : list)
          if (other.config == winner.config) each.problems.push_back(other.problem);
        result.push_back(std::move(each));
      }
    }
    return true;
  }

  const JitFunction &kernel;
  const std::string &signature;
  const KernelOptions &options;
  Diagnostics &diagnostics;
  std::map<std::string, std::vector<Winner>> winners; // of each device
};

/// A heuristic depends on the configuration, which a launch chooses: a value that a signature gives must be right for all of them.
bool checkHeuristics(const JitFunction &kernel, const std::vector<std::string> &signatures, const std::vector<Specialization> &made,
                     Diagnostics &diagnostics) {
  std::vector<std::string> given;
  for (const std::string &signature : signatures)
    for (const std::string &name : givenHeuristics(kernel, signature))
      if (!llvm::is_contained(given, name)) given.push_back(name);
  for (const std::string &name : given) {
    size_t index = *indexOfParameter(kernel, name);
    std::vector<std::string> values;
    for (const Specialization &each : made)
      if (each.args[index].constant && !llvm::is_contained(values, each.args[index].constant->repr()))
        values.push_back(each.args[index].constant->repr());
    if (values.size() > 1) {
      diagnostics.error({}, Diag::invalidOption,
                        {"the signatures give '" + name +
                             "' several values, and its heuristic depends on the configuration, which --tuned "
                             "chooses",
                         "leave it out, or give the one value that is right for all launches"});
      return false;
    }
    diagnostics.warning({}, Diag::invalidOption,
                        {"'" + name + "' is " + llvm::join(values, "") +
                             " in all launches, because the signature gives it; its heuristic is not "
                             "evaluated",
                         "leave it out if the launcher can compute it"});
  }
  return true;
}

} // namespace

std::optional<std::vector<Specialization>> tunedSpecializations(const JitFunction &kernel, const std::vector<std::string> &signatures,
                                                                const KernelOptions &options, llvm::ArrayRef<TunedEntry> entries,
                                                                const std::vector<Target> &targets, const std::vector<std::string> &devices,
                                                                Diagnostics &diagnostics) {
  if (!kernel.autotune || kernel.autotune->isAuto) {
    diagnostics.error(
        {}, Diag::invalidOption,
        {"--tuned is for kernels with a list of configurations, and '" + kernel.name + "' has none", "give the constants in --signature"});
    return std::nullopt;
  }
  std::string source = dependencyHash(kernel);
  std::vector<TunedEntry> sorted; // the result must not depend on the order in a file
  for (const TunedEntry &entry : entries)
    if (entry.problem.kernel == kernel.name && entry.problem.source == source) sorted.push_back(entry);
  llvm::sort(sorted, [](const TunedEntry &a, const TunedEntry &b) {
    return std::tie(a.problem.key, a.problem.device, a.configs) < std::tie(b.problem.key, b.problem.device, b.configs);
  });
  for (const std::string &name : devices) {
    std::vector<std::string> known;
    for (const TunedEntry &entry : sorted)
      if (!llvm::is_contained(known, entry.problem.device)) known.push_back(entry.problem.device);
    if (llvm::any_of(known, [&](const std::string &device) { return llvm::StringRef(device).contains(name); })) continue;
    diagnostics.error({}, Diag::invalidOption,
                      {"--tuned-device: there are no measurements of kernel '" + kernel.name + "' on a device '" + name + "'",
                       known.empty() ? "" : "the devices are " + llvm::join(known, "; ")});
    return std::nullopt;
  }
  std::vector<Specialization> result;
  for (const std::string &signature : signatures) {
    std::optional<std::vector<Specialization>> plain = readSpecializations(kernel, signature, options, diagnostics);
    if (!plain) return std::nullopt;
    Selection selection(kernel, signature, options, diagnostics);
    selection.read(sorted, plain->front().args);
    if (!selection.add(targets, devices, result)) return std::nullopt;
  }
  if (!checkHeuristics(kernel, signatures, result, diagnostics)) return std::nullopt;
  return result;
}

} // namespace tilewright::aot
