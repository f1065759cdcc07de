// How long launches take, on the very tensors of a call.
//
// A measurement is fair if each configuration computes the same from the same data: tensors that the kernel accumulates
// into are zeroed or restored before each run, outside the measured time. On a GPU the device's own clock measures.
// Each run finds the caches without its data, as it would after other work: a GPU's cache is overwritten; on a CPU the
// lines of the tensors are dropped, which takes microseconds, while overwriting the last level takes milliseconds. Where
// all tensors together are a part of a core's own caches, they are not: what computed them has left them there.
//
// Only the kernel's own time counts. A run may begin with work on the host: a launch that breaks an assumption of the compiled
// code compiles another version of the kernel, code is loaded, other threads use the processor. A GPU that reaches a run
// before the host has launched it reports that, and the run is repeated. A CPU cannot tell all of it, so there a first run counts
// only where it is very long and nothing was compiled meanwhile.
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

/// Drops the host's memory behind these arguments from all caches of the processor.
void dropFromCaches(llvm::ArrayRef<Argument> arguments);

/// Whether the host's memory behind these arguments is so little that a launch finds it in a core's caches.
bool stayInCaches(llvm::ArrayRef<Argument> arguments);
/// Drops it unless it is: in front of every run that a tuner times on a processor.
void prepareCaches(llvm::ArrayRef<Argument> arguments);

/// Evicts everything from the caches of all processors that launches use.
void flushCaches();

/// One run of a configuration.
struct TimedRun {
  double seconds;
  bool isOfKernel; // false: work of the host's is included, for which a GPU waited, or which compiled
};
using RunOnce = std::function<std::optional<TimedRun>()>; // null where it fails

/// How long one configuration is measured; the fastest ones are measured several times.
struct MeasureEffort {
  double seconds;
  double minSeconds; // enough, if the median's standard error is at most a part of it; asked after so many runs
  size_t fewRuns;
  double error, errorOfDeciding; // of measurements that rule out what is far behind the best, and of those that decide
  double triedSeconds;           // enough for one that is far behind, in at least so many runs or so many short ones
  size_t minTried, triedRuns;
  double farSlower; // compared with the best median
  size_t minRuns; // of those that are not far behind
  double chance;    // seconds that a run may take longer by chance; if the first is slower by more, and far behind, it is the only one
};
constexpr double longRun = 0.25;  // seconds of a run that needs no second one: disturbances are small compared with it
constexpr double veryLongRun = 1; // of a first run that counts: pages that it is the first to touch are little beside it
constexpr MeasureEffort onCpus{0.04, 0.005, 25, 0.05, 0.03, 0.02, 2, 5, 2.0, 3, HUGE_VAL};
// A GPU's own clock measures, without the host's disturbances.
constexpr MeasureEffort onGpus{0.008, 0.001, 10, 0.012, 0.012, 0.004, 1, 4, 1.5, 2, 0.01};

/// The clock for a launch on so many of a processor's threads (0: the default), in seconds. A single thread's own time is what counts:
/// the launch runs on the thread that waits for it, and what other programs take of the processor is not the kernel's.
double (*cpuClock(int64_t threads))();

/// Times a run on a processor by `now`, a clock in seconds; it finds these tensors as prepareCaches leaves them.
template <typename Run> std::optional<TimedRun> timeOnCpu(double (*now)(), llvm::ArrayRef<Argument> tensors, const Run &run) {
  prepareCaches(tensors);
  uint64_t prepared = preparations();
  double start = now();
  if (!run()) return std::nullopt;
  return TimedRun{now() - start, preparations() == prepared};
}

/// Runs `once` a number of times: the median, the 20th and the 80th percentile in milliseconds. `best`: the best median so far; without
/// one, the measurement is one of those that decide. `now`: the clock, in seconds, that says when it has been long enough. Nothing where
/// a run fails.
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort,
                                               const std::function<double()> &now);
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort);

/// Lets a GPU rest for half a millisecond. A GPU that multiplies without a pause lowers its clock, and all configurations
/// come close together: on an H200, tiles of 128x128 were chosen for products of 8192, 8 % slower than the best where others
/// use the card, too. So a run that is to decide, and not only to rule out what is far behind the best, follows a rest.
void idleGpu();

/// Times what is put on a stream of a GPU by the GPU's clock, each time after a write to
/// memory that evicts everything from its cache. The host queues the launch meanwhile,
/// so that its own time does not count; if it takes longer, the next run writes more.
class GpuTimer {
public:
  static std::unique_ptr<GpuTimer> create(int64_t device, void *stream, Diagnostics &diagnostics);
  ~GpuTimer();
  /// Nothing after an error, or if `body` returns false.
  std::optional<TimedRun> time(const std::function<bool()> &body, Diagnostics &diagnostics);

private:
  GpuTimer() = default;
  const gpu::CudaDevice *device = nullptr;
  void *stream = nullptr;
  uint64_t memory = 0;
  size_t bytes = 0;
  int fills = 1; // how often the memory is written before a run
};

class ResultCheck;

class LaunchMeter {
public:
  /// `zeroed`, `restored`: the parameters whose tensors are set to zero or restored. Null after an error.
  static std::unique_ptr<LaunchMeter> create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                             llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics);
  ~LaunchMeter();

  /// Runs `launch` a number of times, like measureRuns; it returns false if it cannot go on, and then no times are known. `check`:
  /// compares the results of the first run with those of other configurations, which gives the result its group. May be null.
  Measured measure(const std::function<bool(Diagnostics &)> &launch, std::optional<double> best, ResultCheck *check);
  /// Puts the tensors into the state from which the launch that counts starts.
  void reset();

private:
  struct State;
  explicit LaunchMeter(std::unique_ptr<State> state);
  std::optional<TimedRun> once(const std::function<bool(Diagnostics &)> &launch, Diagnostics &diagnostics);
  std::unique_ptr<State> state;
};

/// The bytes of a launch's tensors. Memory that several arguments share counts once.
int64_t tensorBytes(llvm::ArrayRef<Argument> arguments);

/// The first error's message.
std::string firstError(const Diagnostics &diagnostics);

} // namespace tilewright
