// The worker pool: every program runs once, in order, whatever the sizes, from any number of callers, and after fork().

#include "runtime/pool.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tilewright;

namespace {

struct Counts {
  std::vector<std::atomic<int>> hits;
  explicit Counts(int64_t n) : hits(static_cast<size_t>(n)) {}
  bool allOnce() const {
    return std::all_of(hits.begin(), hits.end(), [](const std::atomic<int> &hit) { return hit == 1; });
  }
};

void countPrograms(void *context, int64_t first, int64_t last, char *) {
  for (int64_t i = first; i < last; ++i)
    ++static_cast<Counts *>(context)->hits[static_cast<size_t>(i)];
}

PoolJob job(void (*body)(void *, int64_t, int64_t, char *), void *context, int64_t programs, int64_t threads) {
  PoolJob result;
  result.body = body;
  result.context = context;
  result.programs = programs;
  result.threads = threads;
  return result;
}

TEST(Pool, RunsEveryProgramOnce) {
  for (int64_t threads : {1, 2, 3, 8, 33})
    for (int64_t programs : {0, 1, 2, 7, 64, 1000, 100003})
      for (float cost : {-1.0f, 1.0f, 100.0f, 1e5f}) {
        Counts counts(programs);
        PoolJob request = job(countPrograms, &counts, programs, threads);
        request.programNanoseconds = cost;
        EXPECT_TRUE(runOnPool(request).ok);
        EXPECT_TRUE(counts.allOnce()) << threads << " threads, " << programs << " programs";
      }
}

TEST(Pool, ManySmallJobs) {
  Counts counts(16);
  for (int64_t i = 0; i < 20000; ++i)
    runOnPool(job(countPrograms, &counts, 16, 4));
  for (const std::atomic<int> &hit : counts.hits)
    EXPECT_EQ(hit, 20000);
}

TEST(Pool, StartsProgramsInOrder) {
  struct Log {
    std::mutex lock;
    std::vector<int64_t> firsts;
  } log;
  runOnPool(job(
      [](void *context, int64_t first, int64_t, char *) {
        Log &log = *static_cast<Log *>(context);
        std::lock_guard<std::mutex> guard(log.lock);
        log.firsts.push_back(first);
      },
      &log, 1000, 1));
  EXPECT_TRUE(std::is_sorted(log.firsts.begin(), log.firsts.end()));
}

/// Four programs on two threads: each waits for the one with the same number in `pairs`.
struct Meeting {
  std::array<size_t, 4> pairs;
  std::array<std::atomic<int>, 2> there{};
  std::array<std::thread::id, 4> ran;
  std::atomic<bool> late{false};

  void run(bool inOrder) {
    PoolJob work = job(
        [](void *context, int64_t first, int64_t last, char *) {
          Meeting &self = *static_cast<Meeting *>(context);
          for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
            self.ran[i] = std::this_thread::get_id();
            std::atomic<int> &there = self.there[self.pairs[i]];
            ++there;
            auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
            while (there < 2 && !self.late) {
              if (std::chrono::steady_clock::now() > end) self.late = true;
              std::this_thread::yield();
            }
          }
        },
        this, 4, 2);
    work.inOrder = inOrder;
    runOnPool(work);
  }
};

TEST(Pool, NeighborsRunTogetherWhereOneMayWaitForTheOther) {
  for (int64_t trial = 0; trial < 20; ++trial) {
    Meeting meeting{{0, 0, 1, 1}};
    meeting.run(true);
    ASSERT_FALSE(meeting.late);
    EXPECT_NE(meeting.ran[0], meeting.ran[1]);
    EXPECT_NE(meeting.ran[2], meeting.ran[3]);
  }
}

// The next launch finds the data of a launch in the CPU's cache: halves of the grid, one a thread.
TEST(Pool, KeepsProgramsOnTheirThreads) {
  for (int64_t trial = 0; trial < 20; ++trial) {
    Meeting meeting{{0, 1, 0, 1}};
    meeting.run(false);
    ASSERT_FALSE(meeting.late);
    EXPECT_EQ(meeting.ran[0], std::this_thread::get_id());
    EXPECT_EQ(meeting.ran[0], meeting.ran[1]);
    EXPECT_EQ(meeting.ran[2], meeting.ran[3]);
  }
}

TEST(Pool, GivesAlignedPrivateArenas) {
  struct Context {
    std::mutex lock;
    std::vector<char *> live;
    bool shared = false, misaligned = false;
  } context;
  PoolJob request = job(
      [](void *raw, int64_t, int64_t, char *arena) {
        Context &context = *static_cast<Context *>(raw);
        {
          std::lock_guard<std::mutex> guard(context.lock);
          context.shared |= std::find(context.live.begin(), context.live.end(), arena) != context.live.end();
          context.misaligned |= reinterpret_cast<uintptr_t>(arena) % 64 != 0;
          context.live.push_back(arena);
        }
        for (int64_t i = 0; i < 100000; ++i)
          arena[i] = 1;
        std::lock_guard<std::mutex> guard(context.lock);
        context.live.erase(std::find(context.live.begin(), context.live.end(), arena));
      },
      &context, 500, 8);
  request.arenaBytes = 100000;
  EXPECT_TRUE(runOnPool(request).ok);
  EXPECT_FALSE(context.shared);
  EXPECT_FALSE(context.misaligned);
}

TEST(Pool, RefusesAnArenaThatDoesNotExist) {
  PoolJob request = job([](void *, int64_t, int64_t, char *) {}, nullptr, 10, 2);
  request.arenaBytes = int64_t(1) << 60;
  EXPECT_FALSE(runOnPool(request).ok);
  request.arenaBytes = 0;
  EXPECT_TRUE(runOnPool(request).ok);
}

TEST(Pool, ServesSeveralCallers) {
  std::vector<std::thread> callers;
  std::atomic<bool> good{true};
  for (int64_t caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int64_t trial = 0; trial < 300; ++trial) {
        Counts counts(97);
        runOnPool(job(countPrograms, &counts, 97, 4));
        if (!counts.allOnce()) good = false;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_TRUE(good);
}

TEST(Pool, NestedJobsRunInside) {
  std::atomic<int64_t> total{0};
  runOnPool(job(
      [](void *context, int64_t first, int64_t last, char *) {
        for (int64_t i = first; i < last; ++i)
          runOnPool(
              job([](void *inner, int64_t a, int64_t b, char *) { *static_cast<std::atomic<int64_t> *>(inner) += b - a; }, context, 10, 4));
      },
      &total, 50, 4));
  EXPECT_EQ(total, 500);
}

TEST(Pool, ProgramsMayWaitForALock) {
  struct Shared {
    std::atomic<int> lock{0};
    int64_t sum = 0;
  } shared;
  runOnPool(job(
      [](void *context, int64_t first, int64_t last, char *) {
        Shared &shared = *static_cast<Shared *>(context);
        for (int64_t i = first; i < last; ++i) {
          while (shared.lock.exchange(1))
            std::this_thread::yield();
          shared.sum += i;
          shared.lock = 0;
        }
      },
      &shared, 1000, 8));
  EXPECT_EQ(shared.sum, 1000 * 999 / 2);
}

TEST(Pool, WorksAfterFork) {
  Counts before(100);
  runOnPool(job(countPrograms, &before, 100, 4));
  pid_t child = ::fork();
  if (child == 0) {
    Counts counts(1000);
    runOnPool(job(countPrograms, &counts, 1000, 4));
    ::_exit(counts.allOnce() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Pool, MeasuresPrograms) {
  PoolResult result = runOnPool(job(
      [](void *, int64_t first, int64_t last, char *) {
        for (int64_t i = first; i < last; ++i)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
      },
      nullptr, 20, 2));
  EXPECT_GT(result.programNanoseconds, 150'000);
}

TEST(Pool, WhatWasShortAndTakesLongIsNoticed) {
  PoolJob request =
      job([](void *, int64_t, int64_t, char *) { std::this_thread::sleep_for(std::chrono::microseconds(200)); }, nullptr, 2, 2);
  request.programNanoseconds = 10;
  int64_t launches = 0;
  for (; launches < 100 && runOnPool(request).programNanoseconds == request.programNanoseconds; ++launches)
    ;
  EXPECT_LT(launches, 8);
}

} // namespace
