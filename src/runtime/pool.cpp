// See pool.h for the idea. What needs care is that a worker may wake late, when the job it was woken for is over and its fields are being
// rewritten for the next: a worker first counts itself in (`active`), then looks whether the job is still open; the caller first closes the
// job, then waits until nobody is counted in. Both sides use sequentially consistent operations, so one of them always sees the other.

#include "runtime/pool.h"

#include "support/arena.h"
#include "support/cpu_quota.h"
#include "support/processor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright {
namespace {

constexpr int64_t spinNanoseconds = 50'000; // a launch loop in Python comes back within 20 us
// A streaming kernel reads a stretch of rows per chunk: with 20 us, softmax of 16384 rows of 1024 was a quarter slower.
constexpr int64_t chunkNanoseconds = 200'000;
constexpr float soloNanoseconds = 4'000;  // below this the caller is done before woken workers have begun
constexpr float wakeNanoseconds = 10'000; // a sleeping worker is worth waking for this much work of its own
constexpr int64_t maxThreads = 1024;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pauseCpu() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Every so often a thread that spins lets another run: the scheduler may have put the one that it waits for on the same processor, and
/// then all of its spinning would be waited for (66 microseconds in place of 8 for a launch of 12, after NumPy had allocated memory).
bool isTimeToLook(int64_t turns) {
  if (turns % 64 != 63) return false;
  ::sched_yield();
  return true;
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futexWake(std::atomic<uint32_t> &word, int64_t count) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, static_cast<int>(count), nullptr, nullptr, 0);
}

/// One thread's scratch memory. Grows and stays. Moves, never copies: a nested job swaps it out.
class Arena {
public:
  bool reserve(int64_t bytes) {
    if (bytes <= size) return true;
    memory.reset();
    size = 0;
    int64_t wanted = (bytes + 4095) & ~int64_t(4095);
    memory.reset(static_cast<char *>(std::aligned_alloc(4096, static_cast<size_t>(wanted))));
    if (memory) size = wanted;
    return memory != nullptr;
  }
  char *data() const { return memory.get(); }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
  int64_t size = 0;
};

void beginLaunch(char *arena, const PoolJob &job) {
  if (arena) *reinterpret_cast<ArenaHead *>(arena) = {0, job.alone};
}

// Found by one load: a launch would spend as long on asking the loader where they are as on running an empty grid.
[[gnu::tls_model("initial-exec")]] constinit thread_local Arena threadArena;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool insideJob = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local uint32_t launchesAlone = 0;

struct Job {
  PoolJob work;
  int64_t firstChunk = 1;
  int64_t share = 2; // chunks are at most 1/share of what is left
  std::atomic<int64_t> joined{0};
  int64_t joinLimit = 0; // workers beside the caller
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int64_t> busyNanoseconds{0};
};

/// Takes chunks until none is left.
void work(Job &job) {
  int64_t chunk = job.firstChunk, total = job.work.programs, spent = 0;
  char *arena = threadArena.data();
  beginLaunch(arena, job.work);
  int64_t before = now();
  while (true) {
    int64_t left = total - job.next.load(std::memory_order_relaxed);
    int64_t take = std::clamp<int64_t>(left / job.share, 1, chunk);
    int64_t first = job.next.fetch_add(take, std::memory_order_relaxed);
    if (first >= total) break;
    job.work.body(job.work.context, first, std::min(first + take, total), arena);
    int64_t after = now();
    // Doubling, not computing, so that one slow first chunk (cold caches, page faults) does not fix the size.
    if (after - before < chunkNanoseconds / 2 && take == chunk) chunk *= 2;
    spent += after - before;
    before = after;
  }
  job.busyNanoseconds.fetch_add(spent, std::memory_order_relaxed);
}

class Pool {
public:
  PoolResult run(const PoolJob &request);
  void signalWorkers(int number) const;

private:
  PoolResult runAlone(const PoolJob &request);
  void startWorkers(int64_t count);
  static void *workerMain(void *pool);
  void workerLoop();

  std::mutex launching; // held by the thread whose job has the workers
  Job job;
  std::atomic<int64_t> workers{0}; // changed by who holds `launching`
  std::array<pthread_t, maxThreads> started{};
  std::atomic<int64_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> signal{0}; // counts jobs; workers wait for it to change
  std::atomic<bool> open{false};               // the job may be joined
  alignas(64) std::atomic<uint32_t> active{0}; // workers that are looking at the job
  std::atomic<bool> callerSleeps{false};
};

PoolResult Pool::runAlone(const PoolJob &request) {
  if (!threadArena.reserve(request.arenaBytes)) return {false, -1};
  bool nested = insideJob;
  insideJob = true;
  beginLaunch(threadArena.data(), request);
  // Two looks at the clock take as long as a small grid does. What is known to be short is timed now and then.
  bool isTimed =
      request.programNanoseconds < 0 || request.programs * request.programNanoseconds >= soloNanoseconds || ++launchesAlone % 8 == 0;
  int64_t before = isTimed ? now() : 0;
  request.body(request.context, 0, request.programs, threadArena.data());
  float mean = isTimed ? static_cast<float>(now() - before) / static_cast<float>(request.programs) : request.programNanoseconds;
  insideJob = nested;
  return {true, mean};
}

PoolResult Pool::run(const PoolJob &request) {
  if (request.programs <= 0) return {true, -1};
  // A nested job would reuse the arena of the program that it interrupts.
  if (insideJob) {
    Arena outer;
    std::swap(outer, threadArena);
    PoolResult result = runAlone(request);
    std::swap(outer, threadArena);
    return result;
  }
  int64_t threads = std::min(request.threads > 0 ? std::min(request.threads, maxThreads) : defaultThreads(), request.programs);
  float expected = request.programNanoseconds < 0 ? -1 : request.programNanoseconds * static_cast<float>(request.programs);
  if (threads <= 1 || (expected >= 0 && expected < soloNanoseconds)) return runAlone(request);
  std::unique_lock<std::mutex> lock(launching, std::defer_lock);
  if (!lock.try_lock()) {
    if (expected >= 0 && expected < 10 * soloNanoseconds) return runAlone(request);
    lock.lock();
  }
  if (!threadArena.reserve(request.arenaBytes)) return {false, -1};
  if (workers.load(std::memory_order_relaxed) < threads - 1) startWorkers(threads - 1);

  job.work = request;
  job.firstChunk = request.programNanoseconds < 0
                       ? 1
                       : std::clamp<int64_t>(static_cast<int64_t>(chunkNanoseconds / std::max(request.programNanoseconds, 1.0f)), 1,
                                             std::max<int64_t>(1, request.programs / threads));
  job.share = 2 * threads;
  job.joinLimit = threads - 1;
  if (expected >= 0)
    job.joinLimit = std::min<int64_t>(job.joinLimit, std::max<int64_t>(1, static_cast<int64_t>(expected / wakeNanoseconds)));
  job.joined.store(0, std::memory_order_relaxed);
  job.next.store(0, std::memory_order_relaxed);
  job.busyNanoseconds.store(0, std::memory_order_relaxed);
  open.store(true);
  signal.fetch_add(1);
  // With enough workers awake nobody needs to be woken, and the system call is saved.
  int64_t awake = workers.load(std::memory_order_relaxed) - sleepers.load();
  if (awake < job.joinLimit) futexWake(signal, job.joinLimit - awake);

  insideJob = true;
  work(job);
  insideJob = false;

  open.store(false);
  for (int64_t start = 0, turns = 0; active.load() != 0; ++turns) {
    pauseCpu();
    if (!isTimeToLook(turns)) continue;
    int64_t time = now();
    if (start == 0) start = time;
    if (time - start < spinNanoseconds) continue;
    callerSleeps.store(true);
    if (uint32_t count = active.load()) futexWait(active, count);
    callerSleeps.store(false);
  }
  return {true, static_cast<float>(job.busyNanoseconds.load()) / static_cast<float>(request.programs)};
}

void Pool::startWorkers(int64_t count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8 << 20); // programs may keep small tiles on the stack
  // Signals are for the host program's threads, but for the one that ends programs (runtime/signals.h).
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGURG);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; workers < count; ++workers) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, workerMain, this) != 0) break; // fewer workers are slower, not wrong
    started[static_cast<size_t>(workers.load())] = thread;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void Pool::signalWorkers(int number) const {
  for (int64_t i = 0, count = workers.load(); i < count; ++i)
    pthread_kill(started[static_cast<size_t>(i)], number);
}

void *Pool::workerMain(void *pool) {
  static_cast<Pool *>(pool)->workerLoop();
  return nullptr;
}

void Pool::workerLoop() {
  insideJob = true;
  uint32_t seen = signal.load() - 1; // the job that it was started for may be open already
  while (true) {
    int64_t start = 0;
    for (int64_t turns = 0; signal.load(std::memory_order_relaxed) == seen; ++turns) {
      pauseCpu();
      if (!isTimeToLook(turns)) continue;
      int64_t time = now();
      if (start == 0) start = time;
      if (time - start < spinNanoseconds) continue;
      sleepers.fetch_add(1);
      futexWait(signal, seen);
      sleepers.fetch_sub(1);
      start = 0;
    }
    seen = signal.load();
    active.fetch_add(1);
    // Between these two lines the job is either open, and stays as it is until this worker counts itself out, or closed and not touched.
    if (open.load() && job.joined.fetch_add(1) < job.joinLimit && threadArena.reserve(job.work.arenaBytes)) work(job);
    if (active.fetch_sub(1) == 1 && callerSleeps.load()) futexWake(active, 1);
  }
}

// After fork() the child has none of the workers and perhaps a locked mutex: it starts over with a new pool, and the old one is left as it
// is.
std::atomic<Pool *> current{nullptr};

Pool &pool() {
  if (Pool *existing = current.load(std::memory_order_acquire)) return *existing;
  static std::once_flag registered;
  std::call_once(registered, [] {
    pthread_atfork(nullptr, nullptr, [] {
      current.store(nullptr);
      insideJob = false;
    });
  });
  Pool *fresh = new Pool, *expected = nullptr;
  if (current.compare_exchange_strong(expected, fresh)) return *fresh;
  delete fresh;
  return *expected;
}

int64_t usableProcessors() {
  if (const char *text = std::getenv("TILEWRIGHT_NUM_THREADS"))
    if (int64_t count = std::strtoll(text, nullptr, 10); count > 0) return std::min(count, maxThreads);
  return std::clamp<int64_t>(std::min(affinityProcessors(), quotaProcessors()), 1, maxThreads);
}

std::atomic<int64_t> chosenThreads{0};

} // namespace

PoolResult runOnPool(const PoolJob &job) {
  return pool().run(job);
}

bool isInsideProgram() {
  return insideJob;
}

void signalWorkers(int signal) {
  if (const Pool *pool = current.load(std::memory_order_acquire)) pool->signalWorkers(signal);
}

int64_t defaultThreads() {
  if (int64_t chosen = chosenThreads.load(std::memory_order_relaxed)) return chosen;
  static const int64_t usable = usableProcessors();
  return usable;
}

void setDefaultThreads(int64_t threads) {
  chosenThreads.store(std::clamp<int64_t>(threads, 0, maxThreads));
}

} // namespace tilewright
