#include "author/noise.h"

#include "support/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::author {

std::pair<double, double> intervalOfMedian(std::vector<double> times) {
  if (times.empty()) return {0, 0};
  std::sort(times.begin(), times.end());
  // The number of times below the median is binomial.
  constexpr double deviations = 2.576;
  auto count = static_cast<double>(times.size());
  double reach = deviations * std::sqrt(count) / 2;
  double low = std::max(std::floor(count / 2 - reach), 0.0), high = std::min(std::ceil(count / 2 + reach), count - 1);
  return {times[static_cast<size_t>(low)], times[static_cast<size_t>(high)]};
}

std::string_view compareTimes(const std::vector<double> &before, const std::vector<double> &after, double machineRatio) {
  auto [oldLow, oldHigh] = intervalOfMedian(before);
  auto [newLow, newHigh] = intervalOfMedian(after);
  if (newHigh / machineRatio < oldLow) return "faster";
  return newLow / machineRatio > oldHigh ? "slower" : "same";
}

Change changeOf(const std::vector<double> &before, const std::vector<double> &after, const std::vector<double> &referenceBefore,
                const std::vector<double> &referenceAfter) {
  Change change;
  change.before = medianOf(before), change.after = medianOf(after);
  bool hasReference = !referenceBefore.empty() && !referenceAfter.empty();
  if (hasReference && compareTimes(referenceBefore, referenceAfter) != "same")
    change.machine = medianOf(referenceAfter) / medianOf(referenceBefore);
  change.result = compareTimes(before, after, change.machine);
  change.ratio = change.after / change.before / change.machine;
  return change;
}

} // namespace tilewright::author
