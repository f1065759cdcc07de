// How long launches take, on the very tensors of a call.
//
// Measuring is honest where each configuration computes the same thing from the same data: tensors that the kernel accumulates into are
// zeroed or restored before each run, outside of the measured part. On a GPU the device's own clock measures. Each run finds the caches
// without its data, as it would behind other work: a GPU's is overwritten, on a CPU the lines of the tensors are dropped, which takes
// microseconds where overwriting the last level takes milliseconds.
//
// Only the kernel's own time counts. A run may begin with work of the host: a launch that breaks what the compiled code takes for granted
// compiles another version of the kernel, code is loaded, other threads hold the processor. A GPU that comes to a run before the host has
// launched it says so, and that run is made again; on a CPU nobody can say, so a first run is never counted.
#pragma once

#include "tune/store.h"

#include <cmath>
#include <functional>
#include <memory>

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// Drops what lies in the host's memory behind these arguments from all caches of the processor.
void dropFromCaches(llvm::ArrayRef<Argument> arguments);

/// Throws everything out of the caches of all processors that launches use.
void flushCaches();

/// One run of a configuration.
struct TimedRun {
  double seconds;
  bool isOfKernel; // false: a GPU waited for the host, whose time is in it
};
using RunOnce = std::function<std::optional<TimedRun>()>; // nothing where it fails

/// How long one configuration is measured; the fastest ones are measured several times.
struct MeasureEffort {
  double seconds;
  double quietSeconds; // enough where so many runs take one time, from the 20th to the 80th percentile
  size_t quietRuns;
  double triedSeconds; // enough for one that is far behind, in at least so many runs, or so many short ones
  size_t leastTried, triedRuns;
  double farBehind; // times the best median
  size_t leastRuns; // of those that are not far behind
  double chance;    // seconds that a run may take longer by chance; where the first is far behind, and by more, it is the only one
};
constexpr double longRun = 0.25; // seconds of a run that needs no other beside it: what comes and goes in between is small
constexpr MeasureEffort onProcessors{0.04, 0.01, 25, 0.02, 2, 5, 2.0, 3, HUGE_VAL};
// A GPU's own clock measures, without the host's disturbances.
constexpr MeasureEffort onCards{0.008, 0.001, 10, 0.004, 1, 4, 1.5, 2, 0.01};

/// Runs `once` a number of times: the median, the 20th and the 80th percentile in milliseconds. `best`: the best median so far. `now`: the
/// clock, in seconds, that says when it has been long enough. Nothing where a run fails.
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort,
                                               const std::function<double()> &now);
std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort);

/// Lets a GPU be idle for half a millisecond. One that multiplies without a pause lowers its clock, and all configurations come close
/// together: tiles of 128x128 for products of 8192 were chosen on an H200, 8 % behind the best where others use the card, too. So a run
/// that is to decide, and not only to rule out what is far behind the best, comes behind a rest.
void restCard();

/// Times what is put on a stream of a GPU, by the GPU's clock, each time behind a write to memory that throws everything out of its cache.
/// The host queues the launch while that goes on, so that its own time does not count; where it takes longer, more is written in the next
/// run.
class CardTimer {
public:
  static std::unique_ptr<CardTimer> create(int64_t device, void *stream, Diagnostics &diagnostics);
  ~CardTimer();
  /// Nothing after an error, or if `body` returns false.
  std::optional<TimedRun> time(const std::function<bool()> &body, Diagnostics &diagnostics);

private:
  CardTimer() = default;
  const gpu::CudaDevice *device = nullptr;
  void *stream = nullptr;
  uint64_t memory = 0;
  size_t bytes = 0;
  int fills = 1; // how often the memory is written before a run
};

class ResultCheck;

class LaunchMeter {
public:
  /// `zeroed`, `restored`: the parameters whose tensors are set to zero and put back. Null after an error.
  static std::unique_ptr<LaunchMeter> create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                             llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics);
  ~LaunchMeter();

  /// Runs `launch` a number of times, as measureRuns does; it returns false where it cannot go on, and no times are known then. `check`:
  /// what the first run leaves is compared with what other configurations left; where it differs, no more is measured. May be null.
  Measured measure(const std::function<bool(Diagnostics &)> &launch, std::optional<double> best, ResultCheck *check);
  /// Puts the tensors into the state from which the launch that is to count starts.
  void reset();

private:
  struct State;
  explicit LaunchMeter(std::unique_ptr<State> state);
  std::optional<TimedRun> once(const std::function<bool(Diagnostics &)> &launch, Diagnostics &diagnostics);
  std::unique_ptr<State> state;
};

/// The first error's message.
std::string firstError(const Diagnostics &diagnostics);

} // namespace tilewright
