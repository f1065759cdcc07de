// The grid's workers.
//
// A kernel's programs are independent, mostly short, and come in launch order. Starting threads for each launch costs more than most
// kernels, so workers are started once and wait: awake for a few tens of microseconds after a launch (the next one often follows at once),
// then asleep. The caller is one of the workers. Each has a stretch of neighboring programs, the same at each launch of the grid, so that
// what a launch before has left in its processor's cache is there. It takes them in launch order, in chunks of consecutive ones: a chunk
// grows until it takes long enough to make taking cheap, and shrinks near the end so that all finish together. Who has done its own
// stretch takes from the others', the first of them first. A program, once started, runs to its end, and the caller takes programs in
// launch order, so programs may wait for earlier ones, and on locks held by running ones.
//
// Where launches have more threads by default, as the first one begins, than a node of memory has processors (support/numa.h), each worker
// stays on one node, and the stretches of a node are neighbors: what programs share, and what a launch before has left in memory, is near.
// Threads help on their own node first.
#pragma once

#include <cstdint>

namespace tilewright {

struct PoolJob {
  /// Runs the programs [first, last). Called on several threads at once. `arena`: that thread's scratch, 64-byte aligned,
  /// with an ArenaHead in front.
  void (*body)(void *context, int64_t first, int64_t last, char *arena) = nullptr;
  void *context = nullptr;
  int64_t programs = 0;
  int64_t arenaBytes = 0;
  int64_t threads = 0;           // at most this many; 0: the default
  float programNanoseconds = -1; // expected; negative: unknown
  bool inOrder = false;          // the threads of a node take from one stretch: programs that are near in launch order run together
  bool alone = false;            // told to programs: ArenaHead. Then `threads` is 1
};

struct PoolResult {
  bool ok = true;                // false: no memory for the arena; nothing was run
  float programNanoseconds = -1; // measured mean, or what was expected; negative if nothing was run
};

/// Runs a job on the process's pool and returns when all its programs are done. Any thread may call it; while another thread's job has the
/// workers, a short job runs on its caller alone and a long one waits. After fork() the child starts workers of its own when it needs them.
/// A call from inside a program runs on that thread alone. Allocates nothing once the workers and their arenas exist.
PoolResult runOnPool(const PoolJob &job);

/// Whether this thread runs a program.
bool isInsideProgram();

/// Sends a signal to the workers. They block all but SIGURG.
void signalWorkers(int signal);

/// TILEWRIGHT_NUM_THREADS, or the processors this process may use.
int64_t defaultThreads();
/// Replaces the default; 0 restores it.
void setDefaultThreads(int64_t threads);
/// The threads that launches of this thread use, however short they are; 0: as usual. Verification sets it, because a race needs several.
int64_t &forcedThreads();

} // namespace tilewright
