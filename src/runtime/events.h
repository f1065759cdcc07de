// Tells an embedding program what the runtime does: compilations, the cache folder, launches, evictions. Without an observer, a launch
// reads one flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace tilewright {

struct RuntimeEvent {
  enum class Kind : uint8_t { compileStarted, compileFinished, cacheHit, cacheMiss, launch, evicted };
  Kind kind;
  const std::string &kernel;
  double seconds = 0;  // of a compilation, and of a launch until its function returns
  int64_t bytes = 0;   // of the code: found, compiled or evicted
  bool failed = false; // a compilation or a launch
};

namespace detail {
extern std::atomic<bool> isObserved;
} // namespace detail

inline bool hasObserver() {
  return detail::isObserved.load(std::memory_order_relaxed);
}
/// Calls the observer, on this thread. What the observer itself causes is not reported.
void report(const RuntimeEvent &event);
/// Replaces the observer, and returns once no call of the previous one is running. An empty function removes it. False if the observer
/// calls this: then nothing changes.
bool observe(std::function<void(const RuntimeEvent &)> observer);

} // namespace tilewright
