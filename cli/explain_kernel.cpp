// Compiles the kernel as for a launch. Observers record the decisions of each step and, for the page, the IR after it.
#include "cli/explain_kernel.h"

#include "cli/explain_time.h"
#include "cli/json_output.h"
#include "cli/native_kernels.h"
#include "cli/options.h"
#include "driver/ir_text.h"
#include "driver/steps.h"
#include "gpu/explain/explain.h"
#include "ir/explanation.h"
#include "runtime/cuda/device.h"
#include "support/files.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <cstdlib>

namespace tilewright {

static constexpr char page[] = {
#include "explain_page.inc"
    0};

namespace {

struct StageText {
  std::string name, summary;
  LinkedText linked;
};

/// Stores the IR after each step of one compilation that changes it.
class StageTexts {
public:
  explicit StageTexts(std::string file) : file(std::move(file)) {}

  void see(const StepDone &done) {
    bool isCode = !done.module && (done.suffix == "ptx" || done.suffix == "s");
    if (!done.module && !isCode) return;
    LinkedText linked = isCode ? linkedAssembly(done.output, file) : linkedIrText(*done.module, file);
    if (!isCode && linked.text == before) return;
    if (!isCode) before = linked.text;
    std::string summary;
    for (const Step &step : allSteps())
      if (step.name == done.step) summary = step.summary.str();
    texts.push_back({done.step.str(), std::move(summary), std::move(linked)});
  }

  llvm::json::Array json() const {
    llvm::json::Array array;
    for (const StageText &stage : texts)
      array.push_back(llvm::json::Object{{"name", stage.name},
                                         {"summary", stage.summary},
                                         {"text", llvm::json::Array(stage.linked.text)},
                                         {"lines", llvm::json::Array(stage.linked.lines)}});
    return array;
  }

private:
  std::string file;
  std::vector<std::string> before; // the module's text
  std::vector<StageText> texts;
};

/// The request of the command line, and the reports of the compiler.
struct Inquiry {
  CompileRequest request;
  FileKernel kernel;
  std::optional<DescribedLaunch> launch;
  std::optional<Grid> grid;
  bool wantsStages = false;
  std::optional<StageTexts> stages;
  Explanation explanation;
  gpu::Explainer gpu;
};

} // namespace

/// Returns 0, or the exit status.
static int readTarget(const CommandLine &line, CompileRequest &request) {
  std::string text = line.get("--target", defaultGpuText());
  std::optional<CpuTarget> cpu;
  if (text == "cpu") cpu = hostCpu();
  if (llvm::StringRef(text).starts_with("cpu:")) cpu = cpuTarget(text.substr(4));
  if (cpu) request.target = *cpu;
  if (!cpu) request.gpu = gpuTargetOfText(text);
  if (cpu || request.gpu) return success;
  return fail("there is no target '" + text + "' to explain a kernel for; the targets are cpu, cpu: with one of " + cpuLevelNames() +
              ", and cuda: with one of " + gpuTargetNames());
}

/// Evaluates --grid over the constants of a signature. Returns 0, or the exit status.
static int readGrid(const CommandLine &line, Inquiry &inquiry, Diagnostics &diagnostics) {
  if (!line.has("--grid")) return success;
  Setup setup{line, inquiry.kernel, {}, {}, {}, {}, {}, nullptr};
  addGridFunctions(setup.names);
  for (auto [parameter, spec] : llvm::zip(inquiry.kernel.function->parameters, inquiry.request.args))
    if (spec.constant) setup.names[parameter.name] = *spec.constant;
  inquiry.grid = evaluateGrid(setup, {}, diagnostics);
  return inquiry.grid && programCount(*inquiry.grid, diagnostics) ? int(success) : report(diagnostics, userError);
}

/// Reads the signature: --signature, or the launch that --arg and --grid describe. Returns 0, or the exit status.
static int readArguments(const CommandLine &line, Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest &request = inquiry.request;
  std::optional<std::vector<ArgumentSpec>> args;
  if (line.has("--arg")) {
    if (line.has("--signature")) return fail("--arg and --signature both describe the arguments; give one of them");
    int status = success;
    inquiry.launch = readLaunch(line, status, diagnostics);
    if (!inquiry.launch) return status;
    inquiry.kernel = inquiry.launch->setup.kernel;
    inquiry.grid = inquiry.launch->grid;
    request.options = inquiry.launch->choice.options.kernel;
    args = specialize(*inquiry.kernel.function, inquiry.launch->choice.arguments, diagnostics);
  } else {
    std::optional<FileKernel> kernel = loadKernel(line.words.front(), line.get("--kernel", ""), diagnostics);
    if (!kernel) return report(diagnostics, ourError);
    inquiry.kernel = std::move(*kernel);
    args = parseSignature(line.get("--signature", ""), *inquiry.kernel.function, diagnostics);
  }
  if (!args || !takeNativeTypes(inquiry.kernel, *args, diagnostics)) return report(diagnostics, ourError);
  request.kernel = inquiry.kernel.function.get();
  request.args = std::move(*args);
  return inquiry.launch ? int(success) : readGrid(line, inquiry, diagnostics);
}

/// Checks that this machine is the target of the kernel. Returns 0, or the exit status.
static int checkTime(const Inquiry &inquiry, Diagnostics &diagnostics) {
  if (!inquiry.launch) return fail("--time runs the kernel: it needs --arg and --grid");
  const CompileRequest &request = inquiry.request;
  if (!request.gpu)
    return request.target.name == hostCpu().name ? int(success)
                                                 : fail("--time needs this CPU as the target: --target cpu:" + hostCpu().name);
  const gpu::CudaDevice *device = gpu::CudaDevice::get(0, diagnostics);
  if (!device) return report(diagnostics, userError);
  return device->target.name == request.gpu->name
             ? int(success)
             : fail("--time needs this machine's GPU as the target: --target cuda:" + device->target.name);
}

/// Returns 0, or the exit status.
static int readInquiry(const CommandLine &line, Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest &request = inquiry.request;
  if (int failed = readTarget(line, request)) return failed;
  if (line.has("--layout") && !request.gpu) return fail("--layout needs a GPU target: CPU tiles are not distributed over threads");
  std::optional<KernelOptions> options = readCodeOptions(line);
  if (!options) return userError;
  request.options = *options;
  if (int failed = readArguments(line, inquiry, diagnostics)) return failed;
  return line.has("--time") ? checkTime(inquiry, diagnostics) : int(success);
}

/// An object file has no assumptions about launches, so it may need more scratch memory. False after an error.
static bool addObjectScratch(Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest request = inquiry.request;
  request.failedGuards = {everyGuard};
  request.onStep = {};
  int64_t bytes = 0;
  request.onExplained = [&](const Explanation &explanation) { bytes = explanation.scratchBytes; };
  if (!emitStage(request, Stage::loops, diagnostics)) return false;
  if (bytes != inquiry.explanation.scratchBytes)
    inquiry.explanation.resources.push_back("in an object   " + std::to_string(bytes) +
                                            " bytes of scratch memory a thread (NAME_scratch_bytes)");
  return true;
}

/// Compiles the kernel, which fills the explanation. False after an error.
static bool ask(Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest &request = inquiry.request;
  if (inquiry.wantsStages) inquiry.stages.emplace(std::string(request.kernel.file()->name()));
  ModeledVersion compiled; // so that the prediction of its time compiles nothing again
  request.onStep = [&](const StepDone &done) {
    if (request.gpu && inquiry.launch) compiled.see(done);
    if (done.module && request.gpu) explainStep(inquiry.gpu, done.step, *done.module);
    if (inquiry.stages) inquiry.stages->see(done);
  };
  request.onExplained = [&](const Explanation &explanation) { inquiry.explanation = explanation; };
  if (request.gpu) {
    compiled.artifact = compileForGpu(request, diagnostics);
    if (!compiled.artifact) return false;
    inquiry.explanation = inquiry.gpu.explanation(*compiled.artifact);
  } else if (!emitStage(request, inquiry.wantsStages ? Stage::assembly : Stage::loops,
                        diagnostics)) { // everything is decided once there are loops
    return false;
  } else if (!addObjectScratch(inquiry, diagnostics)) {
    return false;
  }
  const DescribedLaunch *launch = inquiry.launch ? &*inquiry.launch : nullptr;
  return explainTime(request, launch, inquiry.grid, compiled, inquiry.explanation, diagnostics);
}

/// Returns all lines of the kernel's file, because the kernel may call other functions of it.
static llvm::json::Object sourceJson(const SourceFile &file) {
  llvm::json::Array lines;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(file.text()).rtrim(), '\n'))
    lines.push_back(line);
  return llvm::json::Object{{"first", 1}, {"text", std::move(lines)}};
}

static int writePage(const Inquiry &inquiry, const std::string &path) {
  llvm::json::Object object = explanationJson(inquiry.explanation);
  object["source"] = sourceJson(*inquiry.request.kernel.file());
  object["stages"] = inquiry.stages->json();
  std::string data = llvm::formatv("{0}", llvm::json::Value(std::move(object))).str(), safe;
  for (char c : data) // the data must not end the script element that contains it
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  auto [before, after] = llvm::StringRef(page).split("@DATA@");
  Result<void> done = writeOutputFile(path, before.str() + safe + after.str());
  return done ? static_cast<int>(success) : fail("cannot write '" + path + "': " + done.error());
}

int explainKernel(const CommandLine &line) {
  Inquiry inquiry;
  Diagnostics diagnostics;
  if (int failed = readInquiry(line, inquiry, diagnostics)) return failed;
  std::string html = line.get("--html", "");
  inquiry.wantsStages = !html.empty();
  // The page links code to source lines by the debug information.
  if (inquiry.wantsStages) setenv("TILEWRIGHT_DEBUG_INFO", "1", 1);
  if (!ask(inquiry, diagnostics)) return report(diagnostics, ourError);
  if (line.has("--time") && !measureTime(inquiry.request, *inquiry.launch, inquiry.explanation, diagnostics))
    return report(diagnostics, ourError);
  report(diagnostics, success);
  dropRepeated(inquiry.explanation);
  int status = html.empty() ? int(success) : writePage(inquiry, html);
  if (line.has("--json")) printJson(explanationJson(inquiry.explanation));
  if (!html.empty() || line.has("--json")) return status;
  std::string wanted = line.get("--layout", "");
  std::optional<std::string> text = wanted.empty() ? explanationText(inquiry.explanation) : inquiry.gpu.layouts(wanted);
  if (!text) return fail("there is no layout '" + wanted + "' in this kernel, nor a tile in such a line; without --layout, all are listed");
  std::fwrite(text->data(), 1, text->size(), stdout);
  return success;
}

} // namespace tilewright
