#include "aot/tuned.h"

#include "evaluate/module.h"

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

size_t indexOfParameter(const JitFunction &kernel, llvm::StringRef name) {
  auto found = llvm::find_if(kernel.parameters, [&](const JitFunction::Parameter &parameter) { return parameter.name == name; });
  return static_cast<size_t>(found - kernel.parameters.begin());
}

/// Returns the values of the key of an entry, in the order of the kernel's key. Null if the entry is for other types or other constants
/// than the signature, or for values that are not integers.
std::optional<std::vector<int64_t>> problemOf(const TunedEntry &entry, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args) {
  std::vector<std::pair<std::string, std::string>> parts = partsOf(entry.problem.key);
  std::vector<int64_t> values;
  for (const std::string &name : kernel.autotune->key) {
    auto part = llvm::find_if(parts, [&](const auto &each) { return each.first == name; });
    if (part == parts.end()) continue; // Triton ignores names that are not parameters
    size_t index = indexOfParameter(kernel, name);
    if (index < args.size() && args[index].constant) {
      if (args[index].constant->repr() != part->second) return std::nullopt;
      continue;
    }
    int64_t value = 0;
    if (llvm::StringRef(part->second).getAsInteger(10, value)) return std::nullopt;
    values.push_back(value);
  }
  for (const auto &[name, text] : parts) {
    size_t index = indexOfParameter(kernel, name);
    if (index >= args.size() || args[index].constant || !args[index].type.isPointer() || text[0] != '*') continue;
    if ("*" + scalarName(args[index].type.scalar()).str() != text) return std::nullopt;
  }
  return values;
}

/// A specialization with a configuration's constants and options. Null after an error.
std::optional<Specialization> withConfig(const JitFunction &kernel, std::string signature, const Config &config, KernelOptions options,
                                         Diagnostics &diagnostics) {
  for (const auto &[name, value] : config.kwargs)
    signature += (llvm::StringRef(signature).trim().empty() ? "" : ", ") + name + "=" + value.repr();
  std::optional<std::vector<ArgumentSpec>> args = parseSignature(signature, kernel, diagnostics);
  if (!args) return std::nullopt;
  options.numWarps = config.numWarps, options.numStages = config.numStages, options.numCtas = config.numCtas;
  options.maxnreg = config.maxnreg;
  return Specialization{std::move(*args), options, {}, true, true};
}

class Selection {
public:
  Selection(const JitFunction &kernel, const std::string &signature, const KernelOptions &options, Diagnostics &diagnostics)
      : kernel(kernel), signature(signature), options(options), diagnostics(diagnostics), source(dependencyHash(kernel)) {}

  /// Adds the winners for one kind of machine: "cpu " or "cuda ". False after an error.
  bool add(llvm::ArrayRef<TunedEntry> entries, llvm::StringRef device, llvm::ArrayRef<ArgumentSpec> args,
           std::vector<Specialization> &result) {
    size_t before = result.size();
    std::map<std::string, size_t> known; // a configuration's specialization
    for (const TunedEntry &entry : entries) {
      if (entry.problem.kernel != kernel.name || entry.problem.source != source ||
          !llvm::StringRef(entry.problem.device).starts_with(device))
        continue;
      std::optional<std::vector<int64_t>> problem = problemOf(entry, kernel, args);
      const std::string &winner = entry.configs[entry.best];
      auto config = llvm::find_if(kernel.autotune->configs, [&](const Config &each) { return configText(each) == winner; });
      if (!problem || config == kernel.autotune->configs.end()) continue;
      auto [place, isNew] = known.emplace(winner, result.size());
      if (isNew) {
        std::optional<Specialization> made = withConfig(kernel, signature, *config, options, diagnostics);
        if (!made) return false;
        made->forCpus = device == "cpu ", made->forGpus = device != "cpu ";
        result.push_back(std::move(*made));
      }
      std::vector<std::vector<int64_t>> &problems = result[place->second].problems;
      if (!llvm::is_contained(problems, *problem)) problems.push_back(std::move(*problem));
    }
    if (result.size() > before) return true;
    diagnostics.error({}, Diag::invalidOption,
                      {"--tuned finds no measurements of kernel '" + kernel.name + "' for the signature '" + signature + "' on " +
                           (device == "cpu " ? "a CPU" : "a GPU"),
                       "run 'tilewright tune' for the sizes that matter, or give --tuned-file an exported file"});
    return false;
  }

private:
  const JitFunction &kernel;
  const std::string &signature;
  const KernelOptions &options;
  Diagnostics &diagnostics;
  std::string source;
};

} // namespace

std::optional<std::vector<Specialization>> tunedSpecializations(const JitFunction &kernel, const std::vector<std::string> &signatures,
                                                                const KernelOptions &options, llvm::ArrayRef<TunedEntry> entries,
                                                                const std::vector<Target> &targets, Diagnostics &diagnostics) {
  if (!kernel.autotune || kernel.autotune->isAuto) {
    diagnostics.error(
        {}, Diag::invalidOption,
        {"--tuned is for kernels with a list of configurations, and '" + kernel.name + "' has none", "give the constants in --signature"});
    return std::nullopt;
  }
  std::vector<TunedEntry> sorted(entries.begin(), entries.end()); // the result must not depend on the order in a folder
  llvm::sort(sorted, [](const TunedEntry &a, const TunedEntry &b) {
    return std::tie(a.problem.key, a.problem.device) < std::tie(b.problem.key, b.problem.device);
  });
  std::vector<Specialization> result;
  for (const std::string &signature : signatures) {
    std::optional<std::vector<ArgumentSpec>> args = parseSignature(signature, kernel, diagnostics);
    if (!args) return std::nullopt;
    Selection selection(kernel, signature, options, diagnostics);
    bool hasCpus = llvm::any_of(targets, [](const Target &target) { return target.cpu.has_value(); });
    bool hasGpus = llvm::any_of(targets, [](const Target &target) { return target.gpu.has_value(); });
    if (hasCpus && !selection.add(sorted, "cpu ", *args, result)) return std::nullopt;
    if (hasGpus && !selection.add(sorted, "cuda ", *args, result)) return std::nullopt;
  }
  return result;
}

} // namespace tilewright::aot
