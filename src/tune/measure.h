// Times launches, on the tensors of a call.
//
// A measurement is fair if each configuration computes the same from the same data. So tensors that the kernel accumulates into are zeroed
// or restored before each run, outside the measured time. On a GPU the device's clock measures. Each run starts with cold caches, as it
// would after other work. A GPU's cache is overwritten. On a CPU the cache lines of the tensors are flushed: this takes microseconds, while
// overwriting the last-level cache takes milliseconds. Tensors that fit into a core's own caches stay there: the producer of the data would
// have left them in the caches, too.
//
// Only the kernel's own time counts. A run may include work of the host: a failed launch guard compiles another version of the kernel, code
// is loaded, other threads use the CPU. A GPU that reaches a run before the host has launched it reports that, and the run is repeated. A
// CPU cannot detect all of these. So on a CPU a first run counts only if it is very long and nothing was compiled meanwhile.
#pragma once

#include "support/fork_gate.h"
#include "tune/store.h"

#include <cmath>
#include <functional>
#include <memory>

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// Flushes the host memory of these arguments from all caches of the CPU.
void dropFromCaches(llvm::ArrayRef<Argument> arguments);

/// True if the host memory of these arguments is so small that a launch finds it in a core's caches.
bool stayInCaches(llvm::ArrayRef<Argument> arguments);
/// Flushes the tensors from the caches unless they fit into a core's own. Called before each timed run on a CPU.
void prepareCaches(llvm::ArrayRef<Argument> arguments);

/// Evicts everything from the caches of all CPUs that launches use.
void flushCaches();

/// One run of a configuration.
struct TimedRun {
  double seconds;
  bool isOfKernel; // false: it includes work of the host, for which a GPU waited, or which compiled
};
using RunOnce = std::function<std::optional<TimedRun>()>; // null if it fails

/// How long one configuration is measured. The fastest ones are measured several times.
struct MeasureEffort {
  double seconds;
  double minSeconds; // enough if the median's standard error is at most the fraction below; checked after so many runs
  size_t fewRuns;
  double error, errorOfDeciding; // the error of measurements that reject configurations far slower than the best, and of those that decide
  double triedSeconds;           // enough for a configuration that is far slower, in at least so many runs or so many short ones
  size_t minTried, triedRuns;
  double farSlowerFactor; // over the best median
  size_t minRuns;         // for configurations that are not far slower
  double chance; // seconds that a run may take longer by chance. If the first run is slower by more, and far slower, it is the only one
};
constexpr double longRun = 0.25;  // seconds of a run that needs no second one: disturbances are small compared with it
constexpr double veryLongRun = 1; // of a first run that counts: first-touch page faults are small compared with it
constexpr MeasureEffort onCpus{0.04, 0.005, 25, 0.05, 0.03, 0.02, 2, 5, 2.0, 3, HUGE_VAL};
// For GPUs, whose own clock is not disturbed by the host.
constexpr MeasureEffort onGpus{0.008, 0.001, 10, 0.012, 0.012, 0.004, 1, 4, 1.5, 2, 0.01};

/// Returns the clock for a launch on so many CPU threads (0: the default), in seconds. For a single thread it is the thread's CPU time: the
/// launch runs on the waiting thread, and time that other programs take is not the kernel's.
double (*cpuClock(int64_t threads))();

/// Times a run on a CPU with `now`, a clock in seconds. prepareCaches prepares these tensors first.
template <typename Run> std::optional<TimedRun> timeOnCpu(double (*now)(), llvm::ArrayRef<Argument> tensors, const Run &run) {
  prepareCaches(tensors);
  uint64_t prepared = preparations();
  double start = now();
  if (!run()) return std::nullopt;
  return TimedRun{now() - start, preparations() == prepared};
}

/// Runs `once` several times. Returns the median, the 20th and the 80th percentile in milliseconds. `best`: the best median so far; without
/// one, the measurement is one that decides. `now`: the clock, in seconds, that limits the measurement. Nothing if a run fails.
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort,
                                               const std::function<double()> &now);
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort);

/// Lets a GPU rest for half a millisecond. Continuous tensor core work lowers a GPU's clock, and all configurations take similar times. On
/// an H200, the tuner then chose tiles of 128x128 for a matmul of 8192, 8 % slower than the best at other clocks. So each deciding run
/// follows a rest.
void idleGpu();

/// Times the work on a stream of a GPU with the GPU's clock. Before each run, a write to memory evicts everything from the cache. The host
/// queues the launch meanwhile, so its own time does not count. If the host takes longer, the next run writes more.
class GpuTimer {
public:
  static std::unique_ptr<GpuTimer> create(int64_t device, void *stream, Diagnostics &diagnostics);
  ~GpuTimer();
  /// Times one run. Nothing after an error, or if `body` returns false.
  std::optional<TimedRun> time(const std::function<bool()> &body, Diagnostics &diagnostics);

private:
  GpuTimer() = default;
  const gpu::CudaDevice *device = nullptr;
  void *stream = nullptr;
  uint64_t memory = 0;
  size_t bytes = 0;
  int fills = 1; // how many times the memory is written before a run
};

class ResultCheck;

class LaunchMeter {
public:
  /// `zeroed`, `restored`: the parameters whose tensors are set to zero or restored. Null after an error.
  static std::unique_ptr<LaunchMeter> create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                             llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics);
  ~LaunchMeter();

  /// Runs `launch` several times, like measureRuns. `launch` returns false if it fails, and then no times are known. `check` compares the
  /// results of the first run with those of other configurations, which gives the result its group. It may be null.
  Measured measure(const std::function<bool(Diagnostics &)> &launch, std::optional<double> best, ResultCheck *check);
  /// Restores the tensors to the initial state of the launch that counts.
  void reset();

private:
  struct State;
  explicit LaunchMeter(std::unique_ptr<State> state);
  std::optional<TimedRun> once(const std::function<bool(Diagnostics &)> &launch, Diagnostics &diagnostics);
  std::unique_ptr<State> state;
};

/// Returns the bytes of a launch's tensors. Memory that several arguments share counts once.
int64_t tensorBytes(llvm::ArrayRef<Argument> arguments);

/// Returns the first error's message.
std::string firstError(const Diagnostics &diagnostics);

} // namespace tilewright
