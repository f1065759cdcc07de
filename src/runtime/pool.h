// The grid's workers.
//
// A kernel's programs are independent, mostly short, and come in launch order. Starting threads for each launch costs more than most
// kernels, so workers are started once and wait: awake for a few tens of microseconds after a launch (the next one often follows at once),
// then asleep. The caller is one of the workers. Programs are handed out in launch order, in chunks of consecutive ones: a chunk grows
// until it takes long enough to make handing out cheap, and shrinks near the end so that all finish together. A program, once started, runs
// to its end, so programs may wait on locks held by running ones.
//
// Where launches have more threads by default, as the first one begins, than a node of memory has processors (support/numa.h), each worker
// stays on one node, and a job's programs are dealt out to the nodes, one stretch of neighbors each, which is the same at each launch of
// the grid: what programs share, and what a launch before has left in memory, is near. Within a stretch the order holds. Threads whose
// stretch is done help with the others.
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

} // namespace tilewright
