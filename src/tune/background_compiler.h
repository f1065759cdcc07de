// Compiles configurations on several threads while the first ones are already being measured. Most of the tuning time goes to the
// assembler, which is a separate process for GPU kernels. Sequentially, a list of sixteen takes seconds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>
#include <vector>

namespace tilewright {

/// Returns the reason why a configuration does not compile, or null.
using CompileConfig = std::function<std::optional<std::string>(size_t config)>;

class WorkControl;

class BackgroundCompiler {
public:
  /// Starts to compile 0 to count - 1, in this order, at most `threads` at a time. With fewer than two threads it does nothing: each
  /// configuration is then compiled when it is measured.
  BackgroundCompiler(size_t count, int64_t threads, CompileConfig compile);
  /// Cancels the compilations that have not begun.
  ~BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler &) = delete;
  BackgroundCompiler &operator=(const BackgroundCompiler &) = delete;

  /// Waits until a configuration is compiled; returns the reason why it cannot be, or null.
  std::optional<std::string> wait(size_t config);

private:
  void work();

  const CompileConfig compile;
  const WorkControl *control; // of the thread that tunes
  std::vector<pthread_t> workers;
  std::atomic<size_t> next{0};
  std::mutex lock; // of the members below
  std::condition_variable changed;
  std::vector<bool> done;
  std::vector<std::optional<std::string>> failures;
};

} // namespace tilewright
