// The channel for warnings of calls that succeed.
#include "api/handles.h"

#include <cstdio>
#include <mutex>

using namespace tilewright;
using namespace tilewright::api;

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
  if (!sink.function) return;
  std::string text = diagnostics.render(), thrown; // the call succeeds, even if its handler throws
  callCaller([&] { return sink.function(sink.context, text.c_str()), 0; }, 0, thrown);
}

void twOnWarning(TwWarningFunction function, void *context) {
  WarningSink &sink = warningSink();
  std::lock_guard<std::recursive_mutex> guard(sink.lock);
  sink.function = function, sink.context = context;
}
