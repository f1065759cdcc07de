// Times functions that are called alternately, so that a disturbance affects all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tilewright::author {

struct MeasureLimits {
  int64_t warmup = 10, repeat = 40;
  double maxSeconds = 20; // for all calls; slower functions are called fewer times
  int64_t minCalls = 5;   // called at least so often
};

struct MeasureCallbacks {
  std::function<bool(size_t function)> call;                  // calls the function; false ends the measurement
  std::function<std::optional<double>(size_t function)> time; // the seconds of a call with cold caches; nothing ends the measurement
  std::function<void()> step;                                 // called after each round; may be null
};

/// Returns the milliseconds of each measured call, by function. Nothing if a callback ended it.
std::optional<std::vector<std::vector<double>>> measureInterleaved(size_t functions, const MeasureLimits &limits,
                                                                   const MeasureCallbacks &callbacks);

} // namespace tilewright::author
