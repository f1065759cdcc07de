// The C interface of the runtime library (include/tilewright/runtime.h).

#include "aot_runtime/kernel.h"

#include "runtime/pool.h"

#include <cstdlib>
#include <cstring>

using namespace tilewright;
using namespace tilewright::aot;

/// Reports a problem as an error. Returns 1 if there is none, and 0 otherwise.
static int finish(Problem problem, TwError **error) {
  if (!problem) return 1;
  api::setError(error, problem.code, std::move(problem.text));
  return 0;
}

/// Calls `body` with the kernel and the options of a call.
template <typename F> static int withKernel(TwArtifact *artifact, const TwLaunchOptions *options, TwError **error, F body) {
  return api::guarded(error, 0, [&] {
    Problem problem;
    TwLaunchOptions known;
    Kernel *kernel = Kernel::of(artifact, problem);
    if (kernel) problem = readOptions(options, known);
    if (!problem) problem = body(*kernel, known);
    return finish(std::move(problem), error);
  });
}

extern "C" {

int twArtifactLaunch(TwArtifact *artifact, const TwLaunchOptions *options, const int64_t *grid, const uint64_t *arguments, size_t count,
                     TwError **error) {
  return withKernel(artifact, options, error, [&](Kernel &kernel, const TwLaunchOptions &known) {
    if (count && !arguments) return Problem{TW_ERROR_INVALID_ARGUMENT, "the launch gives no arguments\n"};
    return kernel.launch(known, grid, {arguments, count});
  });
}

int twArtifactLoad(TwArtifact *artifact, const TwLaunchOptions *options, TwError **error) {
  return withKernel(artifact, options, error, [](Kernel &kernel, const TwLaunchOptions &known) { return kernel.load(known); });
}

char *twArtifactDescribe(TwArtifact *artifact, TwError **error) {
  char *text = nullptr;
  withKernel(artifact, nullptr, error, [&](Kernel &kernel, const TwLaunchOptions &) {
    text = ::strdup(kernel.describe().c_str());
    return text ? Problem{} : Problem{TW_ERROR_OUT_OF_MEMORY, "there is no memory for the text\n"};
  });
  return text;
}

void twTextFree(char *text) {
  std::free(text);
}

const char *twCpuLevel(void) {
  return cpuLevelName();
}
int64_t twThreads(void) {
  return defaultThreads();
}
void twSetThreads(int64_t threads) {
  setDefaultThreads(threads);
}

const char *twVersion(void) {
  return TILEWRIGHT_VERSION;
}
int32_t twVersionNumber(void) {
  return TILEWRIGHT_VERSION_NUMBER;
}

} // extern "C"
