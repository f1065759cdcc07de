// Quantiles of measured values.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tilewright {

/// Returns the quantiles (0 to 1) of the values in any order. Each is interpolated linearly between the two nearest values, as NumPy's
/// `quantile` does. There is at least one value.
inline std::vector<double> quantilesOf(std::vector<double> values, const std::vector<double> &quantiles) {
  std::sort(values.begin(), values.end());
  std::vector<double> found;
  for (double quantile : quantiles) {
    double position = quantile * static_cast<double>(values.size() - 1), low = std::floor(position);
    double at = values[static_cast<size_t>(low)], next = values[std::min(static_cast<size_t>(low) + 1, values.size() - 1)];
    found.push_back(at + (next - at) * (position - low));
  }
  return found;
}

/// Returns the median of the values; 0 if there are none.
inline double medianOf(std::vector<double> values) {
  return values.empty() ? 0 : quantilesOf(std::move(values), {0.5})[0];
}

} // namespace tilewright
