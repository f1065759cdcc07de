#include "support/stack.h"

#include <csignal>
#include <pthread.h>

namespace tilewright {

namespace {

/// The stack that the end of a recursion may need: to build an operation, to render a diagnostic.
constexpr int64_t reserve = 96 * 1024;

/// Returns the lowest address of this thread's stack; 0 if it is not known.
uintptr_t lowestAddress() {
#ifdef __linux__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void *lowest = nullptr;
  size_t size = 0, guard = 0;
  bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(lowest) + guard : 0;
#else
  return 0;
#endif
}

} // namespace

int64_t stackLeft() {
  thread_local const uintptr_t lowest = lowestAddress();
  if (!lowest) return INT64_MAX;
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - lowest);
}

bool stackIsLow() {
  return stackLeft() < reserve;
}

void onStackOf(int64_t bytes, const std::function<void()> &work) {
  if (stackLeft() >= bytes) return work();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<size_t>(bytes + reserve));
  sigset_t all, before;
  sigfillset(&all); // the host program's threads handle signals
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  auto run = [](void *work) -> void * {
    (*static_cast<const std::function<void()> *>(work))();
    return nullptr;
  };
  bool started = pthread_create(&thread, &attributes, run, const_cast<std::function<void()> *>(&work)) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!started) return work(); // most kernels need little stack
  pthread_join(thread, nullptr);
}

} // namespace tilewright
