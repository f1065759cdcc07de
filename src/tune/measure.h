// How long launches take, on the very tensors of a call.
//
// Measuring is honest where each configuration computes the same thing from the same data: tensors that the kernel accumulates into are
// zeroed or restored before each run, outside of the measured part. On a GPU the device's own clock measures. Each run finds the caches
// without its data, as it would behind other work: a GPU's is overwritten, on a CPU the lines of the tensors are dropped, which takes
// microseconds where overwriting the last level takes milliseconds.
#pragma once

#include "tune/store.h"

#include <functional>
#include <memory>

namespace tilewright {

/// Drops what lies in the host's memory behind these arguments from all caches of the processor.
void dropFromCaches(llvm::ArrayRef<Argument> arguments);

/// Throws everything out of the caches of all processors that launches use.
void flushCaches();

/// Runs `once`, which gives the seconds of a run, a number of times: the median, the 20th and the 80th percentile in milliseconds. `best`:
/// the best median so far; what takes more than twice as long is tried a few times only. `now`: the clock, in seconds, that says when it
/// has been long enough. Nothing where a run fails.
std::optional<std::vector<double>> measureRuns(const std::function<std::optional<double>()> &once, std::optional<double> best,
                                               const std::function<double()> &now);
std::optional<std::vector<double>> measureRuns(const std::function<std::optional<double>()> &once, std::optional<double> best);

class LaunchMeter {
public:
  /// `zeroed`, `restored`: the parameters whose tensors are set to zero and put back. Null after an error.
  static std::unique_ptr<LaunchMeter> create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                             llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics);
  ~LaunchMeter();

  /// Runs `launch` a number of times, as measureRuns does; it returns false where it cannot go on, and no times are known then.
  Measured measure(const std::function<bool(Diagnostics &)> &launch, std::optional<double> best);
  /// Puts the tensors into the state from which the launch that is to count starts.
  void reset();

private:
  struct State;
  explicit LaunchMeter(std::unique_ptr<State> state);
  std::optional<double> once(const std::function<bool(Diagnostics &)> &launch, Diagnostics &diagnostics);
  std::unique_ptr<State> state;
};

/// The first error's message.
std::string firstError(const Diagnostics &diagnostics);

} // namespace tilewright
