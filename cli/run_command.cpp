// `tilewright run`: runs a kernel from its file on data that the command line describes, checks it, times it, or steps through it.

#include "author/comparison.h"
#include "cli/json_output.h"
#include "cli/launch.h"
#include "cli/step.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "runtime/simulated.h"
#include "support/settings.h"
#include "tune/measure.h"
#include "tune/program_work.h"

#include "llvm/Support/JSON.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace json = llvm::json;

namespace tilewright {

const CommandSpec &runSpec() {
  static const std::string simulateHelp = "compile for a GPU (" + defaultGpuText() + ") and simulate its threads; races are errors";
  static const CommandSpec spec = [] {
    CommandSpec result{
        "run",
        "FILE[:KERNEL] --grid EXPR --arg NAME=VALUE ... [--check NAME=FILE.npy] [--time]",
        "Runs a kernel on this machine's CPU, or on a GPU.",
        launchDetails,
        {{"--out", "NAME=FILE.npy", "write a tensor after the run"},
         {"--check", "NAME=FILE.npy", "compare a tensor with a file after the run"},
         {"--rtol", "X", "relative tolerance; default as in verify, by type"},
         {"--atol", "X", "absolute tolerance; the same defaults"},
         {"--print", "NAME", "print a tensor after the run"},
         {"--time", "", "repeat the launch and report its median time"},
         {"--json", "", "print tensors, checks, the configuration and times as one JSON object"},
         {"--interpret", "", "run the reference interpreter instead of compiled code"},
         {"--sanitize", "", "interpret, and stop at the first access out of bounds, race, use of an undefined element, or deadlock"},
         {"--simulate", "[=TARGET]", simulateHelp.c_str()},
         {"--step", "[=N]", "interpret one operation at a time; with N: print the first N"}}};
    result.options.push_back(deviceOption());
    for (const OptionSpec &option : launchOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

namespace {

/// What the default tolerances of --check depend on, besides the type.
struct Computed {
  bool hasDot = false, isOnGpu = false;
};

int checkTensor(const Setup &setup, const Computed &computed, const std::string &text, json::Array &checks) {
  auto [name, path] = *splitPair(text);
  const Tensor &result = *setup.tensor(name);
  Result<Tensor> expected = makeTensor(path, 0);
  if (!expected) return fail("--check " + name + ": " + expected.error());
  if (expected->count() != result.count())
    return fail("--check " + name + ": '" + path + "' holds " + expected->describe() + ", the tensor is " + result.describe());
  author::Tolerances byType = author::tolerancesOf(author::typeName(result.element()), computed.hasDot, computed.isOnGpu);
  std::optional<double> rtol = setup.line.number("--rtol", byType.relative), atol = setup.line.number("--atol", byType.absolute);
  if (!rtol || !atol) return userError;
  auto numbers = [](const Tensor &tensor) { return author::numbersOf(tensor.element(), tensor.contiguousBytes()); };
  author::Comparison comparison = author::compare(numbers(result), numbers(*expected), {*rtol, *atol});
  json::Value difference = std::isfinite(comparison.maxAbsolute) ? json::Value(comparison.maxAbsolute) : json::Value(nullptr);
  checks.push_back(json::Object{
      {"tensor", name}, {"wrong", comparison.wrong}, {"max_abs_difference", std::move(difference)}, {"rtol", *rtol}, {"atol", *atol}});
  char differences[128];
  std::snprintf(differences, sizeof(differences), "max abs difference %.3g (rtol %g, atol %g)", comparison.maxAbsolute, *rtol, *atol);
  if (comparison.wrong == 0) {
    if (!setup.line.has("--json")) std::printf("check %s: ok, %s\n", name.c_str(), differences);
    return success;
  }
  return fail("check " + name + ": " + std::to_string(comparison.wrong) + " of " + std::to_string(result.count()) +
              " elements differ, worst at " + indexText(result, static_cast<int64_t>(*comparison.worst)) + ": " + comparison.value->text() +
              " instead of " + comparison.expected->text() + "; " + differences);
}

json::Value tensorProperties(const Tensor &tensor) {
  json::Array shape(tensor.shape());
  Extremes found = extremesOf(tensor);
  auto number = [](double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); };
  return json::Object{{"element", scalarName(tensor.element()).str()},
                      {"shape", std::move(shape)},
                      {"min", number(found.min)},
                      {"max", number(found.max)},
                      {"mean", number(found.mean)},
                      {"nans", found.nans}};
}

/// Prints, writes and checks tensors after the run, and adds them to `results`.
int showResults(const Setup &setup, const Computed &computed, json::Object &results) {
  int status = success;
  json::Object tensors;
  for (const std::string &name : setup.line.all("--print")) {
    if (!setup.line.has("--json")) std::printf("%s: %s", name.c_str(), summary(*setup.tensor(name)).c_str());
    tensors[name] = tensorProperties(*setup.tensor(name));
  }
  for (const std::string &text : setup.line.all("--out")) {
    auto [name, path] = *splitPair(text);
    Result<void> done = writeTensor(path, *setup.tensor(name));
    if (!done) status = fail("cannot write '" + path + "': " + done.error());
  }
  json::Array checks;
  for (const std::string &text : setup.line.all("--check"))
    if (int one = checkTensor(setup, computed, text, checks); one != success) status = one;
  results["kernel"] = setup.kernel.function->name;
  results["tensors"] = std::move(tensors);
  results["checks"] = std::move(checks);
  return status;
}

void printTuning(const TuneReport &report, bool withTimings) {
  bool isWanted = withTimings || isSwitchedOn("TRITON_PRINT_AUTOTUNING", false);
  if (isWanted && report.outcome.measured) {
    std::fprintf(stderr, "tuned (%s) in %s\n", report.problem.key.c_str(), secondsText(report.outcome.seconds).c_str());
    for (size_t i = 0; i < report.configs.size(); ++i)
      std::fprintf(stderr, "%s\n", timingText(configText(*report.configs[i]), report.outcome.results[i], i == report.outcome.best).c_str());
  }
  std::fprintf(stderr, "chosen: %s\n", configText(*report.best()).c_str());
}

/// Times launches by the GPU's clock, with a cold cache.
std::optional<Timing> timeOnGpu(const Setup &setup, const TunedKernel::Choice &choice, const std::function<bool()> &launch,
                                Diagnostics &diagnostics) {
  std::unique_ptr<LaunchMeter> meter = LaunchMeter::create(*setup.kernel.function, choice.arguments, {}, {}, choice.options, diagnostics);
  if (!meter) return std::nullopt;
  std::vector<double> times = meter->measure([&](Diagnostics &) { return launch(); }, std::nullopt, nullptr).milliseconds;
  if (times.size() < 3) return std::nullopt;
  return Timing{times[0] / 1e3, times[1] / 1e3, times[2] / 1e3, 0};
}

void showTime(const Setup &setup, const Timing &timing, const CompiledKernel &compiled, json::Object &results) {
  int64_t threads = setup.options.threads > 0 ? setup.options.threads : defaultThreads();
  std::string where = setup.gpu ? setup.gpu->gpu().name : std::to_string(threads) + " threads";
  json::Object time{{"median_ms", timing.median * 1e3},
                    {"p20_ms", timing.low * 1e3},
                    {"p80_ms", timing.high * 1e3},
                    {"from_cache", compiled.fromCache()}};
  std::string runs;
  if (setup.gpu) {
    time["device"] = where;
  } else {
    time["runs"] = timing.runs;
    time["threads"] = threads;
    runs = " of " + std::to_string(timing.runs) + " runs";
  }
  results["time"] = std::move(time);
  if (setup.line.has("--json")) return;
  std::printf("time: median %s (20%% %s, 80%% %s)%s on %s; %s\n", secondsText(timing.median).c_str(), secondsText(timing.low).c_str(),
              secondsText(timing.high).c_str(), runs.c_str(), where.c_str(),
              compiled.fromCache() ? "code from the cache" : ("compiled in " + secondsText(compiled.compileSeconds())).c_str());
}

/// Ends a run. With --json it prints all results.
int finishRun(const Setup &setup, json::Object results, int status) {
  if (setup.line.has("--json")) printJson(std::move(results));
  return status;
}

int interpretRun(Setup &setup, const TunedKernel::Choice &choice, const Grid &grid, Diagnostics &diagnostics) {
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*setup.kernel.function, choice.arguments, diagnostics);
  if (!specs) return report(diagnostics, userError);
  InterpretRun run;
  run.request.kernel = setup.kernel.function.get();
  run.request.args = *specs;
  run.request.options = choice.options.kernel;
  run.request.target = hostCpu();
  run.arguments.assign(choice.arguments.begin(), choice.arguments.end());
  run.grid = grid;
  run.checkBounds = setup.line.has("--sanitize");
  run.step = setup.line.has("--step");
  run.stepLimit = std::strtoll(setup.line.get("--step", "").c_str(), nullptr, 10);
  report(diagnostics, success);
  return interpretKernel(run);
}

int simulateRun(Setup &setup, const TunedKernel::Choice &choice, const Grid &grid, Diagnostics &diagnostics) {
  std::string name = setup.line.get("--simulate", "");
  if (name.empty()) name = defaultGpuText();
  std::optional<GpuTarget> target = gpuTargetOfText(name);
  if (!target) return fail("there is no target '" + name + "' to simulate: cuda:NAME, with NAME one of " + gpuTargetNames());
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*setup.kernel.function, choice.arguments, diagnostics);
  if (!specs || !programCount(grid, diagnostics)) return report(diagnostics, userError);
  CompileRequest request;
  request.kernel = setup.kernel.function.get();
  request.args = *specs;
  request.options = choice.options.kernel;
  request.gpu = target;
  std::shared_ptr<SimulatedKernel> kernel = SimulatedKernel::create(request, diagnostics);
  if (!kernel) return report(diagnostics, ourError);
  report(diagnostics, success);
  auto print = [](llvm::StringRef text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  std::string problem = kernel->run(grid, choice.arguments, {/*checkBounds=*/true, print, {}, {}, nullptr});
  return problem.empty() ? int(success) : fail(problem);
}

/// Checks before the run the options that are used after it. Returns 0, or the exit status.
int checkOptions(const Setup &setup) {
  const CommandLine &line = setup.line;
  if (!line.number("--rtol", 0) || !line.number("--atol", 0)) return userError;
  for (const char *engine : {"--interpret", "--sanitize", "--simulate", "--step"})
    if (line.has("--time") && line.has(engine)) return fail(std::string("--time measures compiled code, and ") + engine + " runs none");
  for (const char *engine : {"--interpret", "--sanitize", "--simulate", "--step"})
    if (setup.gpu && line.has(engine))
      return fail(std::string("--device cuda runs compiled code on the GPU, and ") + engine + " runs none there");
  if (!line.get("--step", "").empty() && !line.integer("--step", 1, 1, std::numeric_limits<int64_t>::max())) return userError;
  for (const char *option : {"--out", "--check", "--print"})
    for (const std::string &text : line.all(option)) {
      std::optional<std::pair<std::string, std::string>> pair = splitPair(text);
      bool takesFile = std::string(option) != "--print";
      if (takesFile && !pair) return fail(std::string(option) + " expects NAME=FILE.npy, got '" + text + "'");
      std::string name = takesFile ? pair->first : text;
      if (!setup.tensor(name)) return fail(std::string(option) + ": there is no tensor argument '" + name + "'");
    }
  return success;
}

} // namespace

int runMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(runSpec(), argc, argv, status);
  if (!line) return status;
  Diagnostics diagnostics;
  std::optional<Setup> read = readSetup(std::move(*line), "run", status, diagnostics);
  if (!read) return status;
  Setup &setup = *read;
  if (int failed = checkOptions(setup)) return failed;
  TunedKernel tuned(setup.kernel.function);
  GridFunction grid = [&](llvm::ArrayRef<Argument> arguments, Diagnostics &problems) { return evaluateGrid(setup, arguments, problems); };
  if (setup.kernel.function->autotune && !setup.kernel.function->autotune->isAuto)
    std::fprintf(stderr, "choosing among %zu configurations\n", setup.kernel.function->autotune->configs.size());
  std::optional<TunedKernel::Choice> choice = tuned.choose(grid, {}, setup.named(), setup.options, diagnostics);
  if (!choice) return report(diagnostics, ourError);
  if (choice->report) printTuning(*choice->report, setup.line.has("--time"));
  std::optional<Grid> extents = grid(choice->arguments, diagnostics);
  if (!extents) return report(diagnostics, ourError);

  Computed computed{false, setup.gpu || setup.line.has("--simulate")};
  if (setup.line.has("--check")) {
    Diagnostics ignored; // the run itself reports errors
    std::optional<ProgramWork> work = workOfLaunch(setup.kernel.function, choice->arguments, choice->options, *extents, ignored);
    computed.hasDot = work && work->dots > 0;
  }
  json::Object results;
  if (choice->report) results["configuration"] = configText(*choice->report->best());
  bool isInterpreted = setup.line.has("--interpret") || setup.line.has("--sanitize") || setup.line.has("--step");
  if (isInterpreted || setup.line.has("--simulate")) {
    int ran = isInterpreted ? interpretRun(setup, *choice, *extents, diagnostics) : simulateRun(setup, *choice, *extents, diagnostics);
    if (ran == success) ran = showResults(setup, computed, results);
    return finishRun(setup, std::move(results), ran);
  }
  std::shared_ptr<const CompiledKernel> compiled = tuned.kernel().compile(choice->arguments, choice->options, diagnostics);
  if (!compiled) return report(diagnostics, ourError);
  auto launch = [&] { return tuned.kernel().launch(*extents, choice->arguments, choice->options, diagnostics); };
  if (!launch()) return report(diagnostics, ourError);
  if (setup.gpu && !setup.gpu->fetch(diagnostics)) return report(diagnostics, ourError);
  report(diagnostics, success);
  status = showResults(setup, computed, results);
  if (!checkIntact(setup)) return finishRun(setup, std::move(results), userError);
  if (!setup.line.has("--time")) return finishRun(setup, std::move(results), status);

  std::optional<Timing> timing = setup.gpu ? timeOnGpu(setup, *choice, launch, diagnostics) : timeRuns(launch, 0.1, 0.5);
  if (!timing) return report(diagnostics, ourError);
  showTime(setup, *timing, *compiled, results);
  return finishRun(setup, std::move(results), status);
}

} // namespace tilewright
