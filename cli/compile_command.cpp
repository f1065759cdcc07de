// `tilewright compile`: a kernel file, or IR text, to one stage.

#include "cli/command.h"
#include "cli/options.h"
#include "pipeline/compile.h"
#include "support/files.h"

#include <cstdio>

namespace tilewright {

static const CommandSpec &spec() {
  static const CommandSpec spec = [] {
    CommandSpec result{
        "compile",
        "FILE [--kernel NAME] [--signature TEXT] [--emit STAGE] [-o OUT]",
        "Compiles a kernel for a processor and prints it at one stage. FILE is a Python file with @triton.jit functions, or "
        "tt IR (.ttir, .mlir).",
        "A signature names what each parameter is compiled for, by name or in order:\n"
        "  --signature 'x_ptr=*fp32:16, n=i32, BLOCK_SIZE=1024'      a pointer aligned to 16 bytes, an int, a constexpr\n"
        "Parameters left out take their defaults.\n",
        {{"--kernel", "NAME", "the function; not needed where the file has one"},
         {"--signature", "TEXT", "what it is compiled for"},
         {"--target", "cpu[:LEVEL]|cuda:SM", "sse2, avx2, avx512 or native (the default); or a GPU, as cuda:sm_90a"},
         {"--emit", "STAGE", "ast, tt, loops, llvm, asm or obj; of GPUs ast, tt, ttg, threads, llvm, ptx or cubin; default tt"},
         {"-o", "OUT", "a file; default the standard output"},
         {"--time", "", "print the seconds of each step"}}};
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
  return gpu ? "ast, tt, ttg, threads, llvm, ptx and cubin" : "ast, tt, loops, llvm, asm and obj";
}

static int writeOutput(const std::string &bytes, const std::string &path) {
  if (path.empty() || path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return success; // whether all of it was written is seen at the end
  }
  Result<void> done = writeFileAtomically(path, bytes);
  return done ? static_cast<int>(success) : fail("cannot write '" + path + "': " + done.error());
}

int compileMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(spec(), argc, argv, status);
  if (!line) return status;
  if (line->words.size() != 1) return fail("compile wants one FILE");
  const std::string &path = line->words.front();
  std::string targetText = line->get("--target", "cpu");
  std::optional<CpuTarget> target;
  std::optional<GpuTarget> gpu;
  if (targetText == "cpu")
    target = hostCpu();
  else if (targetText.rfind("cpu:", 0) == 0)
    target = cpuTarget(targetText.substr(4));
  else if (targetText.rfind("cuda:", 0) == 0)
    gpu = gpuTarget(targetText.substr(5));
  if (!target && !gpu)
    return fail("there is no target '" + targetText + "'; the targets are cpu, cpu:sse2, cpu:avx2, cpu:avx512 and cuda: with one of " +
                gpuTargetNames());
  std::optional<Stage> stage = stageOf(line->get("--emit", "tt"), gpu.has_value());
  if (!stage)
    return fail("there is no stage '" + line->get("--emit", "") + "' for " + targetText + "; the stages are " +
                stageNames(gpu.has_value()));

  Diagnostics diagnostics;
  CompileRequest request;
  if (target) request.target = *target;
  request.gpu = gpu;
  std::optional<KernelOptions> options = readCodeOptions(*line);
  if (!options) return userError;
  request.options = *options;
  if (gpu) {
    request.options.backend = "cuda";
    request.options.capability = gpu->capability;
  }
  if (line->has("--time"))
    request.onStep = [](llvm::StringRef step, double seconds) {
      std::fprintf(stderr, "%9.3f ms  %s\n", seconds * 1e3, step.str().c_str());
    };
  std::optional<std::string> output;
  if (isIrFile(path)) {
    if (*stage == Stage::ast) return fail("IR text has no syntax tree; its stages are tt, loops, llvm, asm and obj");
    if (line->has("--signature")) return fail("IR text is compiled for the types it has: --signature is for Python files");
    Result<std::string> text = readFile(path);
    if (!text) return fail("cannot read '" + path + "': " + text.error());
    output = emitTextStage(*text, path, request, line->get("--kernel", ""), *stage, diagnostics);
  } else {
    std::optional<FileKernel> kernel = loadKernel(path, line->get("--kernel", ""), diagnostics);
    if (!kernel) return report(diagnostics, ourError);
    request.kernel = kernel->function.get();
    if (*stage != Stage::ast) {
      std::optional<std::vector<ArgumentSpec>> args = parseSignature(line->get("--signature", ""), *kernel->function, diagnostics);
      if (!args) return report(diagnostics, ourError);
      request.args = std::move(*args);
    }
    output = emitStage(request, *stage, diagnostics);
  }
  if (!output) return report(diagnostics, ourError);
  report(diagnostics, success);
  return writeOutput(*output, line->get("-o", ""));
}

} // namespace tilewright
