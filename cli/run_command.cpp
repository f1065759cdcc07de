// `tilewright run`: a kernel from its file, on data that the command line describes, with a check, a time, or a walk through it.

#include "cli/command.h"
#include "cli/options.h"
#include "cli/step.h"
#include "cli/tensor.h"
#include "runtime/pool.h"
#include "runtime/simulated.h"
#include "tune/autotune.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace tilewright {

static const CommandSpec &spec() {
  static const std::string simulateHelp = "compile for a GPU (" + defaultGpuText() + ") and simulate its threads; races are errors";
  static const CommandSpec spec = [] {
    CommandSpec result{
        "run",
        "FILE [--kernel NAME] --grid EXPR --arg NAME=VALUE ... [--check NAME=FILE.npy] [--time]",
        "Runs a kernel on this machine's processor.",
        "A VALUE is a tensor or a Python expression over the file's globals and the arguments before it:\n"
        "  --arg x_ptr=randn:f32[98432]           generators: randn rand randint(low,high) arange ones zeros full(value) empty\n"
        "  --arg a_ptr=randn:f16[64x32]^T         the last two axes swapped in memory\n"
        "  --arg y_ptr=data.npy                   a file; data.npy:bf16 reads its bits as another type of that size\n"
        "  --arg n=98432  --arg ACTIVATION=\"'relu'\"  --arg EVEN='n % 128 == 0'\n"
        "Element types: f32 f16 bf16 f64 i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e5 fp8e4nv ...\n"
        "The grid is one to three expressions over the arguments, those chosen by @triton.autotune and @triton.heuristics included:\n"
        "  --grid 'cdiv(n, BLOCK_SIZE)'           --grid 'cdiv(M, BM), cdiv(N, BN)'\n",
        {{"--kernel", "NAME", "the function; not needed where the file has one"},
         {"--grid", "EXPR", "how many programs"},
         {"--arg", "NAME=VALUE", "one argument; repeat it"},
         {"--out", "NAME=FILE.npy", "write a tensor after the run"},
         {"--check", "NAME=FILE.npy", "compare a tensor with a file after the run"},
         {"--rtol", "X", "relative tolerance; default by type"},
         {"--atol", "X", "absolute tolerance; default by type"},
         {"--print", "NAME", "show a tensor after the run"},
         {"--time", "", "repeat the launch and report its median time"},
         {"--threads", "N", "workers; default TILEWRIGHT_NUM_THREADS or all processors"},
         {"--interpret", "", "run the reference interpreter instead of compiled code"},
         {"--sanitize", "", "interpret, and stop at the first access outside its tensor, race, or wait without end"},
         {"--simulate", "[=TARGET]", simulateHelp.c_str()},
         {"--step", "[=N]", "interpret one operation at a time; with N: show the first N"},
         {"--seed", "N", "for the generators; default 0"}}};
    for (const OptionSpec &option : codeOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

namespace {

/// Everything that the command line says about one run.
struct Setup {
  CommandLine line;
  FileKernel kernel;
  llvm::StringMap<Value> names; // for expressions
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::string> argumentNames;
  std::vector<Argument> values;
  LaunchOptions options;

  const Tensor *tensor(const std::string &name) const {
    for (const auto &[key, tensor] : tensors)
      if (key == name) return &tensor;
    return nullptr;
  }
};

std::optional<std::pair<std::string, std::string>> splitPair(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

// Functions of grids are known without being imported by the kernel file.
void addGridFunctions(llvm::StringMap<Value> &names) {
  for (const char *name : {"cdiv", "next_power_of_2"}) {
    std::optional<Value> function = pythonFunction(std::string("triton.") + name);
    if (!function) function = pythonFunction(name);
    if (function) names[name] = *function;
  }
}

// 0, or the exit status.
int readArguments(Setup &setup, Diagnostics &diagnostics) {
  std::optional<int64_t> seed = setup.line.integer("--seed", 0);
  if (!seed) return userError;
  addGridFunctions(setup.names);
  for (const std::string &text : setup.line.all("--arg")) {
    std::optional<std::pair<std::string, std::string>> pair = splitPair(text);
    if (!pair) return fail("--arg wants NAME=VALUE, not '" + text + "'");
    const auto &[name, value] = *pair;
    setup.argumentNames.push_back(name);
    if (isTensorSource(value)) {
      Result<Tensor> tensor = makeTensor(value, static_cast<uint64_t>(*seed) * 1000 + setup.values.size());
      if (!tensor) return fail("--arg " + name + ": " + tensor.error());
      Argument whole = Argument::pointer(tensor->data(), tensor->element(), tensor->bytes());
      setup.values.push_back(tensor->bytes() ? whole : whole.reaching(0, 0));
      setup.tensors.push_back({name, *tensor});
      continue;
    }
    std::optional<Value> result = evaluateText(value, "--arg " + name, *setup.kernel.module, setup.names, diagnostics);
    if (!result) return report(diagnostics, userError);
    setup.names[name] = *result;
    setup.values.push_back(Argument::constant(*result));
  }
  for (const char *option : {"--out", "--check", "--print"})
    for (const std::string &text : setup.line.all(option)) {
      std::optional<std::pair<std::string, std::string>> pair = splitPair(text);
      bool wantsFile = std::string(option) != "--print";
      if (wantsFile && !pair) return fail(std::string(option) + " wants NAME=FILE.npy, not '" + text + "'");
      std::string name = wantsFile ? pair->first : text;
      if (!setup.tensor(name)) return fail(std::string(option) + ": there is no tensor argument '" + name + "'");
    }
  return success;
}

std::optional<Grid> gridOf(const Value &value, Diagnostics &diagnostics) {
  std::vector<Value> extents;
  if (const Sequence *sequence = value.asSequence())
    extents = sequence->items;
  else
    extents = {value};
  Grid grid;
  grid.rank = static_cast<int64_t>(extents.size());
  for (size_t i = 0; i < extents.size() && i < 3; ++i) {
    std::optional<Int> extent = extents[i].toInt();
    // A host formula with / gives whole floats.
    if (const double *number = extents[i].asFloat(); !extent && number && *number == std::floor(*number) && std::abs(*number) < 0x1p62)
      extent = static_cast<Int>(*number);
    if (!extent || *extent > std::numeric_limits<int64_t>::max() || *extent < std::numeric_limits<int64_t>::min()) {
      diagnostics.error({}, Diag::badGrid, {"extent " + std::to_string(i) + " of the grid is " + extents[i].repr()});
      return std::nullopt;
    }
    grid.extent[i] = static_cast<int64_t>(*extent);
  }
  return grid;
}

// The grid over all arguments, chosen ones included; an expression, or a lambda of the dict of arguments as Triton's hosts write it.
std::optional<Grid> evaluateGrid(const Setup &setup, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  const JitFunction &kernel = *setup.kernel.function;
  llvm::StringMap<Value> names = setup.names;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (std::optional<Value> value = arguments[i].value()) names[kernel.parameters[i].name] = *value;
  std::optional<Value> value = evaluateText(setup.line.get("--grid", "1"), "--grid", *setup.kernel.module, names, diagnostics);
  if (!value) return std::nullopt;
  if (std::shared_ptr<const Callable> callable = value->asCallable()) {
    value = callable->call({argumentDict(kernel, arguments)}, {}, {}, diagnostics);
    if (!value) return std::nullopt;
  }
  return gridOf(*value, diagnostics);
}

std::string secondsText(double seconds) {
  char text[64];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof(text), "%.2f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof(text), "%.3f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof(text), "%.3f s", seconds);
  return text;
}

int checkTensor(const Setup &setup, const std::string &text) {
  auto [name, path] = *splitPair(text);
  const Tensor &result = *setup.tensor(name);
  Result<Tensor> expected = makeTensor(path, 0);
  if (!expected) return fail("--check " + name + ": " + expected.error());
  if (expected->count() != result.count())
    return fail("--check " + name + ": '" + path + "' holds " + expected->describe() + ", the tensor is " + result.describe());
  auto [rtol, atol] = defaultTolerances(result.element());
  std::optional<double> givenRtol = setup.line.number("--rtol", rtol), givenAtol = setup.line.number("--atol", atol);
  if (!givenRtol || !givenAtol) return userError;
  Comparison comparison = compare(result, *expected, *givenRtol, *givenAtol);
  char numbers[128];
  std::snprintf(numbers, sizeof(numbers), "greatest difference %.3g (rtol %g, atol %g)", comparison.worst, *givenRtol, *givenAtol);
  if (comparison.wrong == 0) {
    std::printf("check %s: ok, %s\n", name.c_str(), numbers);
    return success;
  }
  char values[96];
  std::snprintf(values, sizeof(values), "%.9g instead of %.9g", result.get(comparison.firstWrong), expected->get(comparison.firstWrong));
  return fail("check " + name + ": " + std::to_string(comparison.wrong) + " of " + std::to_string(result.count()) +
              " elements differ, first at " + indexText(result, comparison.firstWrong) + ": " + values + "; " + numbers);
}

// After the run: checks first, as later steps may change the tensors.
int showResults(const Setup &setup) {
  int status = success;
  for (const std::string &name : setup.line.all("--print"))
    std::printf("%s: %s", name.c_str(), summary(*setup.tensor(name)).c_str());
  for (const std::string &text : setup.line.all("--out")) {
    auto [name, path] = *splitPair(text);
    Result<void> done = writeTensor(path, *setup.tensor(name));
    if (!done) status = fail("cannot write '" + path + "': " + done.error());
  }
  for (const std::string &text : setup.line.all("--check"))
    if (int one = checkTensor(setup, text); one != success) status = one;
  return status;
}

void printTuning(const TuneReport &tuning) {
  if (!tuning.measured || tuning.timings.empty()) return;
  std::fprintf(stderr, "tuned %s in %s\n", tuning.key.c_str(), secondsText(tuning.seconds).c_str());
  for (const ConfigTiming &timing : tuning.timings)
    std::fprintf(stderr, "  %s %12s  %s\n", timing.config == tuning.best ? "*" : " ",
                 timing.timing ? secondsText(timing.timing->median).c_str() : "failed", configText(*timing.config).c_str());
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
  std::string problem = kernel->run(grid, choice.arguments, {/*checkBounds=*/true, print});
  return problem.empty() ? int(success) : fail(problem);
}

} // namespace

int runMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(spec(), argc, argv, status);
  if (!line) return status;
  if (line->words.size() != 1) return fail("run wants one FILE");
  if (isIrFile(line->words.front())) return fail("run takes Python files; 'tilewright compile' takes IR text");
  Diagnostics diagnostics;
  std::optional<FileKernel> kernel = loadKernel(line->words.front(), line->get("--kernel", ""), diagnostics);
  if (!kernel) return report(diagnostics, ourError);
  Setup setup{std::move(*line), std::move(*kernel), {}, {}, {}, {}, {}};
  std::optional<KernelOptions> options = readCodeOptions(setup.line);
  std::optional<int64_t> threads = setup.line.integer("--threads", 0, 0, 4096);
  if (!options || !threads) return userError;
  // What is read only after the run is checked before it.
  if (!setup.line.number("--rtol", 0) || !setup.line.number("--atol", 0)) return userError;
  if (!setup.line.get("--step", "").empty() && !setup.line.integer("--step", 1, 1, std::numeric_limits<int64_t>::max())) return userError;
  setup.options.kernel = *options;
  setup.options.threads = *threads;
  if (int failed = readArguments(setup, diagnostics)) return failed;
  if (!setup.line.has("--grid")) return fail("run wants --grid EXPR, as in --grid 'cdiv(n, BLOCK_SIZE)'");

  std::vector<NamedArgument> named;
  for (size_t i = 0; i < setup.values.size(); ++i)
    named.push_back({setup.argumentNames[i], setup.values[i]});
  TunedKernel tuned(setup.kernel.function);
  GridFunction grid = [&](llvm::ArrayRef<Argument> arguments, Diagnostics &problems) { return evaluateGrid(setup, arguments, problems); };
  if (setup.kernel.function->autotune)
    std::fprintf(stderr, "choosing among %zu configurations\n", setup.kernel.function->autotune->configs.size());
  std::optional<TunedKernel::Choice> choice = tuned.choose(grid, {}, named, setup.options, diagnostics);
  if (!choice) return report(diagnostics, ourError);
  const char *printTuningVariable = std::getenv("TRITON_PRINT_AUTOTUNING");
  if (setup.line.has("--time") || (printTuningVariable && std::string(printTuningVariable) == "1")) printTuning(tuned.lastReport());
  if (tuned.lastReport().best) std::fprintf(stderr, "chosen: %s\n", configText(*tuned.lastReport().best).c_str());
  std::optional<Grid> extents = grid(choice->arguments, diagnostics);
  if (!extents) return report(diagnostics, ourError);

  if (setup.line.has("--interpret") || setup.line.has("--sanitize") || setup.line.has("--step")) {
    int ran = interpretRun(setup, *choice, *extents, diagnostics);
    return ran == success ? showResults(setup) : ran;
  }
  if (setup.line.has("--simulate")) {
    int ran = simulateRun(setup, *choice, *extents, diagnostics);
    return ran == success ? showResults(setup) : ran;
  }
  std::shared_ptr<const CompiledKernel> compiled = tuned.kernel().compile(choice->arguments, choice->options, diagnostics);
  if (!compiled) return report(diagnostics, ourError);
  auto launch = [&] { return tuned.kernel().launch(*extents, choice->arguments, choice->options, diagnostics); };
  if (!launch()) return report(diagnostics, ourError);
  report(diagnostics, success);
  status = showResults(setup);
  if (!setup.line.has("--time")) return status;

  std::optional<Timing> timing = timeRuns(launch, 0.1, 0.5);
  if (!timing) return report(diagnostics, ourError);
  std::printf("time: median %s (20%% %s, 80%% %s) of %lld runs on %lld threads; %s\n", secondsText(timing->median).c_str(),
              secondsText(timing->low).c_str(), secondsText(timing->high).c_str(), static_cast<long long>(timing->runs),
              static_cast<long long>(*threads > 0 ? *threads : defaultThreads()),
              compiled->fromCache() ? "code from the cache" : ("compiled in " + secondsText(compiled->compileSeconds())).c_str());
  return status;
}

} // namespace tilewright
