// twMeasureLaunch and twBench: time launches and host code, compared with the machine's peaks (src/author/bench.h).
#include "api/call.h"
#include "api/sized.h"
#include "api/subject.h"

#include "author/bench.h"
#include "author/measure_callbacks.h"
#include "runtime/cpu_peaks.h"
#include "runtime/cuda/device.h"
#include "tune/measure.h"
#include "tune/measure_gpu_peaks.h"

#include <chrono>
#include <cstring>

using namespace tilewright;
using namespace tilewright::api;

struct TwMeasurement {
  author::Measurement found;
  std::string text, json;
  std::vector<double> samples; // seconds
};

namespace tilewright::api {

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

//===--------------------------------------------------------------------------------------------------------------- peaks

/// Stores the peaks of the machine that the launches ran on in `found`. A peak that the work exceeds was measured too low. There are none
/// for a GPU that cannot be measured.
static void addPeaks(author::Measurement &found, const gpu::CudaDevice *device, bool remeasure, Diagnostics &diagnostics) {
  found.machine = device ? gpuText(*device) : cpuText();
  auto measure = [&]() -> std::optional<MachinePeaks> { return device ? measureGpu(*device, diagnostics) : measureCpu(); };
  found.peaks = peaksOfMachine(found.machine, measure, remeasure, diagnostics).value_or(MachinePeaks());
  int64_t cacheBytes = device ? device->l2Bytes : hostCpu().llcBytes;
  MachinePeaks reached = author::reachedBeyond(found.peaks, found.work, found.milliseconds() / 1e3, cacheBytes);
  if (reached.rates.empty() || found.peaks.rates.empty()) return;
  found.peaks = higherPeaks(measure().value_or(MachinePeaks()), higherPeaks(found.peaks, reached));
  storePeaks(found.machine, found.peaks, diagnostics);
}

//===--------------------------------------------------------------------------------------------------------------- measuring

/// One timed function and its device.
struct Timed {
  std::function<std::optional<std::string>()> run; // returns its error, or nothing
  llvm::ArrayRef<Argument> tensors;                // in the host's memory, to be evicted from the caches
  GpuTimer *gpuTimer = nullptr;                    // null: on the CPU
};

static constexpr int64_t plainWarmup = 10, plainRepeat = 40;

static author::MeasureLimits limitsOf(const TwMeasureOptions *options) {
  author::MeasureLimits limits{plainWarmup, plainRepeat};
  if (options && options->warmup > 0) limits.warmup = options->warmup;
  if (options && options->repeat > 0) limits.repeat = options->repeat;
  return limits;
}

/// Copies the options, which may be null. Nothing after an error, of these options or an earlier one.
static std::optional<TwMeasureOptions> readMeasuring(const TwMeasureOptions *given, Diagnostics &diagnostics) {
  constexpr int64_t limit = 1'000'000;
  TwMeasureOptions options{sizeof(TwMeasureOptions), 0, 0, 0, 0};
  std::string problem = given ? readSized(given, options, "TwMeasureOptions") : "";
  if (!problem.empty()) diagnostics.error({}, Diag::invalidOption, {problem, ""});
  for (auto [name, value] : {std::pair("warmup", options.warmup), std::pair("repeat", options.repeat)})
    if (value < 0 || value > limit)
      diagnostics.error({}, Diag::launchOption, {name, std::to_string(value), "from 0 to " + std::to_string(limit), "0 is the default"});
  return diagnostics.hasErrors() ? std::nullopt : std::optional(options);
}

static std::optional<double> timeOnce(const Timed &timed, bool warmCaches, std::string &failure) {
  auto works = [&] {
    std::optional<std::string> raised = timed.run();
    if (raised) failure = *raised;
    return !raised;
  };
  if (timed.gpuTimer) {
    Diagnostics diagnostics;
    constexpr int maxLateRuns = 8; // runs that a GPU had to wait for; after them the host's delays are accepted
    for (int late = 0;; ++late) {
      std::optional<TimedRun> run = timed.gpuTimer->time(works, diagnostics);
      if (!run && failure.empty()) failure = diagnostics.render();
      if (!run) return std::nullopt;
      if (run->isOfKernel || late == maxLateRuns) return run->seconds;
    }
  }
  if (!warmCaches) dropFromCaches(timed.tensors);
  double start = secondsNow();
  if (!works()) return std::nullopt;
  return secondsNow() - start;
}

/// Returns the milliseconds of each call, by function.
static Result<std::vector<std::vector<double>>> measureAll(llvm::ArrayRef<Timed> functions, const TwMeasureOptions *options) {
  std::string failure;
  author::MeasureCallbacks callbacks;
  callbacks.call = [&](size_t function) {
    std::optional<std::string> raised = functions[function].run();
    if (raised) failure = *raised;
    return !raised;
  };
  callbacks.time = [&](size_t function) { return timeOnce(functions[function], options && options->warmCaches, failure); };
  std::optional<std::vector<std::vector<double>>> times = author::measureInterleaved(functions.size(), limitsOf(options), callbacks);
  if (!times) return Failure{failure};
  return std::move(*times);
}

static TwMeasurement *made(author::Measurement found) {
  auto *measurement = new TwMeasurement{std::move(found), "", "", {}};
  measurement->text = measurement->found.text(), measurement->json = measurement->found.json();
  for (double milliseconds : measurement->found.kernel)
    measurement->samples.push_back(milliseconds / 1e3);
  return measurement;
}

//===--------------------------------------------------------------------------------------------------------------- a launch

/// Returns the type whose peak counts: that of the first tensor of floats.
static std::string typeOf(llvm::ArrayRef<Argument> arguments) {
  for (const Argument &argument : arguments)
    if (argument.isPointer() && isFloat(argument.element())) return author::typeName(argument.element());
  return "float32";
}

struct ChosenLaunch {
  TunedKernel::Choice choice;
  Grid grid;
  const gpu::CudaDevice *device = nullptr; // null: the CPU
};

/// Makes all choices for a launch whose tensors are of known size.
static std::optional<ChosenLaunch> chooseLaunch(TwKernel &kernel, const GridFunction &extents, const Arguments &given,
                                                const LaunchOptions &options, std::string &failure) {
  Diagnostics diagnostics;
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, diagnostics);
  std::optional<Grid> grid = choice ? extents(choice->arguments, diagnostics) : std::nullopt;
  if (!grid || !chooseDevice(kernel.tuned.function(), choice->arguments, choice->options, diagnostics)) {
    failure = diagnostics.render();
    return std::nullopt;
  }
  if (std::optional<std::string> name = pointerOfUnknownExtent(kernel.tuned.function(), choice->arguments)) {
    failure = "measuring needs the size of '" + *name + "': pass a vector, a span, or the pointer's extent\n";
    return std::nullopt;
  }
  ChosenLaunch found{std::move(*choice), *grid};
  if (found.choice.options.device >= 0) found.device = gpu::CudaDevice::get(found.choice.options.device, diagnostics);
  failure = diagnostics.render();
  if (diagnostics.hasErrors()) return std::nullopt;
  reportWarnings(diagnostics);
  return found;
}

/// Times the launch alone, without tuning.
static Result<author::Measurement> measureLaunch(TwKernel &kernel, const ChosenLaunch &chosen, const TwMeasureOptions *options) {
  Diagnostics diagnostics;
  std::unique_ptr<GpuTimer> gpuTimer;
  const LaunchOptions &launch = chosen.choice.options;
  if (chosen.device && !(gpuTimer = GpuTimer::create(launch.device, launch.stream, diagnostics))) return Failure{diagnostics.render()};
  Timed timed;
  timed.tensors = chosen.choice.arguments, timed.gpuTimer = gpuTimer.get();
  timed.run = [&]() -> std::optional<std::string> {
    Diagnostics problems;
    if (kernel.tuned.kernel().launch(chosen.grid, chosen.choice.arguments, launch, problems)) return std::nullopt;
    return problems.render();
  };
  author::Measurement found;
  HostCall counted(HostCall::Mode::plain);
  counted.count(kernel, chosen.grid, chosen.choice.arguments, launch);
  found.work = {tensorBytes(chosen.choice.arguments), counted.operations, counted.hasDot, typeOf(chosen.choice.arguments)};
  Result<std::vector<std::vector<double>>> times = measureAll(timed, options);
  if (!times) return Failure{times.error()};
  found.kernel = std::move((*times)[0]), found.warmup = limitsOf(options).warmup;
  addPeaks(found, chosen.device, options && options->measurePeaks, diagnostics);
  return found;
}

//===-------------------------------------------------------------------------------------------------------------- host code

/// Returns arguments for all tensors in the host's memory.
static std::vector<Argument> argumentsOf(const Tensors &tensors) {
  std::vector<Argument> arguments;
  for (const auto &tensor : tensors)
    arguments.push_back(tensor->argument());
  return arguments;
}

static author::Work workOf(const std::vector<Input> &inputs, const HostCall &call) {
  author::Work work{0, call.operations, call.hasDot, ""};
  for (const Input &input : inputs) {
    work.bytes += static_cast<int64_t>(input.content.size());
    if (work.type.empty() && input.isBlank) work.type = author::typeName(input.type);
  }
  if (work.type.empty()) work.type = inputs.empty() ? "float32" : author::typeName(inputs[0].type);
  return work;
}

static Result<author::Measurement> bench(const TwSubject &subject, int64_t ordinal, uint64_t seed, const TwMeasureOptions *options) {
  Result<std::vector<Input>> inputs = inputsOf(subject, seed);
  if (!inputs) return Failure{inputs.error()};
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = ordinal >= 0 ? gpu::CudaDevice::get(ordinal, diagnostics) : nullptr;
  std::unique_ptr<GpuTimer> gpuTimer = device ? GpuTimer::create(ordinal, nullptr, diagnostics) : nullptr;
  std::optional<Tensors> mine, others;
  if (!diagnostics.hasErrors()) mine = makeTensors(*inputs, 0, device, diagnostics);
  if (mine) others = makeTensors(*inputs, 0, nullptr, diagnostics);
  if (!others) return Failure{diagnostics.render()};
  std::vector<Argument> mineAsArguments = argumentsOf(*mine), othersAsArguments = argumentsOf(*others);
  auto kernel = [&] { return callHost(subject.kernel, subject.context, *mine); };
  auto reference = [&] { return callHost(subject.reference, subject.context, *others); };
  author::Measurement found;
  if (std::optional<std::string> raised = kernel()) return Failure{*raised}; // tunes kernels that need it
  {
    HostCall call(HostCall::Mode::counted);
    if (std::optional<std::string> raised = kernel()) return Failure{*raised};
    found.work = workOf(*inputs, call);
  }
  std::vector<Timed> functions{{kernel, mineAsArguments, gpuTimer.get()}};
  if (subject.reference) functions.push_back({reference, othersAsArguments, nullptr});
  Result<std::vector<std::vector<double>>> times = measureAll(functions, options);
  if (!times) return Failure{times.error()};
  found.kernel = std::move((*times)[0]), found.warmup = limitsOf(options).warmup;
  if (subject.reference) found.reference = std::move((*times)[1]);
  addPeaks(found, device, options && options->measurePeaks, diagnostics);
  return found;
}

static Result<author::Measurement> verifiedBench(const TwSubject &subject, const TwVerifyOptions *given, const TwMeasureOptions *options) {
  TwVerifyOptions copy;
  const TwVerifyOptions *verify = given ? &copy : nullptr;
  if (std::string problem = given ? readSized(given, copy, "TwVerifyOptions") : ""; !problem.empty()) return Failure{problem};
  Result<author::Report> report = verifySubject(subject, verify);
  if (!report) return Failure{report.error()};
  if (!report->isCorrect()) return Failure{"only a correct kernel is measured: " + report->details()};
  return bench(subject, verify ? verify->device : -1, verify ? verify->seed : 0, options);
}

} // namespace tilewright::api

//===---------------------------------------------------------------------------------------------------------- the C interface

extern "C" {

TwMeasurement *twMeasureLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context,
                               const TwArgument *arguments, size_t count, const TwOptions *options, const TwMeasureOptions *measure,
                               TwError **error) {
  return guarded(error, static_cast<TwMeasurement *>(nullptr), [&]() -> TwMeasurement * {
    if (!kernel) return setError(error, TW_ERROR_INVALID_ARGUMENT, noKernel), nullptr;
    Diagnostics diagnostics;
    Arguments converted(arguments, count, diagnostics);
    Call call(*kernel, options, nullptr, diagnostics);
    std::optional<TwMeasureOptions> measuring = readMeasuring(measure, diagnostics);
    if (!measuring) return setError(error, diagnostics), nullptr;
    std::string failure;
    ControlScope scope(call.control());
    GivenGrid extents(*kernel, grid, gridFunction, context);
    if (std::optional<ChosenLaunch> chosen = chooseLaunch(*kernel, extents, converted, call.launch(), failure)) {
      Result<author::Measurement> found = measureLaunch(*kernel, *chosen, &*measuring);
      if (found) return made(std::move(*found));
      failure = found.error();
    }
    setError(error, extents.callbackFailed() ? TW_ERROR_CALLBACK : TW_ERROR_VERIFY, failure);
    return nullptr;
  });
}

TwMeasurement *twBench(const TwSubject *subject, const TwVerifyOptions *verify, const TwMeasureOptions *measure, TwError **error) {
  return guarded(error, static_cast<TwMeasurement *>(nullptr), [&]() -> TwMeasurement * {
    Diagnostics diagnostics;
    std::optional<TwSubject> given = readSubject(subject, "measure", error);
    if (!given) return nullptr;
    std::optional<TwMeasureOptions> measuring = readMeasuring(measure, diagnostics);
    if (!measuring) return setError(error, diagnostics), nullptr;
    Result<author::Measurement> found = verifiedBench(*given, verify, &*measuring);
    if (found) return made(std::move(*found));
    setError(error, TW_ERROR_VERIFY, found.error());
    return nullptr;
  });
}

void twMeasurementFree(TwMeasurement *measurement) {
  delete measurement;
}

int twMeasurementFigures(const TwMeasurement *measurement, TwFigures *result) {
  if (!measurement || !result) return 0;
  TwFigures figures{};
  const author::Measurement &found = measurement->found;
  auto [low, high] = author::spreadOf(found.kernel);
  auto [referenceLow, referenceHigh] = author::spreadOf(found.reference);
  figures.seconds = found.milliseconds() / 1e3, figures.low = low / 1e3, figures.high = high / 1e3;
  figures.samples = measurement->samples.data(), figures.count = measurement->samples.size();
  figures.referenceSeconds = medianOf(found.reference) / 1e3;
  figures.referenceLow = referenceLow / 1e3, figures.referenceHigh = referenceHigh / 1e3;
  figures.bytes = found.work.bytes, figures.operations = found.work.operations;
  figures.bytesPerSecond = found.bytesPerSecond(), figures.operationsPerSecond = found.operationsPerSecond();
  figures.peakBytesPerSecond = found.memoryPeak(), figures.peakOperationsPerSecond = found.peak();
  figures.fractionOfPeak = found.fractionOfPeak(), figures.isBoundByMemory = found.isBoundByMemory();
  figures.machine = found.machine.c_str();
  return writeSized(figures, result);
}

const char *twMeasurementText(const TwMeasurement *measurement) {
  return measurement ? measurement->text.c_str() : "";
}
const char *twMeasurementJson(const TwMeasurement *measurement) {
  return measurement ? measurement->json.c_str() : "";
}

char *twMeasurementRoofline(const TwMeasurement *measurement, const char *title) {
  return guarded(nullptr, static_cast<char *>(nullptr), [&] {
    std::optional<std::string> drawn = !measurement ? std::nullopt : measurement->found.roofline(title ? title : "kernel");
    return drawn ? ::strdup(drawn->c_str()) : nullptr;
  });
}

int twCompare(const char *before, const char *after, TwChange *change, TwError **error) {
  return guarded(error, 0, [&] {
    if (!before || !after || !change) return setError(error, TW_ERROR_INVALID_ARGUMENT, "`before`, `after` or `change` is null\n"), 0;
    Result<author::Change> found = author::compareResults(before, after, "before", "after");
    if (!found) return setError(error, TW_ERROR_INVALID_ARGUMENT, found.error()), 0;
    TwChange made{sizeof(TwChange), found->result == "same" ? 0 : found->result == "slower" ? 1 : -1, found->ratio, found->machine};
    if (writeSized(made, change)) return 1;
    return setError(error, TW_ERROR_INVALID_ARGUMENT, "the size of the TwChange is wrong: set it to sizeof(TwChange)\n"), 0;
  });
}

} // extern "C"
