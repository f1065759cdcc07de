// Which launches with atomic operations may run at the same time.
#pragma once

#include "support/arena.h"

#include <atomic>
#include <cstdint>

namespace tilewright {

/// A launch runs while this lives: beside others of its kind or, if its kernel permits that and no other launch runs, alone.
class AtomicLaunch {
public:
  AtomicLaunch(Atomics kind, bool wantsAlone);
  ~AtomicLaunch();
  AtomicLaunch(const AtomicLaunch &) = delete;
  AtomicLaunch &operator=(const AtomicLaunch &) = delete;
  bool isAlone() const { return alone; }

private:
  bool entered = false, alone = false;
};

/// Whether a kernel is faster on one worker with plain operations than on several with atomic ones: both have been tried. Thread-safe.
class AloneOrTogether {
public:
  bool wantsAlone(int64_t workers) const;
  void took(bool alone, float programNanoseconds);

private:
  std::atomic<int> runsAlone{0};
  std::atomic<float> aloneNanoseconds{-1}, togetherNanoseconds{-1}; // of a program; negative: not measured yet
};

} // namespace tilewright
