// Controls which launches with atomic operations run at the same time.
#pragma once

#include "support/arena.h"

#include <atomic>
#include <cstdint>

namespace tilewright {

/// A running launch. It runs in parallel with others of its kind, or alone, if its kernel permits that and no other launch runs.
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

/// Decides whether a kernel is faster on one worker with plain operations than on several with atomic ones, after trying both. Thread-safe.
class AloneOrTogether {
public:
  bool wantsAlone(int64_t workers) const;
  void took(bool alone, float programNanoseconds);

private:
  std::atomic<int> runsAlone{0};
  std::atomic<float> aloneNanoseconds{-1}, togetherNanoseconds{-1}; // for one program; negative: not measured yet
};

} // namespace tilewright
