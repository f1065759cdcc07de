// Times of functions that are called by turns, so that what disturbs one of them disturbs the other as well.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tilewright::author {

struct MeasureLimits {
  int64_t warmup = 10, repeat = 40;
  double maxSeconds = 20; // of all; what is slower is called fewer times than was asked for
  int64_t minCalls = 5;  // but at least so often
};

struct MeasureCallbacks {
  std::function<bool(size_t function)> call;                  // calls it; false ends the measurement
  std::function<std::optional<double>(size_t function)> time; // the seconds of a call that finds nothing in the caches; nothing ends it
  std::function<void()> step;                                 // called behind each round; may be null
};

/// Milliseconds of each measured call, by function. Nothing where the door ended it.
std::optional<std::vector<std::vector<double>>> measureInterleaved(size_t functions, const MeasureLimits &limits, const MeasureCallbacks &callbacks);

} // namespace tilewright::author
