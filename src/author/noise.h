// Tests whether two measurements differ by more than chance.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::author {

/// Returns the 99 % confidence interval of the median, for any distribution: a pair of order statistics.
std::pair<double, double> intervalOfMedian(std::vector<double> times);

/// Returns "faster", "slower" or "same" for the new times. `machineRatio`: how many times as slow the machine was the second time.
std::string_view compareTimes(const std::vector<double> &before, const std::vector<double> &after, double machineRatio = 1);

/// The change between two measurements of a kernel. Each has times of a reference, the same code both times, which shows changes of the
/// machine.
struct Change {
  std::string_view result;      // of the kernel
  double ratio = 1;             // new time over old time, divided by the machine's change
  double machine = 1;           // the same for the reference; 1 if that is chance, or there is none
  double before = 0, after = 0; // the medians
};
Change changeOf(const std::vector<double> &before, const std::vector<double> &after, const std::vector<double> &referenceBefore,
                const std::vector<double> &referenceAfter);

} // namespace tilewright::author
