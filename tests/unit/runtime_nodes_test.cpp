// The pool on machines of several nodes of memory, simulated with the available CPUs.

#include "runtime/pool.h"
#include "support/cpu.h"

#include "made_up_nodes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;

namespace {

/// Nodes with one CPU each. If there are more nodes than CPUs, nodes share CPUs.
MadeUpNodes machineOf(size_t nodes) {
  std::vector<int64_t> usable = usableCpuNumbers();
  std::vector<std::string> lists;
  for (size_t i = 0; i < nodes; ++i)
    lists.push_back(std::to_string(usable[i % usable.size()]));
  return {"0-" + std::to_string(nodes - 1), lists};
}

/// Whether `work` returns true in a process that starts its pool on such a machine, with `threads` by default.
template <typename Work> bool holdsOn(size_t nodes, int64_t threads, Work work) {
  MadeUpNodes machine = machineOf(nodes);
  pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TILEWRIGHT_NUMA", machine.root.c_str(), 1);
    setDefaultThreads(threads);
    ::alarm(60);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

PoolJob jobOf(void (*body)(void *, int64_t, int64_t, char *), void *context, int64_t programs) {
  PoolJob job;
  job.body = body;
  job.context = context;
  job.programs = programs;
  return job;
}

bool runsEveryProgramOnce() {
  for (int64_t programs : {1, 2, 3, 7, 64, 100003})
    for (float cost : {-1.0f, 1.0f, 1e5f})
      for (int64_t threads : {0, 2, 3, 33}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(programs));
        auto count = [](void *context, int64_t first, int64_t last, char *) {
          for (int64_t i = first; i < last; ++i)
            ++(*static_cast<std::vector<std::atomic<int>> *>(context))[static_cast<size_t>(i)];
        };
        PoolJob job = jobOf(count, &hits, programs);
        job.programNanoseconds = cost;
        job.threads = threads;
        if (!runOnPool(job).ok || !std::all_of(hits.begin(), hits.end(), [](const auto &hit) { return hit == 1; })) return false;
      }
  return true;
}

/// One program a thread. All wait for each other, so no thread has two.
struct Meeting {
  static constexpr int64_t threads = 8;
  std::atomic<int64_t> there{0};
  std::array<std::thread::id, threads> ran;
  std::array<cpu_set_t, threads> where;

  static void meet(void *context, int64_t first, int64_t last, char *) {
    Meeting &self = *static_cast<Meeting *>(context);
    for (int64_t i = first; i < last; ++i) {
      auto slot = static_cast<size_t>(i);
      self.ran[slot] = std::this_thread::get_id();
      ::sched_getaffinity(0, sizeof(cpu_set_t), &self.where[slot]);
      ++self.there;
      while (self.there < threads)
        std::this_thread::yield();
    }
  }
};

/// Whether neighbors ran on one node: two nodes, or four, have a stretch of programs each, and workers that stay there. The caller, which
/// no thread binds, has the first node's.
bool neighborsShareANode(size_t nodes) {
  std::vector<int64_t> usable = usableCpuNumbers();
  Meeting meeting;
  if (!runOnPool(jobOf(Meeting::meet, &meeting, Meeting::threads)).ok) return false;
  std::vector<int64_t> cpuOf; // of each node that has been seen, in the order of programs
  for (size_t i = 0; i < Meeting::threads; ++i) {
    if (meeting.ran[i] == std::this_thread::get_id()) {
      if (i >= Meeting::threads / nodes) return false;
      continue;
    }
    if (CPU_COUNT(&meeting.where[i]) != 1) return false;
    size_t node = i * nodes / Meeting::threads;
    int64_t cpu = 0;
    while (!CPU_ISSET(static_cast<size_t>(cpu), &meeting.where[i]))
      ++cpu;
    if (node == cpuOf.size()) cpuOf.push_back(cpu);
    if (node + 1 != cpuOf.size() || cpuOf.back() != cpu) return false;
  }
  std::vector<int64_t> expected;
  for (size_t i = 0; i < nodes; ++i)
    expected.push_back(usable[i % usable.size()]);
  std::rotate(expected.begin(), std::find(expected.begin(), expected.end(), cpuOf.front()), expected.end());
  return cpuOf == expected;
}

/// Each program waits for the one before it.
bool programsMayWaitForEarlierOnes() {
  for (int64_t trial = 0; trial < 20; ++trial) {
    std::atomic<int64_t> done{0};
    auto wait = [](void *context, int64_t first, int64_t last, char *) {
      auto &done = *static_cast<std::atomic<int64_t> *>(context);
      for (int64_t i = first; i < last; ++i) {
        while (done != i)
          std::this_thread::yield();
        ++done;
      }
    };
    PoolJob job = jobOf(wait, &done, 40);
    job.arenaBytes = 4096 * trial;
    if (!runOnPool(job).ok || done != 40) return false;
  }
  return true;
}

} // namespace

TEST(PoolOnNodes, RunsEveryProgramOnce) {
  EXPECT_TRUE(holdsOn(2, 4, runsEveryProgramOnce));
  EXPECT_TRUE(holdsOn(4, 8, runsEveryProgramOnce));
}

TEST(PoolOnNodes, NeighborsShareANode) {
  EXPECT_TRUE(holdsOn(2, Meeting::threads, [] { return neighborsShareANode(2); }));
  EXPECT_TRUE(holdsOn(4, Meeting::threads, [] { return neighborsShareANode(4); }));
}

TEST(PoolOnNodes, FewThreadsAreLeftToTheSystem) {
  EXPECT_TRUE(holdsOn(2, 1, [] {
    Meeting meeting;
    PoolJob job = jobOf(Meeting::meet, &meeting, Meeting::threads);
    job.threads = Meeting::threads;
    if (!runOnPool(job).ok) return false;
    return std::all_of(meeting.where.begin(), meeting.where.end(), [](const cpu_set_t &set) { return CPU_COUNT(&set) == affinityCpus(); });
  }));
}

TEST(PoolOnNodes, ProgramsMayWaitForEarlierOnes) {
  EXPECT_TRUE(holdsOn(2, 4, programsMayWaitForEarlierOnes));
  EXPECT_TRUE(holdsOn(4, 8, programsMayWaitForEarlierOnes));
}
