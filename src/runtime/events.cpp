#include "runtime/events.h"

#include <mutex>
#include <shared_mutex>

namespace tilewright {

std::atomic<bool> detail::isObserved{false};

namespace {
struct Observer {
  std::shared_mutex lock; // shared while the function runs
  std::function<void(const RuntimeEvent &)> function;
};
Observer &observer() {
  static auto &only = *new Observer; // never destroyed: threads may launch while the process ends
  return only;
}
thread_local bool isReporting = false;
} // namespace

void report(const RuntimeEvent &event) {
  if (isReporting) return;
  std::shared_lock<std::shared_mutex> guard(observer().lock);
  if (!observer().function) return;
  isReporting = true;
  observer().function(event);
  isReporting = false;
}

bool observe(std::function<void(const RuntimeEvent &)> function) {
  if (isReporting) return false;
  std::unique_lock<std::shared_mutex> guard(observer().lock);
  detail::isObserved.store(function != nullptr);
  observer().function = std::move(function);
  return true;
}

} // namespace tilewright
