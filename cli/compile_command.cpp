// `tilewright compile`: a kernel file, or IR text, to one stage.

#include "cli/command.h"
#include "cli/native_kernels.h"
#include "cli/object.h"
#include "cli/options.h"
#include "driver/dump.h"
#include "driver/steps.h"
#include "support/c_names.h"
#include "support/files.h"

#include <cstdio>

namespace tilewright {

const CommandSpec &compileSpec() {
  static const std::string targets = cpuLevelNames() + " or native (the default); or a GPU, as " + defaultGpuText();
  static const CommandSpec spec = [] {
    CommandSpec result{
        "compile",
        "FILE[:KERNEL] [--signature TEXT] [--emit STAGE] [-o OUT]",
        "Compiles a kernel for a CPU or a GPU and prints it at one stage. FILE is a Python file with @triton.jit functions, or "
        "tt IR (.ttir, .mlir), or TTGIR whose loops are not pipelined (.ttgir).",
        "A signature gives the type or the constant of each parameter, by name or in order:\n"
        "  --signature 'x_ptr=*fp32:16, n=i32, BLOCK_SIZE=1024'      a pointer aligned to 16 bytes, an int, a constexpr\n"
        "Parameters that it omits take their defaults.\n",
        {{"--kernel", "NAME", "the kernel; optional if the file has only one"},
         {"--signature", "TEXT", "the types and constants of the parameters"},
         {"--target", "cpu[:LEVEL]|cuda:SM", targets.c_str()},
         {"--emit", "STAGE",
          "ast, tt, loops, llvm, asm, obj, c (the object as C source) or header (C, for both); for a GPU ast, tt, ttg, threads, llvm, ptx "
          "or cubin; default tt"},
         {"--until", "STEP", "instead of --emit: stop after this step; '--until steps' lists all"},
         {"--from", "STEP", "FILE is a dump of the IR before this step: continue from there"},
         {"--dump", "DIR", "write the IR after each step to numbered files in this folder"},
         {"-o", "OUT", "the output file; default: standard output"},
         {"--name", "NAME",
          "the function's name in an object and its header; default: the kernel's name and a hash of signature, target and options"},
         {"--time", "", "print the time of each step in seconds"}}};
    for (const OptionSpec &option : codeOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

static std::optional<Stage> stageOf(const std::string &name, bool gpu) {
  enum Machine { any, cpu, cuda };
  static const struct {
    const char *word;
    Stage stage;
    Machine machine;
  } stages[] = {{"ast", Stage::ast, any},          {"tt", Stage::tt, any},        {"ttir", Stage::tt, any},     {"llvm", Stage::llvm, any},
                {"loops", Stage::loops, cpu},      {"asm", Stage::assembly, cpu}, {"obj", Stage::object, cpu},  {"ttg", Stage::ttg, cuda},
                {"threads", Stage::threads, cuda}, {"ptx", Stage::ptx, cuda},     {"cubin", Stage::cubin, cuda}};
  for (const auto &[word, stage, machine] : stages)
    if (name == word && (machine == any || machine == (gpu ? cuda : cpu))) return stage;
  return std::nullopt;
}

static const char *stageNames(bool gpu) {
  return gpu ? "ast, tt, ttg, threads, llvm, ptx and cubin" : "ast, tt, loops, llvm, asm, obj, c and header";
}

static int writeOutput(const std::string &bytes, const std::string &path) {
  if (path.empty() || path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return success; // the end of the command shows whether all of it was written
  }
  Result<void> done = writeOutputFile(path, bytes);
  return done ? static_cast<int>(success) : fail("cannot write '" + path + "': " + done.error());
}

namespace {
/// The request of the command line, except the file.
struct Order {
  CompileRequest request;
  Stage stage = Stage::tt;
  std::string from, until, dump, output;
  bool writesOutput = true, isHeader = false, isSource = false;
};
} // namespace

static bool isStep(const CompileRequest &request, llvm::StringRef name) {
  return llvm::any_of(stepsFor(request), [&](const Step *step) { return step->name == name; });
}

static int listSteps(const CompileRequest &request) {
  int64_t number = 0;
  for (const Step *step : stepsFor(request))
    std::printf("%02lld  %-22s %s\n", static_cast<long long>(++number), step->name.data(), step->summary.data());
  return success;
}

/// Returns 0, or the exit status.
static int readTarget(const CommandLine &line, CompileRequest &request) {
  std::string text = line.get("--target", "cpu");
  std::optional<CpuTarget> cpu;
  if (text == "cpu")
    cpu = hostCpu();
  else if (text.rfind("cpu:", 0) == 0)
    cpu = cpuTarget(text.substr(4));
  else
    request.gpu = gpuTargetOfText(text);
  if (cpu) request.target = *cpu;
  if (cpu || request.gpu) return success;
  return fail("there is no target '" + text + "'; the targets are cpu, cpu: with one of " + cpuLevelNames() + ", and cuda: with one of " +
              gpuTargetNames());
}

/// Reads the last stage or step of the compilation. Returns 0, or the exit status.
static int readWay(const CommandLine &line, Order &order) {
  bool gpu = order.request.gpu.has_value();
  order.from = line.get("--from", "");
  order.until = line.get("--until", "");
  order.dump = line.get("--dump", "");
  order.output = line.get("-o", "");
  // With a dump alone, all steps run and nothing is printed.
  bool wishes = line.has("--emit") || line.has("--until");
  order.writesOutput = wishes || order.dump.empty() || !order.output.empty();
  if (line.has("--emit") && line.has("--until")) return fail("--emit names a stage and --until a step: give one of them");
  std::string last = order.dump.empty() || wishes ? "tt" : gpu ? "ptx" : "asm";
  order.isHeader = !gpu && line.get("--emit", "") == "header";
  order.isSource = !gpu && line.get("--emit", "") == "c";
  std::optional<Stage> stage = order.isHeader || order.isSource ? Stage::object : stageOf(line.get("--emit", last), gpu);
  if (!stage)
    return fail("there is no stage '" + line.get("--emit", "") + "' for " + line.get("--target", "cpu") + "; the stages are " +
                stageNames(gpu));
  order.stage = *stage;
  // Callers of an object's function check no guards, so its code has no assumptions.
  if (order.stage == Stage::object) order.request.failedGuards = {everyGuard};
  if (line.has("--name") && order.stage != Stage::object) return fail("--name is of objects and their headers: --emit obj, c or header");
  if (std::string problem = line.has("--name") ? problemOfFunctionName(line.get("--name", "")) : ""; !problem.empty())
    return fail("--name: '" + line.get("--name", "") + "' " + problem);
  if ((order.isHeader || order.isSource) && !order.from.empty())
    return fail("C is made from a kernel file or from IR text, not from a dump");
  for (const std::string &step : {order.from, order.until})
    if (!step.empty() && !isStep(order.request, step))
      return fail("there is no step '" + step + "' for " + line.get("--target", "cpu") + "; '--until steps' lists them");
  return success;
}

static std::optional<std::string> compileIt(Order &order, const CommandLine &line, Diagnostics &diagnostics) {
  if (order.stage == Stage::object && order.from.empty()) order.request.symbol = line.get("--name", objectSymbol(order.request));
  if (order.isHeader) return objectHeader(order.request, diagnostics);
  if (order.isSource) return objectSource(order.request, diagnostics);
  if (!order.until.empty()) return emitAfter(order.request, order.from, order.until, diagnostics);
  if (!order.from.empty()) return emitStageFrom(order.request, order.from, order.stage, diagnostics);
  return emitStage(order.request, order.stage, diagnostics);
}

/// Reads the kernel of IR text. Returns 0, or the exit status.
static int readText(const std::string &path, const CommandLine &line, Order &order, Diagnostics &diagnostics) {
  if (order.stage == Stage::ast) return fail("IR text has no syntax tree; its stages begin with tt");
  if (line.has("--signature")) return fail("IR text is compiled for the types it has: --signature is for Python files");
  Result<std::string> text = readFile(path);
  if (!text) return fail("cannot read '" + path + "': " + text.error());
  std::shared_ptr<const IrKernel> kernel =
      order.from.empty() ? readIrKernel(*text, path, line.get("--kernel", ""), diagnostics) : dumpedKernel(*text, path);
  if (!kernel) return report(diagnostics, ourError);
  order.request.kernel = KernelSource(kernel);
  return success;
}

int compileMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(compileSpec(), argc, argv, status);
  if (!line) return status;
  Order order;
  CompileRequest &request = order.request;
  if (int failed = readTarget(*line, request)) return failed;
  if (line->get("--until", "") == "steps") return listSteps(request);
  if (line->words.size() != 1) return fail("compile expects one FILE");
  const std::string &path = line->words.front();
  if (int failed = readWay(*line, order)) return failed;
  std::optional<KernelOptions> options = readCodeOptions(*line);
  if (!options) return userError;
  request.options = *options;

  Diagnostics diagnostics;
  std::optional<FileKernel> kernel;
  if (isIrFile(path)) {
    if (int failed = readText(path, *line, order, diagnostics)) return failed;
  } else {
    if (!order.from.empty()) return fail("--from continues with the text of a dump, not with a Python file");
    kernel = loadKernel(path, line->get("--kernel", ""), diagnostics);
    if (!kernel) return report(diagnostics, ourError);
    request.kernel = kernel->function.get();
    if (order.stage != Stage::ast) {
      std::optional<std::vector<ArgumentSpec>> args = parseSignature(line->get("--signature", ""), *kernel->function, diagnostics);
      if (!args || !takeNativeTypes(*kernel, *args, diagnostics)) return report(diagnostics, ourError);
      request.args = std::move(*args);
    }
  }
  std::optional<Dump> dump;
  if (!order.dump.empty()) dump.emplace(order.dump, request.kernel.file()->text(), isIrFile(path) ? "mlir" : "py");
  bool time = line->has("--time");
  request.dump = order.dump;
  request.onStep = [&](const StepDone &done) {
    if (time) std::fprintf(stderr, "%9.3f ms  %s\n", done.seconds * 1e3, done.step.str().c_str());
    if (dump) dump->see(done);
  };
  std::optional<std::string> output = compileIt(order, *line, diagnostics);
  if (!output) return report(diagnostics, ourError);
  report(diagnostics, success);
  if (dump && !dump->problem().empty()) return fail("cannot write " + dump->problem());
  return order.writesOutput ? writeOutput(*output, order.output) : static_cast<int>(success);
}

} // namespace tilewright
