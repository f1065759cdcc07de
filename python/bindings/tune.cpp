// The tuner's door for Python: @autotune keeps what is Python's (objects, hooks, benchmarks), and asks here which configuration wins.

#include "kernel.h"

#include "tune/tuner.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <exception>

using namespace nb::literals;

namespace tilewright::python {

/// What the tuner calls a triton.Config. Raises where it names what is neither a parameter nor an option.
static std::string textOfConfig(PyKernel &kernel, nb::handle object) {
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
  return configText(config);
}

static TuneProblem problemOf(PyKernel &kernel, std::string source, const std::vector<std::string> &keys, nb::tuple args, nb::dict kwargs) {
  std::shared_ptr<const JitFunction> function = kernel.jit();
  Call call;
  readKnownCall(*function, UnpackedArguments(args, kwargs), call);
  Diagnostics diagnostics;
  if (!place(*function, call, diagnostics)) raiseErrors(diagnostics, function.get());
  return tuneProblem(*function, std::move(source), namedParameters(*function, keys), call.arguments, call.options);
}

/// Numbers are the times of a configuration in milliseconds, the median first; a string says why it failed.
static Measured toMeasured(nb::handle result) {
  if (PyUnicode_Check(result.ptr())) return {{}, nb::cast<std::string>(result)};
  Measured measured;
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

/// measure(index) -> list of times or a reason; compiles(index) -> bool. What they raise ends the tuning.
static nb::tuple tuneConfigs(const std::optional<TuneProblem> &problem, const std::vector<std::string> &configs, nb::callable measure,
                             nb::callable compiles, bool keeps, bool mayRepeat) {
  std::exception_ptr raised; // the tuner is compiled without exceptions
  TuneDoor door;
  door.keeps = keeps;
  door.mayRepeat = mayRepeat;
  door.measure = [&](size_t config, std::optional<double>) -> std::optional<Measured> {
    try {
      return toMeasured(measure(config));
    } catch (...) {
      raised = std::current_exception();
      return std::nullopt;
    }
  };
  door.compiles = [&](size_t config) {
    try {
      return nb::cast<bool>(compiles(config));
    } catch (...) {
      raised = std::current_exception();
      return false;
    }
  };
  Diagnostics diagnostics;
  std::optional<TuneOutcome> outcome = tune(problem ? &*problem : nullptr, configs, door, diagnostics);
  if (raised) std::rethrow_exception(raised);
  showWarnings(diagnostics);
  return nb::make_tuple(outcome->best, fromResults(outcome->results), outcome->measured, outcome->seconds);
}

void defineTuner(nb::module_ &module) {
  nb::class_<TuneProblem>(module, "TuneProblem")
      .def_ro("kernel", &TuneProblem::kernel)
      .def_ro("source", &TuneProblem::source)
      .def_ro("device", &TuneProblem::device)
      .def_ro("key", &TuneProblem::key);
  module.def("config_text", &textOfConfig, "kernel"_a, "config"_a);
  module.def("tune_problem", &problemOf, "What a tuned configuration is right for.", "kernel"_a, "source"_a, "keys"_a, "args"_a,
             "kwargs"_a);
  module.def("tune", &tuneConfigs, "The best of `configs`: (index, results, whether they were measured now, seconds).", "problem"_a.none(),
             "configs"_a, "measure"_a, "compiles"_a, "keeps"_a, "may_repeat"_a);
}

} // namespace tilewright::python
