// See pool.h for the idea. What needs care is that a worker may wake late, when the job it was woken for is over and its fields are being
// rewritten for the next: a worker first counts itself in (`active`), then looks whether the job is still open; the caller first closes the
// job, then waits until nobody is counted in. Both sides use sequentially consistent operations, so one of them always sees the other.

#include "runtime/pool.h"

#include "support/arena.h"
#include "support/cpu_quota.h"
#include "support/numa.h"
#include "support/cpu.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

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
constexpr size_t callersNumber = 0;   // on the first node, whose first stretch is the caller's
constexpr int64_t maxChunks = 64; // of a node: whoever has nothing left looks at each

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

// Waiting threads are told apart by bits: a call wakes those that share one with it.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected, uint32_t bits = ~0u) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, bits);
}
void futexWake(std::atomic<uint32_t> &word, int64_t count, uint32_t bits = ~0u) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_BITSET_PRIVATE, static_cast<int>(count), nullptr, nullptr, bits);
}

/// One thread's scratch memory. Grows and stays. Its pages come from the system, which takes them from the node of the thread that touches
/// them first: the one whose arena it is. Moves, never copies: a nested job swaps it out.
class Arena {
public:
  Arena() = default;
  Arena(Arena &&other) noexcept : memory(std::exchange(other.memory, nullptr)), size(std::exchange(other.size, 0)) {}
  Arena &operator=(Arena &&other) noexcept {
    std::swap(memory, other.memory);
    std::swap(size, other.size);
    return *this;
  }
  ~Arena() { release(); }
  bool reserve(int64_t bytes) {
    if (bytes <= size) return true;
    release();
    int64_t wanted = (bytes + 4095) & ~int64_t(4095);
    void *pages = ::mmap(nullptr, static_cast<size_t>(wanted), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    memory = static_cast<char *>(pages);
    size = wanted;
    return true;
  }
  char *data() const { return memory; }

private:
  void release() {
    if (memory) ::munmap(memory, static_cast<size_t>(size));
    memory = nullptr;
    size = 0;
  }
  char *memory = nullptr;
  int64_t size = 0;
};

void beginLaunch(char *arena, const PoolJob &job) {
  if (arena) *reinterpret_cast<ArenaHead *>(arena) = {0, job.alone};
}

// Found by one load: a launch would spend as long on asking the loader where they are as on running an empty grid.
[[gnu::tls_model("initial-exec")]] constinit thread_local Arena threadArena;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool insideJob = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local uint32_t launchesAlone = 0;

/// Neighboring programs that one thread takes first, and others once they have nothing else.
struct alignas(64) Chunk {
  std::atomic<bool> isTaken{false};
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// A node's part of a job.
struct Share {
  size_t first = 0, count = 0; // its stretches
  int64_t divisor = 2;         // chunks are at most 1/divisor of what is left of a stretch
  int64_t joinLimit = 0;       // workers beside the caller
  std::atomic<int64_t> joined{0};
};

struct Job {
  explicit Job(size_t nodes) : shares(nodes) {}

  PoolJob work;
  int64_t firstChunk = 1;
  std::vector<Share> shares;      // one a node
  std::vector<Chunk> stretches; // those of the first node first; there may be more than the job has
  alignas(64) std::atomic<int64_t> busyNanoseconds{0};
};

/// A thread at work on a job.
class Hand {
public:
  explicit Hand(Job &job) : job(job), arena(threadArena.data()), chunk(job.firstChunk) { beginLaunch(arena, job.work); }

  /// Takes chunks until none is left: from its own stretch, from its node's, from the others'. The caller's own is the first of all, so it
  /// takes programs in launch order, and programs that wait for earlier ones are reached by it whatever other threads do.
  void work(size_t node, size_t number) {
    before = now();
    const Share &home = job.shares[node];
    Chunk *own = node == 0 && number == callersNumber ? &job.stretches.front() : ownStretch(home, number);
    if (own) empty(home, *own);
    for (size_t turn = 0; turn < job.shares.size(); ++turn) {
      const Share &share = job.shares[(node + turn) % job.shares.size()];
      for (size_t i = 0; i < share.count; ++i)
        empty(share, job.stretches[share.first + i]);
    }
    job.busyNanoseconds.fetch_add(spent, std::memory_order_relaxed);
  }

private:
  Job &job;
  char *arena;
  int64_t chunk, spent = 0, before = 0;

  /// That of its number, which is the same at each launch with as many threads, or one that nobody has.
  Chunk *ownStretch(const Share &home, size_t number) {
    for (size_t i = 0; i < home.count; ++i) {
      Chunk &stretch = job.stretches[home.first + (number + i) % home.count];
      if (!stretch.isTaken.exchange(true, std::memory_order_relaxed)) return &stretch;
    }
    return nullptr;
  }

  void empty(const Share &share, Chunk &stretch) {
    while (true) {
      int64_t left = stretch.end - stretch.next.load(std::memory_order_relaxed);
      if (left <= 0) return;
      int64_t take = std::clamp<int64_t>(left / share.divisor, 1, chunk);
      int64_t first = stretch.next.fetch_add(take, std::memory_order_relaxed);
      if (first >= stretch.end) return;
      job.work.body(job.work.context, first, std::min(first + take, stretch.end), arena);
      int64_t after = now();
      // Doubling, not computing, so that one slow first chunk (cold caches, page faults) does not fix the size.
      if (after - before < chunkNanoseconds / 2 && take == chunk) chunk *= 2;
      spent += after - before;
      before = after;
    }
  }
};

/// A node of the machine and the workers that stay on it.
struct Node {
  cpu_set_t cpus{};
  uint32_t bit = ~0u;              // its workers wait with it
  std::atomic<int64_t> workers{0}; // changed by who holds `launching`
  std::atomic<int64_t> sleepers{0};
};

class Pool {
public:
  Pool();
  PoolResult run(const PoolJob &request);
  void signalWorkers(int number) const;

private:
  struct Worker {
    Pool *pool;
    size_t node, number; // among the node's threads, the caller being the first one's first
    pthread_t thread;
  };
  PoolResult runAlone(const PoolJob &request);
  void deal(int64_t threads);
  void startWorkers(size_t node, int64_t count);
  void wakeWorkers();
  static void *workerMain(void *worker);
  void workerLoop(size_t node, size_t number);

  std::mutex launching;           // held by the thread whose job has the workers
  std::vector<NumaNode> topology; // the first is the caller's
  std::vector<Node> nodes;        // as in the topology
  std::vector<int64_t> threadsOf; // of the job, on each node
  Job job;
  std::atomic<int64_t> workers{0}; // of all nodes
  std::array<Worker, maxThreads> started{};
  alignas(64) std::atomic<uint32_t> signal{0}; // counts jobs; workers wait for it to change
  std::atomic<bool> open{false};               // the job may be joined
  alignas(64) std::atomic<uint32_t> active{0}; // workers that are looking at the job
  std::atomic<bool> callerSleeps{false};
};

/// The nodes that the pool's threads are dealt out to, the one that the caller runs on first. One, where the threads fit on it: then they
/// are left to the system.
static std::vector<NumaNode> nodesOfPool() {
  std::vector<NumaNode> nodes = numaNodes();
  auto home =
      llvm::find_if(nodes, [cpu = ::sched_getcpu()](const NumaNode &node) { return llvm::is_contained(node.cpus, cpu); });
  if (home != nodes.end()) std::rotate(nodes.begin(), home, nodes.end());
  if (defaultThreads() <= static_cast<int64_t>(nodes.front().cpus.size())) nodes.resize(1);
  return nodes;
}

Pool::Pool() : topology(nodesOfPool()), nodes(topology.size()), threadsOf(topology.size()), job(topology.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].bit = 1u << (i % 32);
    for (int64_t cpu : topology[i].cpus)
      if (cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &nodes[i].cpus);
  }
}

/// Deals the job out to at most `threads` threads and their nodes.
void Pool::deal(int64_t threads) {
  distributeThreads(topology, threads, threadsOf);
  int64_t all = 0, before = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    bool hasCaller = i == 0;
    startWorkers(i, threadsOf[i] - hasCaller);
    threadsOf[i] = std::min(threadsOf[i], nodes[i].workers.load(std::memory_order_relaxed) + hasCaller);
    all += threadsOf[i];
  }
  size_t stretches = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    Share &share = job.shares[i];
    share.first = stretches;
    int64_t count = job.work.inOrder ? 1 : std::clamp<int64_t>(threadsOf[i], 1, maxChunks);
    share.count = static_cast<size_t>(count);
    share.divisor = std::max<int64_t>(1, 2 * ((threadsOf[i] + count - 1) / count));
    share.joinLimit = i == 0 ? threadsOf[i] - 1 : threadsOf[i];
    share.joined.store(0, std::memory_order_relaxed);
    stretches += share.count;
  }
  if (job.stretches.size() < stretches) job.stretches = std::vector<Chunk>(stretches);
  for (size_t i = 0; i < nodes.size(); ++i) {
    Share &share = job.shares[i];
    int64_t begin = endOfPartition(job.work.programs, before, all), end = endOfPartition(job.work.programs, before += threadsOf[i], all);
    for (size_t j = 0; j < share.count; ++j) {
      auto endOf = [&](size_t part) {
        return begin + endOfPartition(end - begin, static_cast<int64_t>(part), static_cast<int64_t>(share.count));
      };
      Chunk &stretch = job.stretches[share.first + j];
      stretch.next.store(endOf(j), std::memory_order_relaxed);
      stretch.end = endOf(j + 1);
      stretch.isTaken.store(i == 0 && j == 0, std::memory_order_relaxed);
    }
  }
}

/// With enough workers awake nobody needs to be woken, and the system call is saved.
void Pool::wakeWorkers() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    int64_t awake = nodes[i].workers.load(std::memory_order_relaxed) - nodes[i].sleepers.load();
    if (awake < job.shares[i].joinLimit) futexWake(signal, job.shares[i].joinLimit - awake, nodes[i].bit);
  }
}

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
  if (expected >= 0) threads = std::min(threads, 1 + std::max<int64_t>(1, static_cast<int64_t>(expected / wakeNanoseconds)));

  job.work = request;
  job.firstChunk = request.programNanoseconds < 0
                       ? 1
                       : std::clamp<int64_t>(static_cast<int64_t>(chunkNanoseconds / std::max(request.programNanoseconds, 1.0f)), 1,
                                             std::max<int64_t>(1, request.programs / threads));
  deal(threads);
  job.busyNanoseconds.store(0, std::memory_order_relaxed);
  open.store(true);
  signal.fetch_add(1);
  wakeWorkers();

  insideJob = true;
  Hand(job).work(0, callersNumber);
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

/// Sees to it that a node has at least `count` workers.
void Pool::startWorkers(size_t node, int64_t count) {
  if (nodes[node].workers.load(std::memory_order_relaxed) >= count) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8 << 20); // programs may keep small tiles on the stack
  // Signals are for the host program's threads, but for the one that ends programs (runtime/signals.h).
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGURG);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; nodes[node].workers < count && workers < maxThreads; ++workers, ++nodes[node].workers) {
    Worker &worker = started[static_cast<size_t>(workers.load())];
    worker.pool = this;
    worker.node = node;
    worker.number = static_cast<size_t>(nodes[node].workers + (node == 0));
    if (pthread_create(&worker.thread, &attributes, workerMain, &worker) != 0) break; // fewer workers are slower, not wrong
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void Pool::signalWorkers(int number) const {
  for (int64_t i = 0, count = workers.load(); i < count; ++i)
    pthread_kill(started[static_cast<size_t>(i)].thread, number);
}

void *Pool::workerMain(void *worker) {
  const Worker &self = *static_cast<Worker *>(worker);
  // Where the system refuses, the worker runs anywhere.
  if (self.pool->nodes.size() > 1) ::sched_setaffinity(0, sizeof(cpu_set_t), &self.pool->nodes[self.node].cpus);
  self.pool->workerLoop(self.node, self.number);
  return nullptr;
}

void Pool::workerLoop(size_t node, size_t number) {
  insideJob = true;
  uint32_t seen = signal.load() - 1; // the job that it was started for may be open already
  Node &home = nodes[node];
  Share &share = job.shares[node];
  while (true) {
    int64_t start = 0;
    for (int64_t turns = 0; signal.load(std::memory_order_relaxed) == seen; ++turns) {
      pauseCpu();
      if (!isTimeToLook(turns)) continue;
      int64_t time = now();
      if (start == 0) start = time;
      if (time - start < spinNanoseconds) continue;
      home.sleepers.fetch_add(1);
      futexWait(signal, seen, home.bit);
      home.sleepers.fetch_sub(1);
      start = 0;
    }
    seen = signal.load();
    active.fetch_add(1);
    // Between these two lines the job is either open, and stays as it is until this worker counts itself out, or closed and not touched.
    if (open.load() && share.joined.fetch_add(1) < share.joinLimit && threadArena.reserve(job.work.arenaBytes))
      Hand(job).work(node, number);
    if (active.fetch_sub(1) == 1 && callerSleeps.load()) futexWake(active, 1);
  }
}

// After fork() the child has none of the workers and perhaps a locked mutex: it starts over with a new pool, and the old one is left as it
// is.
std::atomic<Pool *> current{nullptr};

// Registered as the library is loaded: a process may fork during its first launch.
[[maybe_unused]] const int startsOverInChild = pthread_atfork(nullptr, nullptr, [] {
  current.store(nullptr);
  insideJob = false;
});

Pool &pool() {
  if (Pool *existing = current.load(std::memory_order_acquire)) return *existing;
  Pool *fresh = new Pool, *expected = nullptr;
  if (current.compare_exchange_strong(expected, fresh)) return *fresh;
  delete fresh;
  return *expected;
}

int64_t usableCpus() {
  if (const char *text = std::getenv("TILEWRIGHT_NUM_THREADS"))
    if (int64_t count = std::strtoll(text, nullptr, 10); count > 0) return std::min(count, maxThreads);
  return std::clamp<int64_t>(std::min(affinityCpus(), quotaCpus()), 1, maxThreads);
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
  // No static constant: a process that forks while another thread makes one leaves a child that waits for it.
  static std::atomic<int64_t> usable{0};
  int64_t known = usable.load(std::memory_order_relaxed);
  if (known == 0) usable.store(known = usableCpus(), std::memory_order_relaxed);
  return known;
}

int64_t &forcedThreads() {
  static thread_local int64_t threads = 0;
  return threads;
}

void setDefaultThreads(int64_t threads) {
  chosenThreads.store(std::clamp<int64_t>(threads, 0, maxThreads));
}

} // namespace tilewright
