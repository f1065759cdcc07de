#include "cli/launch.h"

#include "cli/native_kernels.h"
#include "cli/options.h"
#include "evaluate/evaluate.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace tilewright {

const char *const launchDetails =
    "A VALUE is a tensor or a Python expression over the file's globals and the arguments before it:\n"
    "  --arg x_ptr=randn:fp32[98432]          generators: randn rand randint(low,high) arange ones zeros full(value) empty\n"
    "  --arg a_ptr=randn:fp16[64x32]^T        the last two axes swapped in memory\n"
    "  --arg y_ptr=data.npy                   a file; data.npy:bf16 reads its bits as another type of that size\n"
    "  --arg n=98432  --arg ACTIVATION=\"'relu'\"  --arg EVEN='n % 128 == 0'\n"
    "Element types: fp32 fp16 bf16 fp64 i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e5 fp8e4nv ...\n"
    "The grid is one to three expressions over the arguments, including those that @triton.autotune and @triton.heuristics choose:\n"
    "  --grid 'cdiv(n, BLOCK_SIZE)'           --grid 'cdiv(M, BM), cdiv(N, BN)'\n";

std::vector<OptionSpec> launchOptions() {
  std::vector<OptionSpec> options = {{"--kernel", "NAME", "the kernel; optional if the file has only one"},
                                     {"--grid", "EXPR", "the number of programs along each axis; see below"},
                                     {"--arg", "NAME=VALUE", "an argument; give the option once per argument"},
                                     {"--threads", "N", "worker threads; default TILEWRIGHT_NUM_THREADS or all CPUs"},
                                     {"--seed", "N", "the seed of the generators; default 0"}};
  for (const OptionSpec &option : codeOptions())
    options.push_back(option);
  return options;
}

OptionSpec deviceOption() {
  return {"--device", "cpu|cuda[:N]", "the device that runs the kernel; default cpu"};
}

std::vector<NamedArgument> Setup::named() const {
  std::vector<NamedArgument> named;
  for (size_t i = 0; i < values.size(); ++i)
    named.push_back({argumentNames[i], values[i]});
  return named;
}

std::optional<std::pair<std::string, std::string>> splitPair(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

void addGridFunctions(llvm::StringMap<Value> &names) {
  for (const char *name : {"cdiv", "next_power_of_2"}) {
    std::optional<Value> function = pythonFunction(std::string("triton.") + name);
    if (!function) function = pythonFunction(name);
    if (function) names[name] = *function;
  }
}

// Returns 0, or the exit status.
static int readArguments(Setup &setup, Diagnostics &diagnostics) {
  std::optional<int64_t> seed = setup.line.integer("--seed", 0);
  if (!seed) return userError;
  addGridFunctions(setup.names);
  for (const std::string &text : setup.line.all("--arg")) {
    std::optional<std::pair<std::string, std::string>> pair = splitPair(text);
    if (!pair) return fail("--arg expects NAME=VALUE, got '" + text + "'");
    const auto &[name, value] = *pair;
    setup.argumentNames.push_back(name);
    for (const char *foreign : {".npz", ".pt", ".pth", ".safetensors", ".csv"})
      if (llvm::StringRef(value).ends_with(foreign))
        return fail("--arg " + name + ": tensors are read from .npy files, as numpy.save writes them, and not from '" + value + "'");
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
  return success;
}

/// Copies the tensors to the GPU of --device. Returns 0, or the exit status.
static int placeTensors(Setup &setup, Diagnostics &diagnostics) {
  std::string name = setup.line.get("--device", "cpu");
  llvm::StringRef number = name;
  int64_t ordinal = 0;
  if (name == "cpu") return success;
  bool isGpu = number.consume_front("cuda") && (number.empty() || (number.consume_front(":") && !number.getAsInteger(10, ordinal)));
  if (!isGpu || ordinal < 0) return fail("--device is cpu, cuda or cuda:N, and not '" + name + "'");
  setup.gpu = OnDevice::create(ordinal, diagnostics);
  if (!setup.gpu) return report(diagnostics, userError);
  for (auto [argument, argumentName] : llvm::zip(setup.values, setup.argumentNames)) {
    const Tensor *tensor = setup.tensor(argumentName);
    std::optional<Argument> there = tensor ? setup.gpu->copy(argument, tensor->guardedBytes(), diagnostics) : argument;
    if (!there) return report(diagnostics, userError);
    argument = *there;
  }
  setup.options.device = ordinal;
  return success;
}

std::optional<Setup> readSetup(CommandLine line, const char *command, int &status, Diagnostics &diagnostics) {
  status = userError;
  std::string name = command;
  if (line.words.size() > 1 && line.has("--step"))
    return fail("run expects one FILE, but also got '" + line.words[1] + "'; a number of steps is written --step=5"), std::nullopt;
  if (line.words.size() != 1) return fail(name + " expects one FILE"), std::nullopt;
  if (isNativeFile(line.words.front())) return fail(name + " takes Python files; host code in C++ launches kernels in C++"), std::nullopt;
  if (isIrFile(line.words.front())) return fail(name + " takes Python files; 'tilewright compile' takes IR text"), std::nullopt;
  std::optional<FileKernel> kernel = loadKernel(line.words.front(), line.get("--kernel", ""), diagnostics);
  if (!kernel) {
    status = report(diagnostics, ourError);
    return std::nullopt;
  }
  Setup setup{std::move(line), std::move(*kernel), {}, {}, {}, {}, {}, nullptr};
  std::optional<KernelOptions> options = readCodeOptions(setup.line);
  std::optional<int64_t> threads = setup.line.integer("--threads", 0, 0, 4096);
  if (!options || !threads) return std::nullopt;
  setup.options.kernel = *options;
  setup.options.threads = *threads;
  setup.options.checksTypes = true;
  if (int failed = readArguments(setup, diagnostics)) {
    status = failed;
    return std::nullopt;
  }
  if (int failed = placeTensors(setup, diagnostics)) {
    status = failed;
    return std::nullopt;
  }
  if (!setup.line.has("--grid")) return fail(name + " needs --grid EXPR, as in --grid 'cdiv(n, BLOCK_SIZE)'"), std::nullopt;
  status = success;
  return setup;
}

static std::optional<Grid> gridOf(const Value &value, Diagnostics &diagnostics) {
  std::vector<Value> extents;
  if (const Sequence *sequence = value.asSequence())
    extents = sequence->items;
  else
    extents = {value};
  Grid grid;
  grid.rank = static_cast<int64_t>(extents.size());
  for (size_t i = 0; i < extents.size() && i < 3; ++i) {
    std::optional<Int> extent = extents[i].toInt();
    // A host formula with / gives floats with integer values.
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

std::optional<Grid> evaluateGrid(const Setup &setup, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  const JitFunction &kernel = *setup.kernel.function;
  llvm::StringMap<Value> names = setup.names;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (std::optional<Value> value = arguments[i].value()) names[kernel.parameters[i].name] = *value;
  std::optional<Value> value = evaluateText(setup.line.get("--grid", "1"), "--grid", *setup.kernel.module, names, diagnostics);
  if (!value) return std::nullopt;
  if (std::shared_ptr<const Callable> callable = value->asCallable()) {
    if (auto lambda = std::dynamic_pointer_cast<const PlainFunction>(callable)) { // knows what expressions know
      auto closed = std::make_shared<PlainFunction>(*lambda);
      closed->captured = std::make_shared<llvm::StringMap<Value>>(names);
      callable = closed;
    }
    value = callable->call({argumentDict(kernel, arguments)}, {}, {}, diagnostics);
    if (!value) return std::nullopt;
  }
  return gridOf(*value, diagnostics);
}

bool checkIntact(const Setup &setup) {
  bool areIntact = true;
  for (const auto &[name, tensor] : setup.tensors) {
    if (tensor.isIntact()) continue;
    fail("kernel '" + setup.kernel.function->name + "' writes past the end of '" + name + "', " + tensor.describe() +
         "; 'tilewright run --sanitize' finds the line");
    areIntact = false;
  }
  return areIntact;
}

std::string timingText(const std::string &config, const Measured &result, bool isBest) {
  std::string time = result.milliseconds.empty() ? "failed" : secondsText(result.milliseconds.front() / 1e3);
  char text[64];
  std::snprintf(text, sizeof(text), "  %s %12s  ", isBest ? "*" : " ", time.c_str());
  return text + config + (result.milliseconds.empty() ? ": " + result.failure : "");
}

} // namespace tilewright
