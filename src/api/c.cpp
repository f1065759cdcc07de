// Launches and texts of kernels of the C interface (include/tilewright/c.h).

#include "api/call.h"

#include "api/host_call.h"
#include "runtime/interpreted.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

using namespace tilewright;
using namespace tilewright::api;

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

namespace {
/// Asks a control every few milliseconds whether the work may go on, for the interpreter, which only reads a flag.
class Watchdog {
public:
  explicit Watchdog(const WorkControl *control) {
    if (control) thread = std::thread([this, control] { watch(*control); });
  }
  ~Watchdog() {
    if (!thread.joinable()) return;
    {
      std::lock_guard<std::mutex> guard(lock);
      isDone = true;
    }
    changed.notify_all();
    thread.join();
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;
  const std::atomic<bool> *stop() const { return &stops; }

private:
  void watch(const WorkControl &control) {
    std::unique_lock<std::mutex> guard(lock);
    while (!changed.wait_for(guard, std::chrono::milliseconds(5), [&] { return isDone; }))
      if (!control.mayContinue()) stops = true;
  }
  std::mutex lock; // of isDone
  std::condition_variable changed;
  bool isDone = false;
  std::atomic<bool> stops{false};
  std::thread thread;
};
} // namespace

/// The reason why a launch on the interpreter fails; without a code, it does not.
struct SanitizedProblem {
  TwErrorCode code = TW_ERROR_NONE;
  std::string text;
};

/// The result of a run. `text`: empty, or why it stopped.
static SanitizedProblem executionProblem(std::string text) {
  return {text.empty() ? TW_ERROR_NONE : TW_ERROR_EXECUTION, std::move(text)};
}

/// Runs one launch, or the part that `checking` selects, on the interpreter, which checks every access.
static SanitizedProblem runSanitized(TwKernel &kernel, const GridFunction &extents, const Arguments &given, const LaunchOptions &options,
                                     HostCall *checking) {
  Diagnostics diagnostics;
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, diagnostics);
  std::optional<Grid> grid = choice ? extents(choice->arguments, diagnostics) : std::nullopt;
  if (!grid || !programCount(*grid, diagnostics)) return {api::codeOf(diagnostics), diagnostics.render()};
  for (const Argument &argument : choice->arguments)
    if (argument.device() >= 0) return {TW_ERROR_UNSUPPORTED, "sanitized launches run on the CPU: copy the tensors to its memory\n"};
  std::optional<CompileRequest> request = requestOf(kernel, choice->arguments, choice->options, diagnostics);
  std::shared_ptr<InterpretedKernel> program = request ? InterpretedKernel::create(*request, diagnostics) : nullptr;
  if (!program || !program->checkMemory(choice->arguments, diagnostics)) return {api::codeOf(diagnostics), diagnostics.render()};
  if (checking) {
    SanitizedRun run = program->sanitize(*grid, choice->arguments, checking->maxWork);
    if (run.outcome == SanitizedRun::bad && checking->fault.empty()) checking->fault = run.text;
    return executionProblem(std::move(run.text));
  }
  for (const std::string &name : program->unchecked(choice->arguments))
    return {TW_ERROR_INVALID_ARGUMENT,
            "sanitized launches need the size of '" + name + "': pass a vector, a span, or the pointer's extent\n"};
  auto print = [](llvm::StringRef text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  Watchdog watchdog(options.control);
  std::string problem = program->run(*grid, choice->arguments, {/*checkBounds=*/true, print, {}, {}, watchdog.stop()});
  if (problem.empty()) reportWarnings(diagnostics);
  return executionProblem(problem.empty() ? problem : problem + "\n");
}

/// Adds the operations of a launch to the measured call of host code that contains it.
static void countLaunch(HostCall &call, TwKernel &kernel, const GridFunction &extents, const Arguments &given,
                        const LaunchOptions &options) {
  Diagnostics ignored; // the launch reports them
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, ignored);
  std::optional<Grid> grid = choice ? extents(choice->arguments, ignored) : std::nullopt;
  if (grid) call.count(kernel, *grid, choice->arguments, choice->options);
}

/// Runs one launch. False after an error.
static bool launchKernel(TwKernel &kernel, const GivenGrid &extents, const Arguments &given, const Call &options, TwError **error) {
  HostCall *call = HostCall::current();
  if (call && call->mode() == HostCall::Mode::counted) countLaunch(*call, kernel, extents, given, options.launch());
  HostCall *checking = call && call->mode() == HostCall::Mode::checked ? call : nullptr;
  Diagnostics diagnostics;
  if (options.sanitizes() || checking || (call && call->mode() == HostCall::Mode::interpreted)) {
    SanitizedProblem problem = runSanitized(kernel, extents, given, options.launch(), checking);
    if (problem.code == TW_ERROR_NONE) return true;
    Diagnostics none;
    bool isEnded = options.control() && options.control()->ended() != WorkControl::Ended::no;
    TwErrorCode code = isEnded || extents.callbackFailed() ? options.codeOf(none, &extents) : problem.code;
    return setError(error, code, std::move(problem.text)), false;
  }
  // Passed by reference: std::function would copy the captures to the heap.
  if (kernel.tuned.launch(std::ref(extents), given.positional, given.named, options.launch(), diagnostics)) {
    reportWarnings(diagnostics);
    return true;
  }
  options.fail(error, diagnostics, &extents);
  return false;
}

int tilewright::api::prepareKernel(TwKernel &kernel, const GivenGrid *extents, const Arguments &given, const Call &call, TwError **error) {
  ControlScope scope(call.control());
  Diagnostics diagnostics;
  GridFunction grid = extents ? GridFunction(std::ref(*extents)) : GridFunction();
  if (kernel.tuned.prepare(grid, given.positional, given.named, call.launch(), diagnostics)) return reportWarnings(diagnostics), 1;
  return call.fail(error, diagnostics, extents), 0;
}

/// Returns the kernel at a stage, or nothing after an error.
static std::optional<std::string> textOf(TwKernel &kernel, Stage stage, const Arguments &given, const LaunchOptions &launch,
                                         Diagnostics &diagnostics) {
  std::optional<BoundArguments> bound = bindArguments(kernel.tuned.function(), given.positional, given.named, diagnostics);
  if (bound && kernel.text && stage == Stage::ast)
    diagnostics.error({}, Diag::invalidOption, {"IR text has no syntax tree", "choose another stage"});
  std::optional<CompileRequest> request = bound ? requestOf(kernel, *bound, launch, diagnostics) : std::nullopt;
  return request && !diagnostics.hasErrors() ? emitStage(*request, stage, diagnostics) : std::nullopt;
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
static_assert(std::string_view(TILEWRIGHT_VERSION) ==
                  VERSION_TEXT(TILEWRIGHT_VERSION_MAJOR, TILEWRIGHT_VERSION_MINOR, TILEWRIGHT_VERSION_PATCH),
              "the version in tilewright/error.h is that of CMakeLists.txt");

extern "C" {

const char *twVersion(void) {
  return TILEWRIGHT_VERSION;
}
int32_t twVersionNumber(void) {
  return TILEWRIGHT_VERSION_NUMBER;
}

int twLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments, size_t count,
             const TwOptions *options, TwError **error) {
  return guarded(error, 0, [&]() -> int {
    if (!kernel) return setError(error, TW_ERROR_INVALID_ARGUMENT, noKernel), 0;
    Diagnostics diagnostics;
    GivenGrid extents(*kernel, grid, gridFunction, context);
    Arguments converted(arguments, count, diagnostics);
    Call call(*kernel, options, nullptr, diagnostics);
    if (diagnostics.hasErrors()) return setError(error, diagnostics), 0;
    if (!call.control()) return launchKernel(*kernel, extents, converted, call, error);
    ControlScope scope(call.control());
    return launchKernel(*kernel, extents, converted, call, error);
  });
}

int twPrepare(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments, size_t count,
              const TwOptions *options, TwError **error) {
  return guarded(error, 0, [&]() -> int {
    if (!kernel) return setError(error, TW_ERROR_INVALID_ARGUMENT, noKernel), 0;
    Diagnostics diagnostics;
    GivenGrid extents(*kernel, grid, gridFunction, context);
    Arguments converted(arguments, count, diagnostics);
    Call call(*kernel, options, nullptr, diagnostics);
    if (diagnostics.hasErrors()) return setError(error, diagnostics), 0;
    return prepareKernel(*kernel, grid || gridFunction ? &extents : nullptr, converted, call, error);
  });
}

char *twEmit(TwKernel *kernel, const char *stage, const TwArgument *arguments, size_t count, const TwOptions *options, TwError **error) {
  static const std::pair<const char *, Stage> stages[] = {
      {"ast", Stage::ast}, {"tt", Stage::tt}, {"loops", Stage::loops}, {"llvm", Stage::llvm}, {"asm", Stage::assembly}};
  return guarded(error, static_cast<char *>(nullptr), [&]() -> char * {
    if (!kernel || !stage)
      return setError(error, TW_ERROR_INVALID_ARGUMENT, kernel ? "the name of the stage is null\n" : noKernel), nullptr;
    const auto *wanted = llvm::find_if(stages, [&](const auto &each) { return std::strcmp(each.first, stage) == 0; });
    if (wanted == std::end(stages)) {
      std::string problem = std::string("there is no stage '") + stage + "'; the stages are ast, tt, loops, llvm and asm\n";
      return setError(error, TW_ERROR_NOT_FOUND, problem), nullptr;
    }
    Diagnostics diagnostics;
    Arguments converted(arguments, count, diagnostics);
    Call call(*kernel, options, nullptr, diagnostics);
    if (diagnostics.hasErrors()) return setError(error, diagnostics), nullptr;
    ControlScope scope(call.control());
    std::optional<std::string> text = textOf(*kernel, wanted->second, converted, call.launch(), diagnostics);
    if (!text) return call.fail(error, diagnostics, nullptr), nullptr;
    reportWarnings(diagnostics);
    return ::strdup(text->c_str());
  });
}

void twStringFree(char *text) {
  std::free(text);
}

} // extern "C"
