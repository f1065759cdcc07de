// The tuner's front end for Python. @autotune owns the Python objects, hooks and benchmarks; the tuner here chooses the configuration.

#include "kernel.h"
#include "raised.h"

#include "runtime/cuda/device.h"
#include "tune/estimate.h"
#include "tune/initial_config.h"
#include "tune/measure.h"
#include "tune/result_check.h"
#include "tune/tuner.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>

using namespace nb::literals;

namespace tilewright::python {

/// A triton.Config, without its hook. Raises where it names what is neither a parameter nor an option.
static Config toConfig(PyKernel &kernel, nb::handle object) {
  Config config;
  for (auto [name, value] : nb::cast<nb::dict>(nb::getattr(object, "kwargs"))) {
    config.kwargs.emplace_back(nb::cast<std::string>(name), toValue(value));
    checkKeyword(*kernel.jit(), config.kwargs.back().first);
  }
  auto number = [&](const char *name, int64_t otherwise) {
    nb::object value = nb::getattr(object, name);
    return value.is_none() ? otherwise : nb::cast<int64_t>(value);
  };
  config.numWarps = number("num_warps", config.numWarps);
  config.numStages = number("num_stages", config.numStages);
  config.numCtas = number("num_ctas", config.numCtas);
  if (!nb::getattr(object, "maxnreg").is_none()) config.maxnreg = number("maxnreg", 0);
  return config;
}

static std::string textOfConfig(PyKernel &kernel, nb::handle object) {
  return configText(toConfig(kernel, object));
}

/// For each configuration, the index of the first one that is equivalent on a CPU.
static std::vector<size_t> alikeConfigs(PyKernel &kernel, nb::list objects) {
  std::vector<Config> configs;
  for (nb::handle object : objects)
    configs.push_back(toConfig(kernel, object));
  return firstAlike(*kernel.jit(), configs, true);
}

/// By configuration, the first one with the same values for the kernel's parameters.
static std::vector<size_t> constantsOf(PyKernel &kernel, nb::list objects) {
  std::vector<Config> configs;
  for (nb::handle object : objects)
    configs.push_back(toConfig(kernel, object));
  return sameConstants(configs);
}

static TuneProblem problemOf(PyKernel &kernel, std::string source, const std::vector<std::string> &keys, nb::tuple args, nb::dict kwargs) {
  std::shared_ptr<const JitFunction> function = kernel.jit();
  Call call;
  readKnownCall(*function, UnpackedArguments(args, kwargs), call);
  Diagnostics diagnostics;
  if (!place(*function, call, diagnostics)) raiseErrors(diagnostics, function.get());
  return tuneProblem(*function, std::move(source), namedParameters(*function, keys), call.arguments, call.options);
}

/// Numbers are the times of a configuration in milliseconds, the median first; a string says why it failed. `group`: of its results.
static Measured toMeasured(nb::handle result, size_t group) {
  if (PyUnicode_Check(result.ptr())) return {{}, nb::cast<std::string>(result)};
  Measured measured;
  measured.group = group;
  for (nb::handle time : nb::iter(result))
    measured.milliseconds.push_back(nb::cast<double>(nb::float_(time)));
  for (double time : measured.milliseconds)
    if (!std::isfinite(time)) return {{}, "its time is " + std::to_string(time)};
  return measured;
}

/// What of a list of results Python knows: lists of times, or the reason of the failure.
static nb::list fromResults(const std::vector<Measured> &results) {
  nb::list list;
  for (const Measured &result : results)
    list.append(result.milliseconds.empty() ? nb::cast(result.failure) : nb::cast(result.milliseconds));
  return list;
}

/// A ResultCheck of tensors that may export their memory.
struct StoredResultCheck : ResultCheck {
  StoredResultCheck(llvm::ArrayRef<Written> tensors, StoredObjects kept) : ResultCheck(tensors), kept(std::move(kept)) {}
  StoredObjects kept;
};

/// The part of a search that compares results. `check()` -> ResultCheck or None; is_confirmed(index, group) -> bool or None.
static GroupCallbacks groupCallbacks(Raised &raised, const nb::callable &check, const nb::callable &isConfirmed,
                                     std::vector<size_t> constants) {
  GroupCallbacks callbacks;
  callbacks.constants = std::move(constants);
  callbacks.difference = [&](size_t group, size_t expected) {
    return raised.call(std::string(), [&] { return nb::cast<StoredResultCheck &>(check()).difference(group, expected); });
  };
  callbacks.isIncomplete = [&](size_t group, size_t other) {
    return raised.call(false, [&] { return nb::cast<StoredResultCheck &>(check()).isIncomplete(group, other); });
  };
  callbacks.isConfirmed = [&](size_t config, size_t group) {
    return raised.call(std::optional<bool>(), [&] { return nb::cast<std::optional<bool>>(isConfirmed(config, group)); });
  };
  return callbacks;
}

/// measure(index, best) -> (list of times or a reason, group); try_out(index) -> group, or None if it does not work; compile(index) -> a
/// reason or None. An exception of theirs ends the tuning.
static nb::tuple tuneConfigs(const std::optional<TuneProblem> &problem, const std::vector<std::string> &configs, nb::callable measure,
                             nb::callable tryOut, nb::callable compile, bool keeps, bool mayRepeat, int64_t compileThreads, bool needsQuiet,
                             std::vector<size_t> sameAs, nb::callable check, nb::callable isConfirmed, std::vector<size_t> constants) {
  Raised raised;
  TunerCallbacks callbacks;
  callbacks.groups = groupCallbacks(raised, check, isConfirmed, std::move(constants));
  callbacks.usesCache = keeps;
  callbacks.mayRepeat = mayRepeat;
  callbacks.compileThreads = compileThreads;
  callbacks.needsQuiet = needsQuiet;
  callbacks.sameAs = std::move(sameAs);
  callbacks.measure = [&](size_t config, std::optional<double> best) {
    return raised.call(std::optional<Measured>(), [&] {
      auto [result, group] = nb::cast<std::pair<nb::object, size_t>>(measure(config, best));
      return std::optional(toMeasured(result, group));
    });
  };
  callbacks.tryOut = [&](size_t config) {
    return raised.call(std::optional<size_t>(), [&] { return nb::cast<std::optional<size_t>>(tryOut(config)); });
  };
  callbacks.compile = [&](size_t config) {
    return raised.call(std::optional<std::string>("its compilation raised"),
                       [&] { return nb::cast<std::optional<std::string>>(compile(config)); });
  };
  Diagnostics diagnostics;
  std::optional<TuneOutcome> outcome;
  {
    WithoutGil release;
    outcome = tune(problem ? &*problem : nullptr, configs, callbacks, diagnostics);
  }
  if (raised.first) std::rethrow_exception(raised.first);
  showWarnings(diagnostics);
  nb::list disagreements; // warnings for the user
  for (const Measured &result : outcome->results)
    if (outcome->measured && isOtherResults(result.failure)) disagreements.append(result.failure + "; " + decisionText(outcome->decision));
  return nb::make_tuple(outcome->best, fromResults(outcome->results), outcome->measured, outcome->seconds, disagreements);
}

/// Tensors as arguments; `kept` owns what they point into.
static llvm::SmallVector<Argument, 16> tensorArguments(nb::list tensors, StoredObjects &kept) {
  KeepScope scope(kept);
  llvm::SmallVector<Argument, 16> arguments;
  for (nb::handle tensor : tensors)
    arguments.push_back(toArgument(tensor, nullptr));
  return arguments;
}

/// Times runs as all front ends do. before() and after() are not measured, and prepareCaches runs before each run(). Runs on a GPU if
/// `device` is not negative, otherwise on `threads` threads of the CPU (0: the default). `check`: compares the results of the first run
/// with those of other configurations. Returns the times, and the group of the results.
static nb::object measureCalls(nb::callable before, nb::callable run, nb::callable after, nb::list tensors, std::optional<double> best,
                               StoredResultCheck *check, int64_t device, uintptr_t stream, int64_t threads) {
  StoredObjects kept;
  llvm::SmallVector<Argument, 16> arguments = tensorArguments(tensors, kept);
  Diagnostics diagnostics;
  std::unique_ptr<GpuTimer> gpuTimer;
  if (device >= 0) gpuTimer = GpuTimer::create(device, reinterpret_cast<void *>(stream), diagnostics);
  Raised raised;
  size_t group = 0;
  auto call = [&](const nb::callable &function) { return raised.call(false, [&] { return function(), true; }); };
  auto runOnce = [&]() -> std::optional<TimedRun> {
    if (check) check->restore();
    if (!call(before)) return std::nullopt;
    std::optional<TimedRun> found;
    if (gpuTimer && !best) {
      WithoutGil release;
      idleGpu();
    }
    if (gpuTimer)
      found = gpuTimer->time([&] { return call(run); }, diagnostics);
    else
      found = raised.call(std::optional<TimedRun>(), [&] { return timeOnCpu(cpuClock(threads), arguments, [&] { return run(), true; }); });
    if (found && check) {
      WithoutGil release;
      Compiling compiling; // on a GPU the comparison is a kernel
      group = check->compare().value_or(0);
    }
    return found && call(after) ? found : std::nullopt;
  };
  auto once = [&] {
    std::optional<TimedRun> found = runOnce();
    while (found && check && check->isUnsure())
      found = runOnce();
    check = nullptr; // of the first run
    return found;
  };
  std::optional<std::vector<double>> times;
  if (!diagnostics.hasErrors()) times = measureRuns(once, best, gpuTimer ? onGpus : onCpus);
  if (raised.first) std::rethrow_exception(raised.first);
  if (!times) raiseErrors(diagnostics, nullptr);
  return nb::make_tuple(*times, group);
}

static Call boundCall(const JitFunction &function, nb::tuple args, nb::dict kwargs) {
  Call call;
  readKnownCall(function, UnpackedArguments(args, kwargs), call);
  Diagnostics diagnostics;
  if (!place(function, call, diagnostics)) raiseErrors(diagnostics, &function);
  return call;
}

/// A guess at the seconds of a launch of so many programs, all parameters given. None where it does not compile.
static std::optional<double> estimateCall(PyKernel &kernel, nb::tuple args, nb::dict kwargs, int64_t programs) {
  std::shared_ptr<const JitFunction> function = kernel.jit();
  Call call = boundCall(*function, args, kwargs);
  Diagnostics diagnostics;
  WithoutGil release;
  Compiling compiling;
  return estimateLaunch(function, call.arguments, call.options, Grid(programs), diagnostics);
}

/// Operations of a program of the grid, outside of products and in them by the type of their operands: the mean of a few; and whether it is
/// known how often each loop runs. None where it does not compile.
static std::optional<std::tuple<double, std::map<std::string, double>, bool>> workOfCall(PyKernel &kernel, nb::tuple args, nb::dict kwargs,
                                                                                         const std::vector<int64_t> &extents) {
  std::shared_ptr<const JitFunction> function = kernel.jit();
  Call call = boundCall(*function, args, kwargs);
  Diagnostics diagnostics;
  WithoutGil release;
  Compiling compiling;
  Grid grid;
  std::copy_n(extents.begin(), std::min(extents.size(), grid.extent.size()), grid.extent.begin());
  std::optional<ProgramWork> work = workOfLaunch(function, call.arguments, call.options, grid, diagnostics);
  if (!work) return std::nullopt;
  return std::tuple(work->arithmetic, work->dotOperations, work->isExact);
}

/// Sizes for the parameters in `names`: ((name, value), ...), and the same for another combination, or None. None where nothing works.
static nb::object chooseConfigForLaunch(PyKernel &kernel, nb::tuple args, nb::dict kwargs, const std::vector<std::string> &names,
                                        nb::callable estimate) {
  Diagnostics diagnostics;
  LaunchOptions options = boundCall(*kernel.jit(), args, kwargs).options;
  const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, diagnostics) : nullptr;
  std::vector<OpenSize> open = openSizes(names, options.device >= 0, device && device->target.clusters);
  auto named = [&](llvm::ArrayRef<int64_t> sizes) {
    nb::dict values;
    for (auto [size, value] : llvm::zip(open, sizes))
      values[size.name.c_str()] = value;
    return values;
  };
  std::optional<InitialConfig> guess =
      chooseInitialSizes(open, [&](llvm::ArrayRef<int64_t> sizes) { return nb::cast<double>(estimate(named(sizes))); });
  if (!guess) return nb::none();
  return nb::make_tuple(named(guess->sizes), guess->other.empty() ? nb::object(nb::none()) : nb::object(named(guess->other)));
}

void defineTuner(nb::module_ &module) {
  nb::class_<TuneProblem>(module, "TuneProblem")
      .def_ro("kernel", &TuneProblem::kernel)
      .def_ro("source", &TuneProblem::source)
      .def_ro("device", &TuneProblem::device)
      .def_ro("key", &TuneProblem::key);
  module.def("alike_configs", &alikeConfigs, "kernel"_a, "configs"_a);
  module.def("config_text", &textOfConfig, "kernel"_a, "config"_a);
  module.def("tune_problem", &problemOf, "What a tuned configuration is right for.", "kernel"_a, "source"_a, "keys"_a, "args"_a,
             "kwargs"_a);
  module.def(
      "drop_from_caches",
      [](nb::list tensors) {
        StoredObjects kept;
        dropFromCaches(tensorArguments(tensors, kept));
      },
      "tensors"_a);
  module.def("preparations", &preparations);
  module.def("flush_caches", [] {
    WithoutGil release;
    flushCaches();
  });
  nb::class_<StoredResultCheck>(module, "ResultCheck",
                                "The results of configurations in these tensors ({name: tensor}), as groups of equal ones.")
      .def("__init__",
           [](StoredResultCheck *self, nb::dict tensors) {
             StoredObjects kept;
             std::vector<ResultCheck::Written> written;
             {
               KeepScope scope(kept);
               for (auto [name, tensor] : tensors)
                 written.push_back({nb::cast<std::string>(name), toArgument(tensor, nullptr)});
             }
             new (self) StoredResultCheck(written, std::move(kept));
           })
      .def("restore", &StoredResultCheck::restore)
      .def("give_up", &StoredResultCheck::giveUp)
      .def("holds_results_of", &StoredResultCheck::holdsResultsOf, "group"_a)
      .def("difference", &StoredResultCheck::difference, "group"_a, "expected"_a)
      .def("compare", [](StoredResultCheck &self) {
        WithoutGil release;
        Compiling compiling; // on a GPU the comparison is a kernel
        return self.compare();
      });
  module.def("results_are_checked", &resultsAreChecked);
  module.def("other_results", &otherResults, "config"_a, "first"_a, "difference"_a);
  module.def("same_constants", &constantsOf, "kernel"_a, "configs"_a);
  module.def("estimate", &estimateCall, "kernel"_a, "args"_a, "kwargs"_a, "programs"_a);
  module.def("program_work", &workOfCall, "kernel"_a, "args"_a, "kwargs"_a, "grid"_a);
  module.def("is_size_name", [](const std::string &name) { return isSizeName(name); }, "name"_a);
  module.def("choose_initial_sizes", &chooseConfigForLaunch, "kernel"_a, "args"_a, "kwargs"_a, "names"_a, "estimate"_a);
  module.def("measure_calls", &measureCalls, "before"_a, "run"_a, "after"_a, "tensors"_a, "best"_a.none(), "check"_a.none() = nb::none(),
             "device"_a = -1, "stream"_a = 0, "threads"_a = 0);
  module.def("tune", &tuneConfigs,
             "The best of `configs`: (index, results, whether they were measured now, seconds, warnings about results that differ).",
             "problem"_a.none(), "configs"_a, "measure"_a, "try_out"_a, "compile"_a, "keeps"_a, "may_repeat"_a, "compile_threads"_a,
             "needs_quiet"_a, "same_as"_a, "check"_a, "is_confirmed"_a, "constants"_a);
}

} // namespace tilewright::python
