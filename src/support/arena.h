// The first cache line of a worker's scratch memory: the values that a launch passes to the programs that the worker runs.
#pragma once

#include <cstdint>

namespace tilewright {

struct alignas(64) ArenaHead {
  uint64_t begun; // zero when a worker begins a launch; its programs may write it
  uint64_t alone; // 1: one worker runs all programs, and no other launch with atomic operations runs at the same time
};

/// The atomic operations of a kernel.
enum class Atomics : uint8_t {
  none,
  locked, // every one is an atomic instruction
  plain,  // if no other launch with atomics runs, those of tiles are a load, the operation and a store
};

} // namespace tilewright
