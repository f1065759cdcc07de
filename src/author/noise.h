// Whether two measurements differ by more than chance.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::author {

/// The middle of sorted or unsorted times; the mean of the two middle ones where their number is even. 0 of none.
double medianOf(std::vector<double> times);

/// Between which times the median lies, 99 times of 100, whatever the times are distributed like: a pair of order statistics.
std::pair<double, double> intervalOfMedian(std::vector<double> times);

/// "faster", "slower" or "same": what the new times are. `drift`: by which factor the machine itself was slower the second time.
std::string_view compareTimes(const std::vector<double> &before, const std::vector<double> &after, double drift = 1);

/// Two measurements of a kernel, each beside a reference, which is the same code both times and tells what the machine did.
struct Change {
  std::string_view result;     // of the kernel
  double ratio = 1;             // how many times as long it takes, without what the machine did
  double machine = 1;           // how many times as long the reference took; 1 where that is chance, or there is none
  double before = 0, after = 0; // the medians
};
Change changeOf(const std::vector<double> &before, const std::vector<double> &after, const std::vector<double> &referenceBefore,
                const std::vector<double> &referenceAfter);

} // namespace tilewright::author
