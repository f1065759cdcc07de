#include "api/call.h"

#include "api/sized.h"
#include "support/settings.h"

#include <cmath>
#include <cstdio>
#include <tuple>

namespace tilewright::api {

static void refuse(Diagnostics &diagnostics, const std::string &problem) {
  diagnostics.error({}, Diag::invalidOption, {problem, ""});
}

static void checkRange(const char *name, int64_t value, int64_t limit, Diagnostics &diagnostics) {
  if (value < 0 || value > limit)
    diagnostics.error({}, Diag::launchOption, {name, std::to_string(value), "from 0 to " + std::to_string(limit), "0 is the default"});
}

static constexpr double maxSeconds = 1e9; // 31 years: larger numbers overflow the clock

Call::Call(const TwKernel &kernel, const TwOptions *options, const std::atomic<bool> *extraCancel, Diagnostics &diagnostics) {
  converted.checksTypes = true;
  if (kernel.limits) {
    work.limits = *kernel.limits;
    converted.control = &work;
  }
  if (extraCancel) {
    work.cancels[1] = extraCancel;
    converted.control = &work;
  }
  if (!options) return;
  TwOptions copy;
  std::string problem;
  if (const TwOptions *read = viewSized(options, copy, "TwOptions", problem))
    convert(*read, extraCancel, diagnostics);
  else
    refuse(diagnostics, problem);
}

void Call::convert(const TwOptions &options, const std::atomic<bool> *extraCancel, Diagnostics &diagnostics) {
  constexpr int64_t maxOptionValue = 1 << 16;
  int64_t all = options.threads | options.numWarps | options.numStages | options.numCtas | options.maxRegisters;
  if (all < 0 || all >= maxOptionValue) // one of them may be out of range
    for (auto [name, value] :
         {std::pair("threads", options.threads), std::pair("numWarps", options.numWarps), std::pair("numStages", options.numStages),
          std::pair("numCtas", options.numCtas), std::pair("maxRegisters", options.maxRegisters)})
      checkRange(name, value, maxOptionValue, diagnostics);
  converted.threads = options.threads;
  if (options.numWarps != 0) converted.kernel.numWarps = options.numWarps;
  if (options.numStages != 0) converted.kernel.numStages = options.numStages;
  if (options.numCtas != 0) converted.kernel.numCtas = options.numCtas;
  if (options.maxRegisters != 0) converted.kernel.maxnreg = options.maxRegisters;
  converted.stream = options.stream;
  converted.cooperative = options.cooperative != 0;
  converted.programmaticLaunch = options.programmaticLaunch != 0;
  static const bool checksAll = isSwitchedOn("TILEWRIGHT_CHECK_POINTERS", false);
  converted.checksPointers = checksAll || options.checkPointers != 0;
  isSanitized = options.sanitize != 0;
  if (options.cancel) {
    work.cancels[0] = &options.cancel->isRequested;
    converted.control = &work;
  }
  if (!(options.timeoutSeconds >= 0 && options.timeoutSeconds <= maxSeconds)) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", options.timeoutSeconds);
    refuse(diagnostics, std::string("timeoutSeconds is ") + seconds + "; it is from 0, which is no limit, to 1e9");
  } else if (options.timeoutSeconds > 0) {
    auto duration = std::chrono::duration<double>(options.timeoutSeconds);
    work.deadline = WorkControl::Clock::now() + std::chrono::duration_cast<WorkControl::Clock::duration>(duration);
    converted.control = &work;
  }
  if (options.executor) takeExecutor(*options.executor, diagnostics);
  if (options.allocator) takeAllocator(*options.allocator, diagnostics);
}

void Call::takeExecutor(const TwExecutor &given, Diagnostics &diagnostics) {
  if (std::string problem = readSized(&given, givenExecutor, "TwExecutor"); !problem.empty()) return refuse(diagnostics, problem);
  if (!givenExecutor.run || givenExecutor.threads < 1)
    return refuse(diagnostics, "the executor has " + std::string(givenExecutor.run ? "no threads" : "no function `run`"));
  executor.context = this;
  executor.threads = givenExecutor.threads;
  executor.run = [](void *self, void (*task)(void *, int64_t), void *data, int64_t count) {
    auto &call = *static_cast<Call *>(self);
    const TwExecutor &given = call.givenExecutor;
    std::string thrown;
    return callCaller([&] { return given.run(given.context, task, data, count) != 0; }, false, thrown);
  };
  executor.hasFailed = &callerFailed;
  converted.executor = &executor;
}

void Call::takeAllocator(const TwAllocator &given, Diagnostics &diagnostics) {
  if (std::string problem = readSized(&given, givenAllocator, "TwAllocator"); !problem.empty()) return refuse(diagnostics, problem);
  if (!givenAllocator.allocate || !givenAllocator.release)
    return refuse(diagnostics, "the allocator has no function `allocate` or `release`");
  allocator.context = this;
  allocator.allocate = [](void *self, int64_t bytes, int64_t alignment) { return static_cast<Call *>(self)->allocate(bytes, alignment); };
  allocator.release = [](void *self, void *memory, int64_t bytes) {
    const TwAllocator &given = static_cast<Call *>(self)->givenAllocator;
    std::string thrown; // the memory stays allocated; nothing else can be done
    callCaller([&] { return given.release(given.context, memory, bytes), 0; }, 0, thrown);
  };
  converted.allocator = &allocator;
}

/// Returns memory of the caller's allocator, or null if it has none that can be used.
void *Call::allocate(int64_t bytes, int64_t alignment) {
  std::string thrown;
  const TwAllocator &given = givenAllocator;
  void *memory = callCaller([&] { return given.allocate(given.context, bytes, alignment); }, static_cast<void *>(nullptr), thrown);
  if (!thrown.empty()) noteProblem("the allocator fails: " + thrown);
  if (reinterpret_cast<uintptr_t>(memory) % static_cast<uintptr_t>(alignment) == 0) return memory;
  allocator.release(this, memory, bytes);
  callerFailed = true;
  noteProblem("the allocator returns memory that is not aligned to " + std::to_string(alignment) + " bytes");
  return nullptr;
}

void Call::noteProblem(std::string text) {
  std::lock_guard<std::mutex> guard(problemLock);
  if (callerProblem.empty()) callerProblem = std::move(text);
}

TwErrorCode Call::codeOf(const Diagnostics &diagnostics, const GivenGrid *grid) const {
  switch (work.ended()) {
  case WorkControl::Ended::canceled: return TW_ERROR_CANCELED;
  case WorkControl::Ended::deadline: return TW_ERROR_DEADLINE;
  case WorkControl::Ended::limit: return TW_ERROR_LIMIT;
  case WorkControl::Ended::no: break;
  }
  if (callerFailed || (grid && grid->callbackFailed())) return TW_ERROR_CALLBACK;
  return api::codeOf(diagnostics);
}

void Call::fail(TwError **error, const Diagnostics &diagnostics, const GivenGrid *grid) const {
  if (!error) return;
  std::lock_guard<std::mutex> guard(problemLock);
  std::string text = diagnostics.render();
  setError(error, codeOf(diagnostics, grid), callerProblem.empty() ? text : text + "  note: " + callerProblem + "\n");
}

WorkLimits limitsOf(const TwLimits *given, Diagnostics &diagnostics) {
  WorkLimits limits;
  TwLimits copy{};
  if (!given) return limits;
  if (std::string problem = readSized(given, copy, "TwLimits"); !problem.empty()) return refuse(diagnostics, problem), limits;
  constexpr int64_t most = int64_t(1) << 62;
  for (auto [name, value, target] :
       {std::tuple("textBytes", copy.textBytes, &limits.textBytes),
        std::tuple("evaluatorSteps", copy.evaluatorSteps, &limits.evaluatorSteps),
        std::tuple("evaluatorBytes", copy.evaluatorBytes, &limits.evaluatorBytes),
        std::tuple("tileElements", copy.tileElements, &limits.tileElements), std::tuple("operations", copy.operations, &limits.operations),
        std::tuple("memoryBytes", copy.memoryBytes, &limits.memoryBytes)}) {
    checkRange(name, value, most, diagnostics);
    *target = value;
  }
  if (!(copy.compileSeconds >= 0 && copy.compileSeconds <= maxSeconds))
    refuse(diagnostics, "compileSeconds is " + std::to_string(copy.compileSeconds) + "; 0 is no limit");
  limits.compileSeconds = copy.compileSeconds;
  limits.deniesFiles = copy.denyFiles != 0;
  return limits;
}

} // namespace tilewright::api

extern "C" {

TwCancel *twCancelNew(TwError **error) {
  return tilewright::api::guarded(error, static_cast<TwCancel *>(nullptr), [] { return new TwCancel; });
}
void twCancelRequest(TwCancel *cancel) {
  if (cancel) cancel->isRequested.store(true);
}
void twCancelFree(TwCancel *cancel) {
  delete cancel;
}

} // extern "C"
