// Verification and benchmarks of a kernel file for Python. The functions of the file and their tensors are Python objects. src/author
// compares results, writes reports and evaluates times.

#include "core.h"
#include "raised.h"

#include "author/bench.h"
#include "author/measure_callbacks.h"
#include "author/roofline.h"
#include "author/verifier.h"
#include "runtime/cpu_peaks.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "tune/measure_gpu_peaks.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

using namespace nb::literals;

namespace tilewright::python {

// ---- verified outputs

/// The elements of an array of NumPy: of float64, integers, booleans or complex128, back to back.
static author::Numbers toNumbers(nb::object array) {
  author::Numbers numbers;
  char kind = nb::cast<std::string>(array.attr("dtype").attr("kind"))[0];
  numbers.kind = kind == 'f'   ? author::NumberKind::floating
                 : kind == 'c' ? author::NumberKind::complex
                 : kind == 'b' ? author::NumberKind::boolean
                 : kind == 'i' ? author::NumberKind::signedInt
                               : author::NumberKind::unsignedInt;
  numbers.width = nb::cast<size_t>(array.attr("itemsize"));
  numbers.count = nb::cast<size_t>(array.attr("size"));
  numbers.data = reinterpret_cast<const char *>(nb::cast<uintptr_t>(array.attr("ctypes").attr("data")));
  numbers.owner = share(array);
  return numbers;
}

/// A value as _author/tensors.py's NamedTensor describes it.
static author::VerifiedValue toVerified(nb::handle object, Raised &raised) {
  author::VerifiedValue value;
  auto text = [&](const char *name) { return nb::cast<std::string>(object.attr(name)); };
  auto flag = [&](const char *name) { return nb::cast<bool>(object.attr(name)); };
  value.name = text("name"), value.type = text("type"), value.text = text("text");
  value.isTensor = flag("is_tensor"), value.hasShape = flag("has_shape");
  value.isFloat = flag("is_float"), value.isOnGpu = flag("is_on_gpu");
  value.shape = nb::cast<std::vector<int64_t>>(object.attr("shape"));
  value.address = nb::cast<uint64_t>(object.attr("address")), value.width = nb::cast<size_t>(object.attr("width"));
  Shared shared = share(object);
  value.numbers = [shared, &raised] {
    return raised.call(author::Numbers(), [&] { return toNumbers(nb::handle(shared.get()).attr("numbers")()); });
  };
  value.bytes = [shared, &raised] {
    return raised.call(std::string(), [&] {
      nb::bytes bytes = nb::cast<nb::bytes>(nb::handle(shared.get()).attr("bytes")());
      return std::string(bytes.c_str(), bytes.size());
    });
  };
  return value;
}

static std::vector<author::VerifiedValue> toAllVerified(nb::handle objects, Raised &raised) {
  std::vector<author::VerifiedValue> all;
  for (nb::handle object : nb::iter(objects))
    all.push_back(toVerified(object, raised));
  return all;
}

static author::VerifiedRun toRun(nb::handle object, Raised &raised) {
  author::VerifiedRun run;
  run.raised = nb::cast<std::optional<std::string>>(object.attr("raised"));
  if (run.raised) return run;
  if (nb::object results = object.attr("results"); !results.is_none()) run.results = toAllVerified(results, raised);
  run.inputs = toAllVerified(object.attr("inputs"), raised);
  run.hasDot = nb::cast<bool>(object.attr("has_dot"));
  run.outOfBounds = nb::cast<std::vector<std::string>>(object.attr("out_of_bounds"));
  return run;
}

/// `object` has the methods of VerifierCallbacks: begin(variant, number), run(is_reference, pattern), find_writer(result, input, index),
/// find_fault(max_work) and tell(result). Returns the report, or a text if the reference fails for the inputs as given.
static nb::object verifyVariants(const std::vector<author::Variant> &variants, nb::object object, std::optional<double> rtol,
                                 std::optional<double> atol) {
  Raised raised;
  author::VerifierCallbacks callbacks;
  callbacks.begin = [&](const author::Variant &variant, uint64_t number) {
    return raised.call(std::optional<std::vector<author::VerifiedValue>>(),
                       [&] { return std::optional(toAllVerified(object.attr("begin")(variant, number), raised)); });
  };
  callbacks.run = [&](bool isReference, size_t pattern) {
    return raised.call(std::optional<author::VerifiedRun>(),
                       [&] { return std::optional(toRun(object.attr("run")(isReference, pattern), raised)); });
  };
  callbacks.findWriter = [&](std::optional<size_t> result, size_t input, size_t index) {
    return raised.call(std::optional<author::Writer>(), [&]() -> std::optional<author::Writer> {
      nb::object found = object.attr("find_writer")(result, input, index);
      if (found.is_none()) return std::nullopt;
      return author::Writer{nb::cast<std::string>(found[0]), nb::cast<std::array<int64_t, 3>>(found[1])};
    });
  };
  callbacks.findFault = [&](int64_t maxWork) {
    return raised.call(std::optional<std::string>(),
                       [&] { return std::optional(nb::cast<std::string>(object.attr("find_fault")(maxWork))); });
  };
  callbacks.report = [&](const author::VerifyResult &result) {
    return raised.call(false, [&] { return object.attr("tell")(result), true; });
  };
  std::string failure;
  std::optional<author::Report> report;
  {
    WithoutGil release;
    report = author::verify(variants, {rtol, atol}, callbacks, failure);
  }
  if (raised.first) std::rethrow_exception(raised.first);
  return report ? nb::cast(std::move(*report)) : nb::cast(failure);
}

static nb::object tupleOf(const std::vector<int64_t> &numbers) {
  return nb::steal(PySequence_Tuple(nb::cast(numbers).ptr()));
}

static nb::object fromNumber(const author::Number &number) {
  switch (number.kind) {
  case author::NumberKind::floating: return nb::cast(number.real);
  case author::NumberKind::complex: return nb::steal(PyComplex_FromDoubles(number.real, number.imaginary));
  case author::NumberKind::boolean: return nb::cast(number.integer != 0);
  case author::NumberKind::signedInt: return nb::cast(number.integer);
  case author::NumberKind::unsignedInt: return nb::cast(static_cast<uint64_t>(number.integer));
  }
  return nb::none();
}

static void defineReports(nb::module_ &module) {
  using author::Output, author::Report, author::VerifyResult;
  auto orNone = [](const std::optional<author::Number> &number) { return number ? fromNumber(*number) : nb::object(nb::none()); };
  nb::class_<Output>(module, "Output", "One verified tensor.")
      .def_ro("name", &Output::name)
      .def_ro("dtype", &Output::type)
      .def_ro("shape", &Output::shape)
      .def_ro("is_result", &Output::isResult, "Else it is an input that neither function should have changed.")
      .def_prop_ro("is_right", &Output::isRight)
      .def_prop_ro("rtol", [](const Output &output) { return output.tolerances.relative; })
      .def_prop_ro("atol", [](const Output &output) { return output.tolerances.absolute; })
      .def_prop_ro("wrong", [](const Output &output) { return output.comparison.wrong; })
      .def_prop_ro(
          "max_abs_diff", [](const Output &output) { return output.comparison.maxAbsolute; }, "Infinity where one of the two is no number.")
      .def_prop_ro(
          "max_rel_diff", [](const Output &output) { return output.comparison.maxRelative; },
          "Of elements whose expected value is not zero.")
      .def_prop_ro(
          "worst", [](const Output &output) { return output.comparison.worst ? tupleOf(output.worstIndex()) : nb::none(); },
          "Index of the element that is furthest beyond its tolerance; None: all are right.")
      .def_prop_ro("value", [=](const Output &output) { return orNone(output.comparison.value); })
      .def_prop_ro("expected", [=](const Output &output) { return orNone(output.comparison.expected); })
      .def_ro("unwritten", &Output::unwritten)
      .def_ro("first_unwritten", &Output::firstUnwritten)
      .def_prop_ro(
          "writer",
          [](const Output &output) -> nb::object {
            if (!output.writer) return nb::none();
            auto [x, y, z] = output.writer->program;
            return nb::make_tuple(output.writer->kernel, nb::make_tuple(x, y, z));
          },
          "(kernel, program) that wrote the worst element.")
      .def("text", &Output::text);
  nb::class_<VerifyResult>(module, "VerifyResult", "The result for one variant.")
      .def_ro("variant", &VerifyResult::variant)
      .def_prop_ro("kind", [](const VerifyResult &result) { return author::kindName(result.kind); })
      .def_prop_ro(
          "outcome", [](const VerifyResult &result) { return author::outcomeName(result.outcome); },
          "right, wrong, refused (the kernel raises) or skipped (there is no such variant).")
      .def_ro("inputs", &VerifyResult::inputs)
      .def_ro("details", &VerifyResult::details)
      .def_ro("outputs", &VerifyResult::outputs)
      .def("text", &VerifyResult::text)
      .def("__repr__", &VerifyResult::text);
  nb::class_<Report>(module, "Report", "The results of a verification.")
      .def_ro("results", &Report::results)
      .def_prop_ro("correct", &Report::isCorrect)
      .def_prop_ro("details", &Report::details)
      .def("text", &Report::text)
      .def("json", &Report::json)
      .def("as_dict", [](const Report &report) { return nb::module_::import_("json").attr("loads")(report.json()); });
}

static author::InputProperties toProperties(nb::handle object) {
  return {nb::cast<std::optional<std::vector<int64_t>>>(object[0]), nb::cast<std::optional<int64_t>>(object[1]),
          nb::cast<int64_t>(object[2])};
}

static std::vector<author::InputProperties> toAllProperties(nb::handle objects) {
  std::vector<author::InputProperties> properties;
  for (nb::handle object : nb::iter(objects))
    properties.push_back(toProperties(object));
  return properties;
}

static void defineVerify(nb::module_ &module) {
  using author::Variant;
  defineReports(module);
  nb::class_<Variant>(module, "Variant", "Other inputs, derived from those that are given.")
      .def_ro("name", &Variant::name)
      .def_prop_ro("kind", [](const Variant &variant) { return author::kindName(variant.kind); })
      .def_prop_ro("is_as_given", [](const Variant &variant) { return variant.layout == Variant::Layout::asGiven; })
      .def_prop_ro("is_resized", [](const Variant &variant) { return variant.layout == Variant::Layout::resized; })
      .def_prop_ro("step_of_last", &Variant::stepOfLast)
      .def("shape_of", [](const Variant &variant, const std::vector<int64_t> &shape) { return variant.shapeOf(shape); })
      .def("whole_of", [](const Variant &variant, const std::vector<int64_t> &shape) { return variant.wholeOf(shape); })
      .def("integer_of",
           [](const Variant &variant, int64_t value, nb::list inputs) { return variant.integerOf(value, toAllProperties(inputs)); });
  module.def(
      "variants",
      [](nb::list inputs, const std::vector<std::string> &names) {
        std::vector<author::VariantKind> kinds;
        for (const std::string &name : names)
          if (std::optional<author::VariantKind> kind = author::kindNamed(name)) kinds.push_back(*kind);
        return author::variantsOf(toAllProperties(inputs), kinds);
      },
      "All that can be derived from inputs: (shape or None, integer or None, largest index) of each.", "inputs"_a, "kinds"_a);
  std::vector<std::string> kinds;
  for (author::VariantKind kind : author::allKinds)
    kinds.push_back(author::kindName(kind));
  module.attr("variant_kinds") = nb::cast(kinds);
  module.attr("patterns") = nb::make_tuple(author::patterns[0], author::patterns[1]);
  module.def(
      "force_threads",
      [](int64_t threads) {
        std::swap(forcedThreads(), threads);
        return threads;
      },
      "threads"_a);
  module.def("verify", &verifyVariants, "variants"_a, "callbacks"_a, "rtol"_a.none(), "atol"_a.none());
  module.def(
      "tolerances",
      [](const std::string &dtype, bool hasDot, bool isOnGpu) {
        author::Tolerances found = author::tolerancesOf(dtype, hasDot, isOnGpu);
        return std::pair(found.relative, found.absolute);
      },
      "(rtol, atol) of results of a type.", "dtype"_a, "has_dot"_a, "is_on_gpu"_a);
}

// ---- the machine's peak

static nb::dict fromPeaks(const std::string &machine, const MachinePeaks &peaks) {
  nb::dict entries;
  for (const auto &[name, rate] : peaks.rates)
    entries[name.c_str()] = rate;
  entries["disturbed"] = peaks.isDisturbed;
  entries["device"] = machine;
  return entries;
}

static MachinePeaks toPeaks(nb::dict entries) {
  MachinePeaks peaks;
  for (auto [name, value] : entries) {
    if (nb::cast<std::string>(name) == "disturbed") peaks.isDisturbed = nb::cast<bool>(value);
    if (nb::isinstance<nb::float_>(value)) peaks.rates[nb::cast<std::string>(name)] = nb::cast<double>(value);
  }
  return peaks;
}

static nb::dict measuredCpu() {
  MachinePeaks peaks;
  {
    WithoutGil release;
    peaks = measureCpu();
  }
  return fromPeaks(cpuText(), peaks);
}

/// Measures the peak of a GPU.
static nb::dict measuredGpu(int64_t ordinal) {
  std::optional<MachinePeaks> peaks;
  std::string machine;
  Diagnostics diagnostics;
  {
    WithoutGil release;
    Compiling compiling;
    const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, diagnostics);
    if (device) peaks = measureGpu(*device, diagnostics), machine = gpuText(*device);
  }
  if (!peaks) raiseErrors(diagnostics, nullptr);
  return fromPeaks(machine, *peaks);
}

static nb::dict peaksOf(const std::string &machine, nb::callable measure, bool remeasure) {
  Raised raised;
  Diagnostics diagnostics;
  auto measured = [&] {
    return raised.call(std::optional<MachinePeaks>(), [&] { return std::optional(toPeaks(nb::cast<nb::dict>(measure()))); });
  };
  std::optional<MachinePeaks> peaks = peaksOfMachine(machine, measured, remeasure, diagnostics);
  if (raised.first) std::rethrow_exception(raised.first);
  showWarnings(diagnostics);
  return fromPeaks(machine, *peaks);
}

static nb::dict raisePeaks(const std::string &machine, nb::dict peaks, nb::dict other) {
  Diagnostics diagnostics;
  MachinePeaks raised = higherPeaks(toPeaks(peaks), toPeaks(other));
  storePeaks(machine, raised, diagnostics);
  showWarnings(diagnostics);
  return fromPeaks(machine, raised);
}

/// The machine's peak for bench and profile.
static void definePeaks(nb::module_ &module) {
  module.def("measure_cpu", &measuredCpu,
             "The measured peak of this CPU: bytes per second of a copy, reads and writes added, and operations per second by type.");
  module.def("measure_gpu", &measuredGpu, "The measured peak of a CUDA device, with dots on its tensor cores.", "ordinal"_a = 0);
  module.def("peaks_of", &peaksOf, "The stored peak of a machine. Calls measure() if none is stored, or if remeasure is true.", "machine"_a,
             "measure"_a, "remeasure"_a);
  module.def("raise_peaks", &raisePeaks, "Stores a machine's peak, with each rate raised to that of the other peak.", "machine"_a,
             "peaks"_a, "other"_a);
}

// ---- measurements

/// call(function), time(function) -> seconds. Calls of the functions alternate. Returns the milliseconds of each measured call, by
/// function.
static std::vector<std::vector<double>> measureFunctions(size_t functions, nb::callable call, nb::callable time, nb::callable step,
                                                         int64_t warmup, int64_t repeat, double maxSeconds) {
  Raised raised;
  author::MeasureLimits limits{warmup, repeat, maxSeconds};
  author::MeasureCallbacks callbacks;
  callbacks.call = [&](size_t function) { return raised.call(false, [&] { return call(function), true; }); };
  callbacks.time = [&](size_t function) {
    return raised.call(std::optional<double>(), [&] { return std::optional(nb::cast<double>(time(function))); });
  };
  callbacks.step = [&] { raised.call(false, [&] { return step(), true; }); };
  std::optional<std::vector<std::vector<double>>> times = author::measureInterleaved(functions, limits, callbacks);
  if (raised.first) std::rethrow_exception(raised.first);
  return *times;
}

static nb::dict compareTexts(const std::string &before, const std::string &after, const std::string &beforeName,
                             const std::string &afterName) {
  Result<author::Change> found = author::compareResults(before, after, beforeName, afterName);
  if (!found) raise(PyExc_ValueError, found.error());
  nb::dict change;
  change["result"] = found->result, change["ratio"] = found->ratio, change["machine"] = found->machine;
  change["old_ms"] = found->before, change["new_ms"] = found->after;
  return change;
}

static void defineBench(nb::module_ &module) {
  using author::Measurement, author::Work;
  nb::class_<Work>(module, "Work", "What one call does. operations: on floats; 0 where they cannot be counted. dtype: of the first result.")
      .def(nb::init<int64_t, double, bool, std::string>(), "bytes"_a, "operations"_a, "has_dot"_a, "dtype"_a)
      .def_ro("bytes", &Work::bytes)
      .def_ro("operations", &Work::operations)
      .def_ro("has_dot", &Work::hasDot)
      .def_ro("dtype", &Work::type);
  nb::class_<Measurement>(module, "Measurement", "Milliseconds of calls, and what they come to.")
      .def(
          "__init__",
          [](Measurement *self, std::vector<double> kernel, std::vector<double> reference, int64_t warmup, const Work &work,
             nb::dict peaks) {
            std::string machine = peaks.contains("device") ? nb::cast<std::string>(peaks["device"]) : "";
            new (self) Measurement{std::move(kernel), std::move(reference), warmup, work, toPeaks(peaks), machine};
          },
          "kernel"_a, "reference"_a, "warmup"_a, "work"_a, "peaks"_a)
      .def_prop_ro("milliseconds", &Measurement::milliseconds)
      .def("json", &Measurement::json)
      .def("text", &Measurement::text)
      .def("roofline", &Measurement::roofline, "As SVG; None where there are no operations to draw.", "title"_a);
  module.def("measure_functions", &measureFunctions, "functions"_a, "call"_a, "time"_a, "step"_a, "warmup"_a, "repeat"_a, "max_seconds"_a);
  module.def("compare_results", &compareTexts, "How the second of two results differs from the first; ValueError where one is none.",
             "before"_a, "after"_a, "before_name"_a, "after_name"_a);
  module.def(
      "reached_beyond",
      [](nb::dict peaks, const Work &work, double seconds, int64_t cacheBytes) {
        return author::reachedBeyond(toPeaks(peaks), work, seconds, cacheBytes).rates;
      },
      "The rates of a call that are higher than the measured peak.", "peaks"_a, "work"_a, "seconds"_a, "cache_bytes"_a);
  module.def("compare_times", &author::compareTimes, "faster, slower or same: what the new times are.", "before"_a, "after"_a,
             "drift"_a = 1.0);
  module.def(
      "quantiles",
      [](std::vector<double> values, const std::vector<double> &quantiles) {
        if (values.empty()) throw nb::value_error("there are no values");
        for (double quantile : quantiles)
          if (!(quantile >= 0 && quantile <= 1)) throw nb::value_error("a quantile lies between 0 and 1");
        return quantilesOf(std::move(values), quantiles);
      },
      "Quantiles (0 to 1) of the values in any order, interpolated linearly.", "values"_a, "quantiles"_a);
  module.def("interval_of_median", &author::intervalOfMedian, "times"_a);
  module.def(
      "draw_roofline",
      [](const std::string &title, double intensity, double rate, double bandwidth, double peak) {
        return author::drawRoofline({title, intensity, rate, bandwidth, peak});
      },
      "title"_a, "intensity"_a, "rate"_a, "bandwidth"_a, "peak"_a);
}

void defineAuthor(nb::module_ &module) {
  defineVerify(module);
  definePeaks(module);
  defineBench(module);
}

} // namespace tilewright::python
