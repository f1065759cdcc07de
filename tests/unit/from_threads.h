// The same work from several threads at once.
#pragma once

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

constexpr int64_t threadCount = 8, rounds = 6;

/// Calls work(thread, round) from all threads; they start each round together.
template <typename Work> void fromThreads(Work work) {
  std::barrier together(threadCount);
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < threadCount; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        work(thread, round);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
