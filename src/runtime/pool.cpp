// See pool.h for the idea. A worker may wake late, when its job is over and the fields already describe the next job. So a worker first
// counts itself in (`active`), then checks whether the job is still open. The caller first closes the job, then waits until no worker is
// counted in. Both use sequentially consistent operations, so one of them always sees the other.

#include "runtime/pool.h"

#include "support/arena.h"
#include "support/cpu.h"
#include "support/cpu_quota.h"
#include "support/numa.h"

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
// A streaming kernel reads a range of rows per chunk: with 20 us, softmax of 16384 rows of 1024 takes a quarter longer.
constexpr int64_t chunkNanoseconds = 200'000;
constexpr float soloNanoseconds = 4'000;  // below this the caller is done before woken workers have begun
constexpr float wakeNanoseconds = 10'000; // a sleeping worker is worth waking for this much work of its own
constexpr int64_t maxThreads = 1024;
constexpr size_t callersNumber = 0;      // on the first node, whose first range is the caller's
constexpr int64_t maxRangesPerNode = 64; // a worker without work checks each range of a node

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pauseCpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb"); // waits about as long as x86's pause; `yield` does nothing on most CPUs
#endif
}

/// True now and then, for a spinning thread to yield: the scheduler may have put the thread that it waits for on the same CPU. Without it a
/// launch of 12 microseconds took 66 instead of 8 more, after NumPy had allocated memory.
bool isTimeToCheck(int64_t spins) {
  if (spins % 64 != 63) return false;
  ::sched_yield();
  return true;
}

// Waits with a bit mask: a call wakes the threads that share a bit with its mask.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected, uint32_t bits = ~0u) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, bits);
}
void futexWake(std::atomic<uint32_t> &word, int64_t count, uint32_t bits = ~0u) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_BITSET_PRIVATE, static_cast<int>(count), nullptr, nullptr, bits);
}

/// One thread's scratch memory, which grows and stays allocated. The system takes its pages from the node of the thread that first touches
/// them, its owner. It is moved, never copied: a nested job swaps it out.
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

struct ThreadState {
  Arena arena;
  bool isInsideJob = false;
  uint32_t launchesAlone = 0;
};
// Each access calls the loader for the address: functions do it once.
constinit thread_local ThreadState threadState;

/// The scratch memory of one thread for a job: its arena, or memory of the job's allocator.
class Scratch {
public:
  Scratch(const PoolJob &job, Arena &own) : job(job) {
    if (job.arenaBytes == 0) return;
    if (job.allocator)
      memory = static_cast<char *>(job.allocator->allocate(job.allocator->context, job.arenaBytes, arenaAlignment));
    else if (own.reserve(job.arenaBytes))
      memory = own.data();
  }
  ~Scratch() {
    if (job.allocator && memory) job.allocator->release(job.allocator->context, memory, job.arenaBytes);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  bool isReady() const { return memory || job.arenaBytes == 0; }
  char *data() const { return memory; }

private:
  static constexpr int64_t arenaAlignment = 64;
  const PoolJob &job;
  char *memory = nullptr;
};

/// Consecutive programs. One thread takes them first, and other threads do when they have no work left.
struct alignas(64) ProgramRange {
  std::atomic<bool> isClaimed{false};
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// The partition of a job that belongs to a node.
struct NodePartition {
  size_t first = 0, count = 0; // its ranges
  int64_t divisor = 2;         // chunks are at most 1/divisor of the rest of a range
  int64_t joinLimit = 0;       // workers without the caller
  std::atomic<int64_t> joined{0};
};

struct Job {
  explicit Job(size_t nodes) : partitions(nodes) {}

  PoolJob work;
  int64_t firstChunk = 1;
  std::vector<NodePartition> partitions; // one for each node
  std::vector<ProgramRange> ranges;      // those of the first node first; may be longer than the job needs
  alignas(64) std::atomic<int64_t> busyNanoseconds{0};
};

/// The state of a thread that works on a job.
class JobWorker {
public:
  JobWorker(Job &job, const Scratch &own) : job(job), arena(own.data()), chunk(job.firstChunk) { beginLaunch(arena, job.work); }

  /// Takes chunks until none is left: from the thread's own range, from its node's, then from other nodes'. The caller's own range is the
  /// first one. So the caller takes programs in launch order and reaches every program that waits for earlier ones, independent of other
  /// threads.
  void work(size_t node, size_t number) {
    before = now();
    const NodePartition &home = job.partitions[node];
    ProgramRange *own = node == 0 && number == callersNumber ? &job.ranges.front() : claimRange(home, number);
    if (own) runRange(home, *own);
    for (size_t i = 0; i < job.partitions.size(); ++i) {
      const NodePartition &partition = job.partitions[(node + i) % job.partitions.size()];
      for (size_t j = 0; j < partition.count; ++j)
        runRange(partition, job.ranges[partition.first + j]);
    }
    job.busyNanoseconds.fetch_add(spent, std::memory_order_relaxed);
  }

private:
  Job &job;
  char *arena;
  int64_t chunk, spent = 0, before = 0;

  /// Claims the range of this number, which is the same for each launch with as many threads, or an unclaimed one.
  ProgramRange *claimRange(const NodePartition &home, size_t number) {
    for (size_t i = 0; i < home.count; ++i) {
      ProgramRange &range = job.ranges[home.first + (number + i) % home.count];
      if (!range.isClaimed.exchange(true, std::memory_order_relaxed)) return &range;
    }
    return nullptr;
  }

  void runRange(const NodePartition &partition, ProgramRange &range) {
    while (true) {
      int64_t left = range.end - range.next.load(std::memory_order_relaxed);
      if (left <= 0) return;
      int64_t take = std::clamp<int64_t>(left / partition.divisor, 1, chunk);
      int64_t first = range.next.fetch_add(take, std::memory_order_relaxed);
      if (first >= range.end) return;
      job.work.body(job.work.context, first, std::min(first + take, range.end), arena);
      int64_t after = now();
      // The size doubles. It is not computed, because one slow first chunk (cold caches, page faults) must not determine it.
      if (after - before < chunkNanoseconds / 2 && take == chunk) chunk *= 2;
      spent += after - before;
      before = after;
    }
  }
};

/// A NUMA node and the workers that stay on it.
struct Node {
  cpu_set_t cpus{};
  uint32_t bit = ~0u;              // its workers wait with this bit
  std::atomic<int64_t> workers{0}; // changed by the holder of `launching`
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
    size_t node, number; // among the node's threads; the caller is number 0 of the first node
    pthread_t thread;
  };
  PoolResult runAlone(const PoolJob &request, ThreadState &own);
  void distribute(int64_t threads);
  void startWorkers(size_t node, int64_t count);
  void wakeWorkers();
  static void *workerMain(void *worker);
  void workerLoop(size_t node, size_t number);
  void joinJob(size_t node, size_t number, Arena &own);

  std::mutex launching;           // held by the thread whose job uses the workers
  std::vector<NumaNode> topology; // the first is the caller's
  std::vector<Node> nodes;        // in the order of the topology
  std::vector<int64_t> threadsOf; // of the job, on each node
  Job job;
  std::atomic<int64_t> workers{0}; // of all nodes
  std::array<Worker, maxThreads> started{};
  alignas(64) std::atomic<uint32_t> signal{0}; // counts jobs; workers wait for it to change
  std::atomic<bool> open{false};               // the job may be joined
  alignas(64) std::atomic<uint32_t> active{0}; // workers that access the job
  std::atomic<bool> callerSleeps{false};
};

/// Returns the nodes for the pool's threads, the caller's node first. If the threads fit on one node, it is the only one: then the system
/// places them.
static std::vector<NumaNode> nodesOfPool() {
  std::vector<NumaNode> nodes = numaNodes();
  auto home = llvm::find_if(nodes, [cpu = ::sched_getcpu()](const NumaNode &node) { return llvm::is_contained(node.cpus, cpu); });
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

/// Distributes the job over at most `threads` threads and their nodes.
void Pool::distribute(int64_t threads) {
  distributeThreads(topology, threads, threadsOf);
  int64_t all = 0, before = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    bool hasCaller = i == 0;
    startWorkers(i, threadsOf[i] - hasCaller);
    threadsOf[i] = std::min(threadsOf[i], nodes[i].workers.load(std::memory_order_relaxed) + hasCaller);
    all += threadsOf[i];
  }
  size_t ranges = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    NodePartition &partition = job.partitions[i];
    partition.first = ranges;
    int64_t count = job.work.inOrder ? 1 : std::clamp<int64_t>(threadsOf[i], 1, maxRangesPerNode);
    partition.count = static_cast<size_t>(count);
    partition.divisor = std::max<int64_t>(1, 2 * ((threadsOf[i] + count - 1) / count));
    partition.joinLimit = i == 0 ? threadsOf[i] - 1 : threadsOf[i];
    partition.joined.store(0, std::memory_order_relaxed);
    ranges += partition.count;
  }
  if (job.ranges.size() < ranges) job.ranges = std::vector<ProgramRange>(ranges);
  for (size_t i = 0; i < nodes.size(); ++i) {
    NodePartition &partition = job.partitions[i];
    int64_t begin = endOfPartition(job.work.programs, before, all), end = endOfPartition(job.work.programs, before += threadsOf[i], all);
    for (size_t j = 0; j < partition.count; ++j) {
      auto endOf = [&](size_t part) {
        return begin + endOfPartition(end - begin, static_cast<int64_t>(part), static_cast<int64_t>(partition.count));
      };
      ProgramRange &range = job.ranges[partition.first + j];
      range.next.store(endOf(j), std::memory_order_relaxed);
      range.end = endOf(j + 1);
      range.isClaimed.store(i == 0 && j == 0, std::memory_order_relaxed);
    }
  }
}

/// If enough workers are awake, this saves the system call.
void Pool::wakeWorkers() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    int64_t awake = nodes[i].workers.load(std::memory_order_relaxed) - nodes[i].sleepers.load();
    if (awake < job.partitions[i].joinLimit) futexWake(signal, job.partitions[i].joinLimit - awake, nodes[i].bit);
  }
}

PoolResult Pool::runAlone(const PoolJob &request, ThreadState &own) {
  Scratch scratch(request, own.arena);
  if (!scratch.isReady()) return {.ok = false};
  bool nested = own.isInsideJob;
  own.isInsideJob = true;
  beginLaunch(scratch.data(), request);
  // Reading the clock twice takes as long as a small grid. So launches that are known to be short are timed only now and then.
  bool isTimed =
      request.programNanoseconds < 0 || request.programs * request.programNanoseconds >= soloNanoseconds || ++own.launchesAlone % 8 == 0;
  int64_t before = isTimed ? now() : 0;
  request.body(request.context, 0, request.programs, scratch.data());
  float mean = isTimed ? static_cast<float>(now() - before) / static_cast<float>(request.programs) : request.programNanoseconds;
  own.isInsideJob = nested;
  return {.programNanoseconds = mean};
}

PoolResult Pool::run(const PoolJob &request) {
  if (request.programs <= 0) return {};
  ThreadState &own = threadState;
  // A nested job would reuse the arena of the program that it interrupts.
  if (own.isInsideJob) {
    Arena outer;
    std::swap(outer, own.arena);
    PoolResult result = runAlone(request, own);
    std::swap(outer, own.arena);
    return result;
  }
  int64_t threads = std::min(request.threads > 0 ? std::min(request.threads, maxThreads) : defaultThreads(), request.programs);
  float expected = request.programNanoseconds < 0 ? -1 : request.programNanoseconds * static_cast<float>(request.programs);
  if (threads <= 1 || (expected >= 0 && expected < soloNanoseconds)) return runAlone(request, own);
  std::unique_lock<std::mutex> lock(launching, std::defer_lock);
  if (!lock.try_lock()) {
    if (expected >= 0 && expected < 10 * soloNanoseconds) return runAlone(request, own);
    lock.lock();
  }
  Scratch scratch(request, own.arena);
  if (!scratch.isReady()) return {.ok = false};
  if (expected >= 0) threads = std::min(threads, 1 + std::max<int64_t>(1, static_cast<int64_t>(expected / wakeNanoseconds)));

  job.work = request;
  job.firstChunk = request.programNanoseconds < 0
                       ? 1
                       : std::clamp<int64_t>(static_cast<int64_t>(chunkNanoseconds / std::max(request.programNanoseconds, 1.0f)), 1,
                                             std::max<int64_t>(1, request.programs / threads));
  distribute(threads);
  job.busyNanoseconds.store(0, std::memory_order_relaxed);
  open.store(true);
  signal.fetch_add(1);
  wakeWorkers();

  own.isInsideJob = true;
  JobWorker(job, scratch).work(0, callersNumber);
  own.isInsideJob = false;

  open.store(false);
  for (int64_t start = 0, spins = 0; active.load() != 0; ++spins) {
    pauseCpu();
    if (!isTimeToCheck(spins)) continue;
    int64_t time = now();
    if (start == 0) start = time;
    if (time - start < spinNanoseconds) continue;
    callerSleeps.store(true);
    if (uint32_t count = active.load()) futexWait(active, count);
    callerSleeps.store(false);
  }
  return {.programNanoseconds = static_cast<float>(job.busyNanoseconds.load()) / static_cast<float>(request.programs)};
}

/// Starts workers until a node has at least `count`.
void Pool::startWorkers(size_t node, int64_t count) {
  if (nodes[node].workers.load(std::memory_order_relaxed) >= count) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8 << 20); // programs may store small tiles on the stack
  // Signals are for the host program's threads, except the one that ends programs (runtime/signals.h).
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGURG);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; nodes[node].workers < count && workers < maxThreads; ++workers, ++nodes[node].workers) {
    Worker &worker = started[static_cast<size_t>(workers.load())];
    worker.pool = this;
    worker.node = node;
    worker.number = static_cast<size_t>(nodes[node].workers + (node == 0));
    if (pthread_create(&worker.thread, &attributes, workerMain, &worker) != 0) break; // fewer workers are slower, but correct
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
  // If the system refuses, the worker runs on any CPU.
  if (self.pool->nodes.size() > 1) ::sched_setaffinity(0, sizeof(cpu_set_t), &self.pool->nodes[self.node].cpus);
  self.pool->workerLoop(self.node, self.number);
  return nullptr;
}

void Pool::joinJob(size_t node, size_t number, Arena &own) {
  Scratch scratch(job.work, own);
  if (scratch.isReady()) JobWorker(job, scratch).work(node, number);
}

void Pool::workerLoop(size_t node, size_t number) {
  ThreadState &own = threadState;
  own.isInsideJob = true;
  uint32_t seen = signal.load() - 1; // the first job may already be open
  Node &home = nodes[node];
  NodePartition &partition = job.partitions[node];
  while (true) {
    int64_t start = 0;
    for (int64_t spins = 0; signal.load(std::memory_order_relaxed) == seen; ++spins) {
      pauseCpu();
      if (!isTimeToCheck(spins)) continue;
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
    // Between these two lines the job is either open, and does not change until this worker counts itself out, or closed and not accessed.
    if (open.load() && partition.joined.fetch_add(1) < partition.joinLimit) joinJob(node, number, own.arena);
    if (active.fetch_sub(1) == 1 && callerSleeps.load()) futexWake(active, 1);
  }
}

/// A job on the threads of the embedding program. Its tasks take chunks in launch order. So programs that wait for earlier ones make
/// progress, even if the executor runs one task after another.
class ExecutorJob {
public:
  explicit ExecutorJob(const PoolJob &job) : job(job) {}

  PoolResult run() {
    if (job.programs <= 0) return {};
    int64_t limit = job.threads > 0 ? std::min(job.threads, job.executor->threads) : job.executor->threads;
    tasks = std::clamp<int64_t>(std::min(limit, job.programs), 1, maxThreads);
    auto task = [](void *self, int64_t) { static_cast<ExecutorJob *>(self)->work(); };
    bool hasRun = job.executor->run(job.executor->context, task, this, tasks);
    // If a task found no memory, others have run its programs. If programs are left, all lacked memory, or the executor called too few.
    if (!hasRun || next.load() < job.programs) return {.ok = false, .executorFailed = !hasRun || !lacksMemory.load()};
    return {.programNanoseconds = static_cast<float>(busyNanoseconds.load()) / static_cast<float>(job.programs)};
  }

private:
  void work() {
    ThreadState &own = threadState;
    bool nested = std::exchange(own.isInsideJob, true);
    {
      Scratch scratch(job, own.arena);
      if (scratch.isReady())
        runChunks(scratch.data());
      else
        lacksMemory.store(true);
    }
    own.isInsideJob = nested;
  }

  void runChunks(char *arena) {
    beginLaunch(arena, job);
    int64_t start = now(), chunk = 1;
    while (true) {
      int64_t left = job.programs - next.load(std::memory_order_relaxed);
      if (left <= 0) break;
      int64_t take = std::clamp<int64_t>(left / (2 * tasks), 1, chunk), before = now();
      int64_t first = next.fetch_add(take, std::memory_order_relaxed);
      if (first >= job.programs) break;
      job.body(job.context, first, std::min(first + take, job.programs), arena);
      if (now() - before < chunkNanoseconds / 2) chunk = std::min(2 * chunk, job.programs);
    }
    busyNanoseconds.fetch_add(now() - start, std::memory_order_relaxed);
  }

  const PoolJob &job;
  int64_t tasks = 1;
  std::atomic<int64_t> next{0}, busyNanoseconds{0};
  std::atomic<bool> lacksMemory{false};
};

// After fork() the child has no workers and perhaps a locked mutex. It creates a new pool and leaves the old one.
std::atomic<Pool *> current{nullptr};

// Registered when the library is loaded: a process may fork during its first launch.
[[maybe_unused]] const int startsOverInChild = pthread_atfork(nullptr, nullptr, [] {
  current.store(nullptr);
  threadState.isInsideJob = false;
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
  if (!job.executor || isInsideProgram()) return pool().run(job);
  float expected = job.programNanoseconds < 0 ? soloNanoseconds : job.programNanoseconds * static_cast<float>(job.programs);
  if (job.threads != 1 && job.programs > 1 && expected >= soloNanoseconds) return ExecutorJob(job).run();
  PoolJob alone = job; // on this thread: handing it over takes longer
  alone.threads = 1;
  return pool().run(alone);
}

bool isInsideProgram() {
  return threadState.isInsideJob;
}

void signalWorkers(int signal) {
  if (const Pool *pool = current.load(std::memory_order_acquire)) pool->signalWorkers(signal);
}

int64_t defaultThreads() {
  if (int64_t chosen = chosenThreads.load(std::memory_order_relaxed)) return chosen;
  // Not a static constant: if a process forks while another thread initializes it, the child waits forever.
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
