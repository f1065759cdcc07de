#include "author/measuring.h"

#include <chrono>

namespace tilewright::author {

std::optional<std::vector<std::vector<double>>> measureInterleaved(size_t functions, const MeasureLimits &limits, const MeasureCallbacks &callbacks) {
  std::vector<std::vector<double>> times(functions);
  auto start = std::chrono::steady_clock::now();
  auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  auto step = [&] {
    if (callbacks.step) callbacks.step();
  };
  for (int64_t round = 0; round < limits.warmup; ++round) {
    for (size_t function = 0; function < functions; ++function)
      if (!callbacks.call(function)) return std::nullopt;
    step();
    if (spent() > limits.maxSeconds / 2) break;
  }
  for (int64_t round = 0; round < limits.repeat; ++round) {
    if (round >= limits.minCalls && spent() > limits.maxSeconds) break;
    for (size_t function = 0; function < functions; ++function) {
      std::optional<double> seconds = callbacks.time(function);
      if (!seconds) return std::nullopt;
      times[function].push_back(*seconds * 1e3);
    }
    step();
  }
  return times;
}

} // namespace tilewright::author
