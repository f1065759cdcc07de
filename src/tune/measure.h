// How long launches take, on the very tensors of a call.
//
// Measuring is honest where each configuration computes the same thing from the same data: tensors that the kernel accumulates into are
// zeroed or restored before each run, outside of the measured part. On a GPU the device's own clock measures, and its cache is emptied
// before each run.
#pragma once

#include "tune/store.h"

#include <functional>
#include <memory>

namespace tilewright {

class LaunchMeter {
public:
  /// `zeroed`, `restored`: the parameters whose tensors are set to zero and put back. Null after an error.
  static std::unique_ptr<LaunchMeter> create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                             llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics);
  ~LaunchMeter();

  /// Runs `launch` a number of times; it returns false where it cannot go on, and its caller says why. No times then. `best`: the best
  /// median so far in milliseconds; what takes more than twice as long is measured twice and not again.
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
