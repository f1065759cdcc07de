// The workers that run a grid.
//
// A kernel's programs are independent, mostly short, and numbered in launch order. Starting threads for each launch costs more than most
// kernels, so workers are started once and wait. They spin for a few tens of microseconds after a launch (the next one often follows at
// once), then sleep. The caller is one of the workers. Each worker has a range of consecutive programs, the same at each launch of the
// grid, so its CPU's cache still holds data of the previous launch. It takes them in launch order, in chunks. A chunk grows until the cost
// of taking it is small, and shrinks near the end so that all workers finish together. A worker that has finished its own range takes
// chunks from other ranges, from the first one on. A started program runs to its end, and the caller takes programs in launch order. So
// programs may wait for earlier ones, and on locks held by running ones.
//
// NUMA (support/numa.h): if the default number of threads exceeds the CPUs of a node at the first launch, each worker stays on one node.
// The ranges of a node are adjacent. So data that programs share, and memory of the previous launch, is on the same node. Threads without
// work help on their own node first.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilewright {

/// Threads of the embedding program, which run the programs instead of the pool's workers.
struct Executor {
  void *context = nullptr;
  int64_t threads = 0; // tasks that may run at the same time, at least 1
  /// Calls task(data, i) once for each i from 0 to count - 1, on any threads, and returns when all calls have returned. False if it could
  /// not call all.
  bool (*run)(void *context, void (*task)(void *data, int64_t index), void *data, int64_t count) = nullptr;
  std::atomic<bool> *hasFailed = nullptr; // if not null, set to true when programs were not run
};

/// Memory of the embedding program, for the scratch memory of a launch.
struct ScratchAllocator {
  void *context = nullptr;
  void *(*allocate)(void *context, int64_t bytes, int64_t alignment) = nullptr; // null if there is none
  void (*release)(void *context, void *memory, int64_t bytes) = nullptr;
};

struct PoolJob {
  /// Runs the programs [first, last). Called on several threads at once. `arena`: that thread's scratch memory, 64-byte aligned, after an
  /// ArenaHead.
  void (*body)(void *context, int64_t first, int64_t last, char *arena) = nullptr;
  void *context = nullptr;
  int64_t programs = 0;
  int64_t arenaBytes = 0;
  int64_t threads = 0;                // at most this many; 0: the default
  float programNanoseconds = -1;      // expected; negative: unknown
  bool inOrder = false;               // the threads of a node take from one range: programs that are close in launch order run together
  const Executor *executor = nullptr; // null: the pool's workers
  const ScratchAllocator *allocator = nullptr; // null: the threads keep their scratch memory
  bool alone = false;                          // passed to programs in ArenaHead; requires `threads` 1
};

struct PoolResult {
  bool ok = true;                // false: no memory for the arena, and nothing was run; or the executor failed
  bool executorFailed = false;   // then `ok` is false, and some programs may have run
  float programNanoseconds = -1; // measured mean, or the expected time; negative if nothing was run
};

/// Runs a job on the process's pool and returns when all its programs are done. Any thread may call it. While another thread's job uses the
/// workers, a short job runs on its caller alone and a long one waits. After fork() the child starts its own workers when it needs them. A
/// call from inside a program runs on that thread alone. Allocates nothing once the workers and their arenas exist.
PoolResult runOnPool(const PoolJob &job);

/// True if this thread runs a program.
bool isInsideProgram();

/// Sends a signal to the workers. They block all but SIGURG.
void signalWorkers(int signal);

/// Returns TILEWRIGHT_NUM_THREADS, or the number of CPUs that this process may use.
int64_t defaultThreads();
/// Replaces the default; 0 restores it.
void setDefaultThreads(int64_t threads);
/// The number of threads for launches of this thread, even short ones; 0: the default. Verification sets it, because a race needs several.
int64_t &forcedThreads();

} // namespace tilewright
