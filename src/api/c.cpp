// Implements the C interface (include/tilewright/c.h) on the runtime: handles, launches, errors as objects, warnings.

#include "api/handles.h"

#include "api/host_call.h"
#include "evaluate/module.h"
#include "runtime/interpreted.h"
#include "support/files.h"
#include "syntax/parser.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>

using namespace tilewright;
using namespace tilewright::api;

static const char *const noModule = "there is no module: its handle is null or was moved from, or loading it has failed\n";

void tilewright::api::setError(TwError **error, std::string text) {
  if (error) *error = new TwError{std::move(text)};
}

TwModule *tilewright::api::makeModule(std::shared_ptr<Namespace> scope, const Diagnostics &diagnostics, TwError **error) {
  if (!scope) {
    setError(error, diagnostics.render());
    return nullptr;
  }
  reportWarnings(diagnostics);
  auto *module = new TwModule{scope, nullptr, {}};
  module->kernels = kernelNames(*scope);
  return module;
}

std::optional<CompileRequest> tilewright::api::requestOf(const TwKernel &kernel, llvm::ArrayRef<Argument> bound,
                                                         const LaunchOptions &options, Diagnostics &diagnostics) {
  CompileRequest request;
  request.kernel = kernel.text ? KernelSource(kernel.text) : KernelSource(&kernel.tuned.function());
  std::optional<std::vector<ArgumentSpec>> specs =
      kernel.text ? kernel.text->specs : specialize(kernel.tuned.function(), bound, diagnostics);
  if (!specs) return std::nullopt;
  request.args = std::move(*specs);
  request.options = options.kernel;
  request.target = hostCpu();
  return request;
}

std::optional<std::string> tilewright::api::pointerOfUnknownExtent(const JitFunction &kernel, llvm::ArrayRef<Argument> bound) {
  for (size_t i = 0; i < bound.size(); ++i)
    if (bound[i].isPointer() && bound[i].address() && !bound[i].reach()) return kernel.parameters[i].name;
  return std::nullopt;
}

/// Runs one launch, or the part that `checking` selects, on the interpreter, which checks every access. Returns the error, or an empty
/// text.
static std::string runSanitized(TwKernel &kernel, const GridFunction &extents, const Arguments &given, const LaunchOptions &options,
                                HostCall *checking) {
  Diagnostics diagnostics;
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, diagnostics);
  std::optional<Grid> grid = choice ? extents(choice->arguments, diagnostics) : std::nullopt;
  if (!grid || !programCount(*grid, diagnostics)) return diagnostics.render();
  for (const Argument &argument : choice->arguments)
    if (argument.device() >= 0) return "sanitized launches run on the CPU: copy the tensors to its memory\n";
  std::optional<CompileRequest> request = requestOf(kernel, choice->arguments, choice->options, diagnostics);
  std::shared_ptr<InterpretedKernel> program = request ? InterpretedKernel::create(*request, diagnostics) : nullptr;
  if (!program || !program->checkMemory(choice->arguments, diagnostics)) return diagnostics.render();
  if (checking) {
    SanitizedRun run = program->sanitize(*grid, choice->arguments, checking->maxWork);
    if (run.outcome == SanitizedRun::bad && checking->fault.empty()) checking->fault = run.text;
    return run.text;
  }
  for (const std::string &name : program->unchecked(choice->arguments))
    return "sanitized launches need the size of '" + name + "': pass a vector, a span, or the pointer's extent\n";
  auto print = [](llvm::StringRef text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  std::string problem = program->run(*grid, choice->arguments, {/*checkBounds=*/true, print, {}, {}, nullptr});
  if (problem.empty()) reportWarnings(diagnostics);
  return problem.empty() ? problem : problem + "\n";
}

/// Adds the operations of a launch to the measured call of host code that contains it.
static void countLaunch(HostCall &call, TwKernel &kernel, const GridFunction &extents, const Arguments &given,
                        const LaunchOptions &options) {
  Diagnostics ignored; // the launch reports them
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, ignored);
  std::optional<Grid> grid = choice ? extents(choice->arguments, ignored) : std::nullopt;
  if (grid) call.count(kernel, *grid, choice->arguments, choice->options);
}

namespace {
/// Receives the warnings of calls that succeed.
struct WarningSink {
  std::recursive_mutex lock; // recursive, because a handler may call the library
  TwWarningFunction function = [](void *, const char *text) { std::fputs(text, stderr); };
  void *context = nullptr;
};
WarningSink &warningSink() {
  static auto &sink = *new WarningSink; // never destroyed: threads may launch while the process ends
  return sink;
}
} // namespace

void tilewright::api::reportWarnings(const Diagnostics &diagnostics) {
  if (diagnostics.all().empty()) return;
  WarningSink &sink = warningSink();
  std::lock_guard<std::recursive_mutex> guard(sink.lock);
  if (sink.function) sink.function(sink.context, diagnostics.render().c_str());
}

extern "C" {

const char *twVersion(void) {
  return TILEWRIGHT_VERSION;
}
const char *twErrorText(const TwError *error) {
  return error ? error->text.c_str() : "";
}
void twOnWarning(TwWarningFunction function, void *context) {
  WarningSink &sink = warningSink();
  std::lock_guard<std::recursive_mutex> guard(sink.lock);
  sink.function = function, sink.context = context;
}
TwError *twErrorNew(const char *text) {
  return new TwError{text ? text : ""};
}
void twErrorFree(TwError *error) {
  delete error;
}

static TwModule *textModule(const std::string &path, TwError **error) {
  Diagnostics diagnostics;
  Result<std::string> bytes = readFile(path);
  if (!bytes) diagnostics.error({}, Diag::fileNotFound, {path, bytes.error()});
  std::shared_ptr<const IrKernel> text = bytes ? readIrKernel(*bytes, path, "", diagnostics) : nullptr;
  if (text) return new TwModule{nullptr, text, {text->name}};
  setError(error, diagnostics.render());
  return nullptr;
}

TwModule *twModuleFromFile(const char *path, TwError **error) {
  if (!path) return setError(error, "the path of the module is null\n"), nullptr;
  llvm::StringRef name = path;
  if (name.ends_with(".ttir") || name.ends_with(".ttgir") || name.ends_with(".mlir")) return textModule(path, error);
  Diagnostics diagnostics;
  return makeModule(loadModule(path, diagnostics), diagnostics, error);
}

TwModule *twModuleFromSource(const char *source, const char *name, TwError **error) {
  if (!source || !name) return setError(error, "the source of the module, or its name, is null\n"), nullptr;
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> tree = parse(SourceFile::create(name, source, 1), diagnostics);
  return makeModule(tree ? moduleScope(tree) : nullptr, diagnostics, error);
}

void twModuleFree(TwModule *module) {
  delete module;
}
size_t twModuleKernelCount(const TwModule *module) {
  return module ? module->kernels.size() : 0;
}
const char *twModuleKernelName(const TwModule *module, size_t index) {
  return module && index < module->kernels.size() ? module->kernels[index].c_str() : nullptr;
}

TwKernel *twKernelFind(TwModule *module, const char *name, TwError **error) {
  if (!module || !name) return setError(error, module ? "the name of the kernel is null\n" : noModule), nullptr;
  if (module->text && module->text->name == name) return new TwKernel(module->text);
  if (module->text) {
    setError(error, "there is no kernel '" + std::string(name) + "' in " + std::string(module->text->file->name()) + "\n");
    return nullptr;
  }
  Diagnostics diagnostics;
  if (std::shared_ptr<const JitFunction> function = findKernel(*module->scope, name, diagnostics)) {
    reportWarnings(diagnostics);
    if (module->rules.empty()) return new TwKernel(std::move(function));
    auto *ruled = new JitFunction(*function);
    ruled->heuristics = module->rules;
    // `function` owns the scope of its names, so the copy keeps it.
    return new TwKernel(std::shared_ptr<const JitFunction>(ruled, [function](const JitFunction *copy) { delete copy; }));
  }
  setError(error, diagnostics.render());
  return nullptr;
}

void twKernelFree(TwKernel *kernel) {
  delete kernel;
}

int twLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments, size_t count,
             const TwOptions *options, TwError **error) {
  if (!kernel) return setError(error, noKernel), 0;
  Diagnostics diagnostics;
  GivenGrid extents(*kernel, grid, gridFunction, context);
  Arguments converted(arguments, count, diagnostics);
  LaunchOptions launch = launchOptions(options, diagnostics);
  if (diagnostics.hasErrors()) return setError(error, diagnostics.render()), 0;
  HostCall *call = HostCall::current();
  if (call && call->mode() == HostCall::Mode::counted) countLaunch(*call, *kernel, extents, converted, launch);
  HostCall *checking = call && call->mode() == HostCall::Mode::checked ? call : nullptr;
  if ((options && options->sanitize) || checking || (call && call->mode() == HostCall::Mode::interpreted)) {
    std::string problem = runSanitized(*kernel, extents, converted, launch, checking);
    if (!problem.empty()) setError(error, problem);
    return problem.empty();
  }
  // Passed by reference: std::function would copy the captures to the heap.
  if (kernel->tuned.launch(std::ref(extents), converted.positional, converted.named, launch, diagnostics)) {
    reportWarnings(diagnostics);
    return 1;
  }
  setError(error, diagnostics.render());
  return 0;
}

char *twEmit(TwKernel *kernel, const char *stage, const TwArgument *arguments, size_t count, const TwOptions *options, TwError **error) {
  static const std::pair<const char *, Stage> stages[] = {
      {"ast", Stage::ast}, {"tt", Stage::tt}, {"loops", Stage::loops}, {"llvm", Stage::llvm}, {"asm", Stage::assembly}};
  if (!kernel || !stage) return setError(error, kernel ? "the name of the stage is null\n" : noKernel), nullptr;
  const Stage *wanted = nullptr;
  for (const auto &[name, value] : stages)
    if (std::strcmp(name, stage) == 0) wanted = &value;
  if (!wanted) {
    setError(error, std::string("there is no stage '") + stage + "'; the stages are ast, tt, loops, llvm and asm\n");
    return nullptr;
  }
  Diagnostics diagnostics;
  Arguments converted(arguments, count, diagnostics);
  LaunchOptions launch = launchOptions(options, diagnostics);
  if (diagnostics.hasErrors()) return setError(error, diagnostics.render()), nullptr;
  std::optional<std::string> text;
  std::optional<BoundArguments> bound = bindArguments(kernel->tuned.function(), converted.positional, converted.named, diagnostics);
  bool hasStage = !kernel->text || *wanted != Stage::ast; // IR text has no syntax tree
  if (std::optional<CompileRequest> request = bound && hasStage ? requestOf(*kernel, *bound, launch, diagnostics) : std::nullopt)
    text = emitStage(*request, *wanted, diagnostics);
  if (text) reportWarnings(diagnostics);
  if (text) return ::strdup(text->c_str());
  setError(error, diagnostics.render());
  return nullptr;
}

void twStringFree(char *text) {
  std::free(text);
}

} // extern "C"
