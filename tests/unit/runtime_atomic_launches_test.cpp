// Launches with atomic operations run together or alone, and none waits where it must not.

#include "runtime/atomic_launches.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;

TEST(AtomicLaunches, RunAloneOnlyWhereNobodyElseRuns) {
  {
    AtomicLaunch first(Atomics::plain, true);
    EXPECT_TRUE(first.isAlone());
  }
  AtomicLaunch together(Atomics::locked, true);
  EXPECT_FALSE(together.isAlone()) << "its operations are never plain";
  AtomicLaunch second(Atomics::plain, true);
  EXPECT_FALSE(second.isAlone()) << "another one runs";
  AtomicLaunch without(Atomics::none, true);
  EXPECT_FALSE(without.isAlone());
}

TEST(AtomicLaunches, OthersWaitForTheOneThatIsAlone) {
  std::atomic<bool> entered{false};
  std::thread other;
  {
    AtomicLaunch alone(Atomics::plain, true);
    ASSERT_TRUE(alone.isAlone());
    AtomicLaunch without(Atomics::none, false); // no atomic operations: nothing to wait for
    other = std::thread([&] {
      AtomicLaunch launch(Atomics::locked, false);
      entered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(entered);
  }
  other.join();
  EXPECT_TRUE(entered);
}

TEST(AtomicLaunches, AChildProcessBeginsWithNone) {
  AtomicLaunch alone(Atomics::plain, true);
  ASSERT_TRUE(alone.isAlone());
  pid_t child = ::fork();
  if (child == 0) {
    AtomicLaunch launch(Atomics::locked, false); // would wait for the parent's for ever
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(AtomicLaunches, TheFasterWayIsTaken) {
  AloneOrTogether choice;
  EXPECT_TRUE(choice.wantsAlone(1));
  EXPECT_FALSE(choice.wantsAlone(64)) << "many workers are not kept waiting to find out";
  for (float nanoseconds : {900.0F, 100.0F}) { // the first one finds cold caches
    EXPECT_TRUE(choice.wantsAlone(2));
    choice.took(true, nanoseconds);
  }
  EXPECT_FALSE(choice.wantsAlone(2)) << "the other way has not been tried";
  choice.took(false, 1000);
  EXPECT_TRUE(choice.wantsAlone(2));
  choice.took(false, 150);
  EXPECT_FALSE(choice.wantsAlone(2)) << "two workers take 75 a program";
}
