// The peaks of a machine, stored in the cache folder under the machine's name: JSON, {"bytes_per_second": ..., "float32": ...}. For a GPU
// they include the dot rates by type (tune/measure_gpu_peaks).
//
// Other programs can only lower a measurement. So a disturbed measurement is marked and repeated at the next request, and the higher of two
// rates counts.
#pragma once

#include "support/diagnostics.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tilewright {

struct MachinePeaks {
  std::map<std::string, double, std::less<>> rates; // "bytes_per_second", and operations per second by type
  bool isDisturbed = false;
};

/// Measures this CPU (runtime/cpu_peaks).
MachinePeaks measureCpu();

std::optional<MachinePeaks> storedPeaks(const std::string &machine, Diagnostics &diagnostics);
void storePeaks(const std::string &machine, const MachinePeaks &peaks, Diagnostics &diagnostics);
/// Returns the higher rate of the two measurements for each name.
MachinePeaks higherPeaks(MachinePeaks peaks, const MachinePeaks &other);
/// Returns the stored peaks. Measures and stores them if there are none, if they were disturbed, or if `remeasure`. Null if measuring
/// fails.
std::optional<MachinePeaks> peaksOfMachine(const std::string &machine, const std::function<std::optional<MachinePeaks>()> &measure,
                                           bool remeasure, Diagnostics &diagnostics);

} // namespace tilewright
