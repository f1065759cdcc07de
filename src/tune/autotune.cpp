// Measuring is honest where each configuration computes the same thing from the same data: tensors that the kernel accumulates into are
// zeroed or restored around each run (outside the timed part), and a configuration that fails to compile or to run is out, not an error.
// On a GPU the device's own clock measures, with its cache emptied before each run.
// A configuration that is twice as slow as the best so far is not worth repeating.

#include "tune/autotune.h"

#include "evaluate/module.h"
#include "pipeline/build_id.h"
#include "runtime/cache.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "support/hash.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace tilewright {

static constexpr double measureSeconds = 0.1; // for one configuration
static constexpr int64_t maxRuns = 200;

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static std::optional<size_t> parameterIndex(const JitFunction &kernel, llvm::StringRef name) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].name == name) return i;
  return std::nullopt;
}

static std::string parameterNames(const JitFunction &kernel) {
  std::string names;
  for (const JitFunction::Parameter &parameter : kernel.parameters)
    names += (names.empty() ? "" : ", ") + parameter.name;
  return names;
}

std::string configText(const Config &config) {
  std::string text;
  for (const auto &[name, value] : config.kwargs)
    text += name + "=" + value.repr() + ", ";
  text += "num_warps=" + std::to_string(config.numWarps) + ", num_stages=" + std::to_string(config.numStages);
  if (config.numCtas != 1) text += ", num_ctas=" + std::to_string(config.numCtas);
  if (config.maxnreg) text += ", maxnreg=" + std::to_string(*config.maxnreg);
  return text;
}

bool applyHeuristics(const JitFunction &kernel, BoundArguments &arguments, Diagnostics &diagnostics) {
  for (const auto &[name, rule] : kernel.heuristics) {
    std::optional<size_t> index = parameterIndex(kernel, name);
    std::shared_ptr<const Callable> callable = rule.asCallable();
    if (!index || !callable) {
      diagnostics.error(kernel.decl ? kernel.decl->range : SourceRange(), Diag::heuristicResult, {name, kernel.name});
      return false;
    }
    std::optional<Value> value =
        callable->call({argumentDict(kernel, arguments)}, {}, kernel.decl ? kernel.decl->range : SourceRange(), diagnostics);
    if (!value) return false;
    arguments[*index] = Argument::constant(std::move(*value));
  }
  return true;
}

TunedKernel::TunedKernel(std::shared_ptr<const JitFunction> function) : plain(std::move(function)) {
  const JitFunction &kernel = plain.function();
  isKey.resize(kernel.parameters.size());
  if (!kernel.autotune) return;
  for (const std::string &name : kernel.autotune->key)
    if (std::optional<size_t> index = parameterIndex(kernel, name)) isKey[*index] = true;
}

TunedKernel::TunedKernel(std::shared_ptr<const IrKernel> text) : plain(std::move(text)) {
  isKey.resize(plain.function().parameters.size());
}

// Done at the first launch, where an error can be reported.
bool TunedKernel::readConfigs(Diagnostics &diagnostics) {
  if (!candidates.empty()) return true;
  const JitFunction &kernel = plain.function();
  SourceRange range = kernel.decl ? kernel.decl->range : SourceRange();
  std::vector<Candidate> found;
  for (const Config &config : kernel.autotune->configs) {
    Candidate &candidate = found.emplace_back();
    candidate.config = &config;
    for (const auto &[name, value] : config.kwargs) {
      std::optional<size_t> index = parameterIndex(kernel, name);
      if (!index) {
        diagnostics.error(range, Diag::configParameter, {kernel.name, name, parameterNames(kernel)});
        return false;
      }
      candidate.values.push_back({*index, Argument::constant(value)});
    }
  }
  if (found.empty()) {
    diagnostics.error(range, Diag::noConfigs, {kernel.name});
    return false;
  }
  auto readNames = [&](const std::vector<std::string> &names, std::vector<size_t> &indices) {
    indices.clear();
    for (const std::string &name : names)
      if (std::optional<size_t> index = parameterIndex(kernel, name)) indices.push_back(*index);
  };
  readNames(kernel.autotune->resetToZero, resetParameters);
  readNames(kernel.autotune->restoreValue, restoreParameters);
  candidates = std::move(found);
  return true;
}

std::optional<TunedKernel::Choice> TunedKernel::apply(const Candidate &candidate, const BoundArguments &known, const LaunchOptions &options,
                                                      Diagnostics &diagnostics) const {
  Choice choice{known, options};
  for (const auto &[index, value] : candidate.values) {
    // A default gives way to the configuration; a value from the caller would be silently ignored.
    const JitFunction::Parameter &parameter = plain.function().parameters[index];
    if (choice.arguments[index].kind() != Argument::Kind::missing && !parameter.defaultValue) {
      diagnostics.error(parameter.range, Diag::configConflict, {plain.function().name, parameter.name});
      return std::nullopt;
    }
    choice.arguments[index] = value;
  }
  KernelOptions &kernelOptions = choice.options.kernel;
  kernelOptions.numWarps = candidate.config->numWarps;
  kernelOptions.numStages = candidate.config->numStages;
  kernelOptions.numCtas = candidate.config->numCtas;
  if (candidate.config->maxnreg) kernelOptions.maxnreg = candidate.config->maxnreg;
  return choice;
}

static bool checkComplete(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() != Argument::Kind::missing) continue;
    diagnostics.error(kernel.parameters[i].range, Diag::missingArgument, {kernel.name, kernel.parameters[i].name});
    return false;
  }
  return true;
}

// Values of the key parameters, types of all others.
static void appendTuneKey(llvm::ArrayRef<Argument> known, const std::vector<bool> &isKey, SpecializationKey &key) {
  for (size_t i = 0; i < known.size(); ++i) {
    key.push_back(static_cast<uint8_t>(known[i].kind()));
    key.push_back(static_cast<uint8_t>(known[i].element()));
    if (!isKey[i]) continue;
    if (known[i].isNumber()) {
      uint64_t bits = static_cast<uint64_t>(known[i].asInteger());
      if (known[i].kind() == Argument::Kind::floating) {
        double value = known[i].asDouble();
        std::memcpy(&bits, &value, 8);
      }
      for (int byte = 0; byte < 8; ++byte)
        key.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
    } else if (std::optional<Value> value = known[i].value()) {
      std::string text = value->repr();
      key.append(text.begin(), text.end());
      key.push_back(0);
    }
  }
}

void TunedKernel::keyText(llvm::ArrayRef<Argument> known, std::string &text) const {
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].kind() == Argument::Kind::missing) continue;
    std::string part;
    if (std::optional<Value> value = known[i].value(); value && isKey[i])
      part = plain.function().parameters[i].name + "=" + value->repr();
    else if (known[i].isPointer())
      part = "*" + scalarName(known[i].element()).str();
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
}

std::string TunedKernel::diskKey(std::string_view key, const LaunchOptions &options) const {
  Hasher hasher;
  hasher.add("autotune").add(buildId()).add(dependencyHash(plain.function())).add(plain.function().name).add(key);
  for (const Candidate &candidate : candidates)
    hasher.add(configText(*candidate.config));
  if (options.device >= 0) {
    Diagnostics ignored;
    const gpu::CudaDevice *device = gpu::CudaDevice::get(options.device, ignored);
    hasher.add("cuda").add(device ? device->name : "").addInteger(device ? device->multiprocessors : 0);
    return hasher.hex();
  }
  hasher.add(hostCpu().cpu).add(hostCpu().name).addInteger(options.threads > 0 ? options.threads : defaultThreads());
  return hasher.hex();
}

namespace {

/// Puts tensors back as they were, and sets others to zero, before each run.
class TensorGuard {
public:
  bool prepare(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed, llvm::ArrayRef<size_t> restored,
               Diagnostics &diagnostics) {
    auto check = [&](size_t index, const char *what) {
      if (known[index].isPointer() && known[index].bytes() > 0) return true;
      diagnostics.error(kernel.parameters[index].range, Diag::tensorNeeded, {kernel.name, what, kernel.parameters[index].name});
      return false;
    };
    for (size_t index : zeroed) {
      if (!check(index, "reset_to_zero")) return false;
      zero.push_back(known[index]);
    }
    for (size_t index : restored) {
      if (!check(index, "restore_value")) return false;
      if (known[index].device() >= 0) {
        if (!keepOnDevice(known[index], diagnostics)) return false;
        continue;
      }
      const char *bytes = static_cast<const char *>(known[index].address());
      saved.push_back({known[index], std::vector<char>(bytes, bytes + known[index].bytes())});
    }
    return true;
  }
  /// `stream`: where tensors of a GPU are reset, in front of the launch.
  void reset(void *stream) const {
    auto handle = static_cast<gpu::StreamHandle>(stream);
    for (const Argument &tensor : zero) {
      size_t bytes = static_cast<size_t>(tensor.bytes());
      if (tensor.device() < 0) {
        std::memset(tensor.address(), 0, bytes);
        continue;
      }
      Diagnostics ignored; // a device that fails here fails the launch, too, which reports it
      const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), ignored);
      if (!device) continue;
      gpu::ContextScope scope(*device);
      device->driver->fillBytes(reinterpret_cast<uint64_t>(tensor.address()), 0, bytes, handle);
    }
    for (const Kept &kept : keptOnDevice) {
      gpu::ContextScope scope(*kept.device);
      kept.device->driver->copyOnDevice(reinterpret_cast<uint64_t>(kept.tensor.address()), kept.copy,
                                        static_cast<size_t>(kept.tensor.bytes()), handle);
    }
    for (const auto &[tensor, bytes] : saved)
      std::memcpy(tensor.address(), bytes.data(), bytes.size());
  }

  TensorGuard() = default;
  TensorGuard(const TensorGuard &) = delete;
  TensorGuard &operator=(const TensorGuard &) = delete;
  ~TensorGuard() {
    for (const Kept &kept : keptOnDevice) {
      gpu::ContextScope scope(*kept.device);
      kept.device->driver->release(kept.copy); // waits for the device
    }
  }

private:
  struct Kept {
    const gpu::CudaDevice *device;
    Argument tensor;
    uint64_t copy;
  };
  bool keepOnDevice(const Argument &tensor, Diagnostics &diagnostics) {
    const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), diagnostics);
    if (!device) return false;
    gpu::ContextScope scope(*device);
    uint64_t copy = 0;
    size_t bytes = static_cast<size_t>(tensor.bytes());
    gpu::DriverStatus state = device->driver->synchronizeContext(); // whoever writes the tensor is done
    if (state == gpu::status::success) state = device->driver->allocate(&copy, bytes);
    if (copy) keptOnDevice.push_back({device, tensor, copy});
    if (state == gpu::status::success)
      state = device->driver->copyOnDevice(copy, reinterpret_cast<uint64_t>(tensor.address()), bytes, nullptr);
    if (state == gpu::status::success) state = device->driver->synchronizeContext();
    if (state == gpu::status::success) return true;
    device->report(state, "keeping a copy of a tensor", diagnostics);
    return false;
  }

  std::vector<Kept> keptOnDevice;
  std::vector<Argument> zero;
  std::vector<std::pair<Argument, std::vector<char>>> saved;
};

/// Memory larger than a GPU's cache; writing it throws out what the run before left there.
class CacheFlush {
public:
  explicit CacheFlush(const gpu::CudaDevice *device) : device(device) {
    if (!device) return;
    gpu::ContextScope scope(*device);
    bytes = static_cast<size_t>(std::max<int64_t>(2 * device->l2Bytes, 1 << 20));
    if (device->driver->allocate(&memory, bytes) != gpu::status::success) memory = 0; // measured with a warm cache, then
  }
  ~CacheFlush() {
    if (!memory) return;
    gpu::ContextScope scope(*device);
    device->driver->release(memory);
  }
  CacheFlush(const CacheFlush &) = delete;
  CacheFlush &operator=(const CacheFlush &) = delete;
  void flush(void *stream) const {
    if (!memory) return;
    gpu::ContextScope scope(*device);
    device->driver->fillBytes(memory, 0, bytes, static_cast<gpu::StreamHandle>(stream));
  }

private:
  const gpu::CudaDevice *device;
  uint64_t memory = 0;
  size_t bytes = 0;
};

std::string firstError(const Diagnostics &diagnostics) {
  for (const Diagnostic &record : diagnostics.all())
    if (record.severity == Severity::error) return record.message;
  return "it has no reason";
}

} // namespace

// The fastest candidate, or -1 after an error.
int64_t TunedKernel::measure(const GridFunction &grid, const BoundArguments &known, const LaunchOptions &options,
                             Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  TensorGuard guard;
  if (!guard.prepare(kernel, known, resetParameters, restoreParameters, diagnostics)) return -1;
  // A value given twice is a mistake of the call, not of one configuration.
  for (const Candidate &candidate : candidates)
    if (!apply(candidate, known, options, diagnostics)) return -1;
  const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, diagnostics) : nullptr;
  if (options.device >= 0 && !device) return -1;
  CacheFlush cache(device);
  double begin = secondsNow(), bestTime = 0;
  int64_t best = -1;
  std::string firstFailure;
  report.timings.clear();
  for (size_t i = 0; i < candidates.size(); ++i) {
    ConfigTiming &timing = report.timings.emplace_back();
    timing.config = candidates[i].config;
    Diagnostics local;
    std::optional<Choice> choice = apply(candidates[i], known, options, local);
    std::optional<Grid> extents;
    if (choice && applyHeuristics(kernel, choice->arguments, local) && checkComplete(kernel, choice->arguments, local))
      extents = grid(choice->arguments, local);
    auto run = [&]() -> std::optional<double> {
      guard.reset(options.stream);
      if (device) {
        cache.flush(options.stream);
        return device->time(
            static_cast<gpu::StreamHandle>(options.stream),
            [&] { return plain.launch(*extents, choice->arguments, choice->options, local); }, local);
      }
      double start = secondsNow();
      if (!plain.launch(*extents, choice->arguments, choice->options, local)) return std::nullopt;
      return secondsNow() - start;
    };
    std::vector<double> times;
    if (extents && run()) { // compiles, and warms up
      double start = secondsNow();
      while (static_cast<int64_t>(times.size()) < maxRuns && (times.size() < 3 || secondsNow() - start < measureSeconds)) {
        std::optional<double> time = run();
        if (!time) break;
        times.push_back(*time);
        if (best >= 0 && times.size() == 1 && *time > 2 * bestTime) break;
      }
    }
    if (times.empty()) {
      timing.failure = firstError(local);
      if (firstFailure.empty()) firstFailure = timing.failure;
      continue;
    }
    std::sort(times.begin(), times.end());
    timing.timing =
        Timing{times[times.size() / 2], times[times.size() / 5], times[times.size() * 4 / 5], static_cast<int64_t>(times.size())};
    if (best < 0 || timing.timing->median < bestTime) {
      best = static_cast<int64_t>(i);
      bestTime = timing.timing->median;
    }
  }
  guard.reset(options.stream);
  report.seconds = secondsNow() - begin;
  report.measured = true;
  if (best < 0)
    diagnostics.error(kernel.decl ? kernel.decl->range : SourceRange(), Diag::configsFailed,
                      {kernel.name, std::to_string(candidates.size()), firstFailure});
  return best;
}

int64_t TunedKernel::select(const GridFunction &grid, const BoundArguments &known, const LaunchOptions &options, Diagnostics &diagnostics) {
  SpecializationKey key;
  key.push_back(static_cast<uint8_t>(options.device + 1)); // what is best for one GPU is not so for another, nor for the CPU
  appendTuneKey(known, isKey, key);
  std::string_view view(reinterpret_cast<const char *>(key.data()), key.size());
  std::lock_guard<std::mutex> guard(lock);
  if (!readConfigs(diagnostics)) return -1;
  if (candidates.size() == 1) return 0;
  if (auto found = chosen.find(view); found != chosen.end()) {
    report.measured = false;
    report.best = candidates[static_cast<size_t>(found->second)].config;
    return found->second;
  }
  const char *setting = std::getenv("TILEWRIGHT_CACHE_AUTOTUNING");
  bool useDisk = cacheEnabled() && !(setting && std::string_view(setting) == "0");
  report = TuneReport();
  keyText(known, report.key);
  int64_t best = -1;
  std::string diskName = useDisk ? diskKey(view, options) : "";
  if (useDisk)
    if (std::optional<std::string> stored = loadCached(diskName, diagnostics)) {
      best = std::strtoll(stored->c_str(), nullptr, 10);
      if (best < 0 || best >= static_cast<int64_t>(candidates.size())) best = -1;
    }
  if (best < 0) {
    best = measure(grid, known, options, diagnostics);
    if (best < 0) return -1;
    if (useDisk) storeCached(diskName, std::to_string(best), diagnostics);
  }
  report.best = candidates[static_cast<size_t>(best)].config;
  chosen.emplace(view, best);
  return best;
}

std::optional<TunedKernel::Choice> TunedKernel::choose(const GridFunction &grid, llvm::ArrayRef<Argument> positional,
                                                       llvm::ArrayRef<NamedArgument> named, const LaunchOptions &options,
                                                       Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  std::optional<BoundArguments> known = bindKnownArguments(kernel, positional, named, diagnostics);
  if (!known) return std::nullopt;
  LaunchOptions placed = options;
  if (!placeLaunch(kernel, *known, placed, diagnostics)) return std::nullopt;
  std::optional<Choice> choice;
  if (kernel.autotune) {
    int64_t best = select(grid, *known, placed, diagnostics);
    if (best < 0) return std::nullopt;
    choice = apply(candidates[static_cast<size_t>(best)], *known, placed, diagnostics);
    if (!choice) return std::nullopt;
  } else {
    choice = Choice{std::move(*known), placed};
  }
  if (!kernel.heuristics.empty() && !applyHeuristics(kernel, choice->arguments, diagnostics)) return std::nullopt;
  if (!checkComplete(kernel, choice->arguments, diagnostics)) return std::nullopt;
  return choice;
}

bool TunedKernel::launch(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                         const LaunchOptions &options, Diagnostics &diagnostics) {
  std::optional<Choice> choice = choose(grid, positional, named, options, diagnostics);
  if (!choice) return false;
  std::optional<Grid> extents = grid(choice->arguments, diagnostics);
  return extents && plain.launch(*extents, choice->arguments, choice->options, diagnostics);
}

} // namespace tilewright
