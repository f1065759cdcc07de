// The kernel is compiled as for a launch, with observers that take down what each step has decided and, for the page, what it has left.
#include "cli/explain_kernel.h"

#include "cli/options.h"
#include "gpu/explain.h"
#include "ir/explanation.h"
#include "pipeline/ir_text.h"
#include "pipeline/steps.h"
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

/// Takes down what the steps of one compilation leave; those that change nothing leave nothing.
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

/// What is asked for, and what the compiler has said.
struct Inquiry {
  CompileRequest request;
  FileKernel kernel;
  bool wantsStages = false;
  std::optional<StageTexts> stages;
  Explanation explanation;
  gpu::Explainer gpu;
};

} // namespace

/// 0, or the exit status.
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

/// 0, or the exit status.
static int readInquiry(const CommandLine &line, Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest &request = inquiry.request;
  if (int failed = readTarget(line, request)) return failed;
  if (line.has("--layout") && !request.gpu) return fail("--layout is of GPUs: on a processor no thread holds a part of a tile");
  std::optional<KernelOptions> options = readCodeOptions(line);
  if (!options) return userError;
  request.options = *options;
  std::optional<FileKernel> kernel = loadKernel(line.words.front(), line.get("--kernel", ""), diagnostics);
  if (!kernel) return report(diagnostics, ourError);
  inquiry.kernel = std::move(*kernel);
  request.kernel = inquiry.kernel.function.get();
  std::optional<std::vector<ArgumentSpec>> args = parseSignature(line.get("--signature", ""), *inquiry.kernel.function, diagnostics);
  if (!args) return report(diagnostics, ourError);
  request.args = std::move(*args);
  return success;
}

/// Compiles it, which fills the explanation. False after an error.
static bool ask(Inquiry &inquiry, Diagnostics &diagnostics) {
  CompileRequest &request = inquiry.request;
  if (inquiry.wantsStages) inquiry.stages.emplace(std::string(request.kernel.file()->name()));
  request.onStep = [&](const StepDone &done) {
    if (done.module && request.gpu) inquiry.gpu.see(done.step, *done.module);
    if (inquiry.stages) inquiry.stages->see(done);
  };
  request.onExplained = [&](const Explanation &explanation) { inquiry.explanation = explanation; };
  // Of a processor all is decided once there are loops.
  if (!request.gpu) return emitStage(request, inquiry.wantsStages ? Stage::assembly : Stage::loops, diagnostics).has_value();
  std::unique_ptr<GpuArtifact> artifact = compileForGpu(request, diagnostics);
  if (artifact) inquiry.explanation = inquiry.gpu.explanation(*artifact);
  return artifact != nullptr;
}

/// The lines of the kernel's file; all of them, as a kernel calls functions beside it.
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
  for (char c : data) // nothing in it may end the script that holds it
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  auto [before, after] = llvm::StringRef(page).split("@DATA@");
  Result<void> done = writeFileAtomically(path, before.str() + safe + after.str());
  return done ? static_cast<int>(success) : fail("cannot write '" + path + "': " + done.error());
}

int explainKernel(const CommandLine &line) {
  Inquiry inquiry;
  Diagnostics diagnostics;
  if (int failed = readInquiry(line, inquiry, diagnostics)) return failed;
  std::string html = line.get("--html", "");
  inquiry.wantsStages = !html.empty();
  // Only code that knows its lines can be shown beside them.
  if (inquiry.wantsStages) setenv("TILEWRIGHT_DEBUG_INFO", "1", 1);
  if (!ask(inquiry, diagnostics)) return report(diagnostics, ourError);
  report(diagnostics, success);
  dropRepeated(inquiry.explanation);
  if (!html.empty()) return writePage(inquiry, html);
  if (line.has("--json")) {
    std::printf("%s\n", llvm::formatv("{0:2}", llvm::json::Value(explanationJson(inquiry.explanation))).str().c_str());
    return success;
  }
  std::string wanted = line.get("--layout", "");
  std::optional<std::string> text = wanted.empty() ? explanationText(inquiry.explanation) : inquiry.gpu.layouts(wanted);
  if (!text) return fail("there is no layout '" + wanted + "' in this kernel, nor a tile in such a line; without --layout, all are listed");
  std::fwrite(text->data(), 1, text->size(), stdout);
  return success;
}

} // namespace tilewright
