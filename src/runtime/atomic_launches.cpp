// An atomic addition takes some twenty cycles and waits for the one before it; a plain one takes a few, and does not wait (fp32 to a
// table in the cache, one thread of a Zen 5: 5.7 and 0.8 ns). It may be plain if nobody else adds to the same place: one worker runs
// the launch, and no other launch with atomic operations runs. So a kernel whose launch never waits for another one (no loop could
// wait, no atomic's result is used) keeps such launches from starting while it runs alone; one that may have to wait is never alone.
//
// One worker with plain operations can be faster than several with atomic ones. If there are few workers, the first launches try both.
#include "runtime/atomic_launches.h"

#include "runtime/pool.h"

#include <pthread.h>

namespace tilewright {

static std::atomic<int64_t> running{0}; // launches with atomic operations; -1: one, alone
[[maybe_unused]] static const int noneInChild = pthread_atfork(nullptr, nullptr, [] { running.store(0); });

static bool tryEnter(bool asOnlyOne) {
  int64_t now = running.load();
  while (asOnlyOne ? now == 0 : now >= 0)
    if (running.compare_exchange_weak(now, asOnlyOne ? -1 : now + 1)) return true;
  return false;
}

AtomicLaunch::AtomicLaunch(Atomics kind, bool wantsAlone) {
  // A launch from inside a program belongs to that program's launch.
  if (kind == Atomics::none || isInsideProgram()) return;
  entered = true;
  alone = wantsAlone && kind == Atomics::plain && tryEnter(true);
  if (alone) return;
  while (!tryEnter(false))
    running.wait(-1);
}

AtomicLaunch::~AtomicLaunch() {
  if (!entered) return;
  if (!alone) {
    running.fetch_sub(1);
    return;
  }
  running.store(0);
  running.notify_all();
}

bool AloneOrTogether::wantsAlone(int64_t workers) const {
  constexpr int64_t maxWorkers = 8; // more workers are faster together, with atomic operations
  if (workers <= 1) return true;
  if (workers > maxWorkers) return false;
  if (runsAlone.load(std::memory_order_relaxed) < 2) return true; // the first launch finds cold caches
  float together = togetherNanoseconds.load(std::memory_order_relaxed);
  return together >= 0 && aloneNanoseconds.load(std::memory_order_relaxed) < together / static_cast<float>(workers);
}

void AloneOrTogether::took(bool alone, float programNanoseconds) {
  if (alone) runsAlone.fetch_add(1, std::memory_order_relaxed);
  (alone ? aloneNanoseconds : togetherNanoseconds).store(programNanoseconds, std::memory_order_relaxed);
}

} // namespace tilewright
