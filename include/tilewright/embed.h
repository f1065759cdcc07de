// Tilewright as a part of a larger program: memory of compiled kernels, an observer for logs and metrics, a cache folder that the product
// ships. These settings belong to the whole process. Limits, deadlines, executors and memory of one call are in tilewright/tilewright.h.
#pragma once

#include "tilewright/tilewright.h"

namespace tilewright {

/// Bounds the compiled kernels in memory, by number and bytes. Beyond a limit, those that have not been launched for the longest time are
/// evicted; a later launch loads them from the cache folder, or compiles them again. 0: no limit.
inline Result<void> setCodeLimits(int64_t kernels, int64_t bytes) {
  TwCodeLimits limits{sizeof(TwCodeLimits), kernels, bytes};
  TwError *error = nullptr;
  if (twSetCodeLimits(&limits, &error)) return {};
  return detail::failed<void>(error);
}

/// Returns the specializations in memory, the bytes of their code, and how many have been evicted since the process began.
inline TwCodeUse codeUse() {
  TwCodeUse use{sizeof(TwCodeUse), 0, 0, 0};
  twCodeUse(&use);
  return use;
}

/// Something that the library did. TwEventKind says which fields matter.
struct Event {
  TwEventKind kind;
  std::string kernel;
  double seconds; // of the compilation, or of the launch until its function returns
  int64_t bytes;  // of the code
  bool failed;
};

/// Sets the observer. It is called on the thread that causes the event, and by several threads at once. What it causes itself is not
/// reported. It must not launch or prepare the kernel of the event. An empty function removes it. When this returns, no call of the
/// previous observer is running. False if the observer calls it.
inline bool onEvent(std::function<void(const Event &)> observer) {
  static std::mutex lock; // of the handler
  static std::function<void(const Event &)> current;
  std::unique_lock<std::mutex> guard(lock, std::try_to_lock);
  if (!guard || !twOnEvent(nullptr, nullptr)) return false;
  current = std::move(observer);
  auto call = [](void *, const TwEvent *event) { current({event->kind, event->kernel, event->seconds, event->bytes, event->failed != 0}); };
  return !current || twOnEvent(call, nullptr);
}

/// Sets a folder of compiled kernels and tuning results that the product ships. It is a copy of a cache folder (TILEWRIGHT_CACHE_DIR) that
/// was filled on a machine of the same kind, by the same library. It is read after the user's cache folder, and never written. An empty
/// path removes it. Fails if another user could write to it.
inline Result<void> setShippedCache(const std::string &folder) {
  TwError *error = nullptr;
  if (twSetShippedCache(folder.c_str(), &error)) return {};
  return detail::failed<void>(error);
}

} // namespace tilewright
