// The settings of the whole process: memory of compiled kernels, the observer, the shipped cache folder.
#include "api/handles.h"
#include "api/sized.h"

#include "runtime/cache.h"
#include "runtime/code_budget.h"
#include "runtime/events.h"

using namespace tilewright;
using namespace tilewright::api;

static TwEventKind kindOf(RuntimeEvent::Kind kind) {
  switch (kind) {
  case RuntimeEvent::Kind::compileStarted: return TW_EVENT_COMPILE_STARTED;
  case RuntimeEvent::Kind::compileFinished: return TW_EVENT_COMPILE_FINISHED;
  case RuntimeEvent::Kind::cacheHit: return TW_EVENT_CACHE_HIT;
  case RuntimeEvent::Kind::cacheMiss: return TW_EVENT_CACHE_MISS;
  case RuntimeEvent::Kind::launch: return TW_EVENT_LAUNCH;
  case RuntimeEvent::Kind::evicted: return TW_EVENT_EVICTED;
  }
  return TW_EVENT_LAUNCH;
}

extern "C" {

int twSetCodeLimits(const TwCodeLimits *limits, TwError **error) {
  return guarded(error, 0, [&] {
    TwCodeLimits copy{};
    std::string problem = limits ? readSized(limits, copy, "TwCodeLimits") : "the limits are null";
    if (problem.empty() && (copy.kernels < 0 || copy.bytes < 0)) problem = "a limit of compiled kernels is negative; 0 is no limit";
    if (!problem.empty()) return setError(error, TW_ERROR_INVALID_ARGUMENT, problem + "\n"), 0;
    setCodeLimits({copy.kernels, copy.bytes});
    return 1;
  });
}

int twCodeUse(TwCodeUse *use) {
  if (!use) return 0;
  CodeUse found = codeUse();
  return writeSized(TwCodeUse{sizeof(TwCodeUse), found.kernels, found.bytes, found.evicted}, use);
}

int twOnEvent(TwEventFunction function, void *context) {
  return guarded(nullptr, 0, [&]() -> int {
    if (!function) return observe(nullptr);
    return observe([=](const RuntimeEvent &event) {
      TwEvent made{sizeof(TwEvent), kindOf(event.kind), event.kernel.c_str(), event.seconds, event.bytes, event.failed};
      std::string thrown; // an observer has no influence on the call
      callCaller([&] { return function(context, &made), 0; }, 0, thrown);
    });
  });
}

int twSetShippedCache(const char *folder, TwError **error) {
  return guarded(error, 0, [&] {
    Result<void> done = setShippedCache(folder ? folder : "");
    if (done) return 1;
    setError(error, TW_ERROR_IO, "the folder '" + std::string(folder) + "' cannot be used as a cache: " + done.error() + "\n");
    return 0;
  });
}

} // extern "C"
