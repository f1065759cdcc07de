// Configurations are compiled by several threads, while the first ones are measured already. Most of the time of tuning is the assembler's,
// which is a process of its own on a GPU's kernels; one after the other, a list of sixteen takes seconds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tilewright {

/// Why a configuration does not compile, or nothing.
using CompileConfig = std::function<std::optional<std::string>(size_t config)>;

class CompileAhead {
public:
  /// Starts to compile 0 to count - 1, in this order, with at most `threads` at a time. With less than two threads nothing is done: each
  /// configuration is compiled where it is measured.
  CompileAhead(size_t count, int64_t threads, CompileConfig compile);
  /// Leaves what is not begun.
  ~CompileAhead();
  CompileAhead(const CompileAhead &) = delete;
  CompileAhead &operator=(const CompileAhead &) = delete;

  /// Waits until a configuration is compiled; why it cannot be, or nothing.
  std::optional<std::string> wait(size_t config);

private:
  void work();

  const CompileConfig compile;
  std::vector<std::thread> workers;
  std::atomic<size_t> next{0};
  std::mutex lock; // of what follows
  std::condition_variable changed;
  std::vector<bool> done;
  std::vector<std::optional<std::string>> failures;
};

} // namespace tilewright
