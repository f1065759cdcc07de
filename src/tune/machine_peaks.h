// The roof above a machine's kernels, kept in the cache folder under the machine's name: JSON, {"bytes_per_second": ..., "float32": ...}.
// Of a GPU it also has the rates of products by type (tune/gpu_peak).
//
// Other programs can only lower a measurement. So a disturbed one is marked and
// repeated at the next request, and of two measurements the higher one counts.
#pragma once

#include "support/diagnostics.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tilewright {

struct MachinePeaks {
  std::map<std::string, double, std::less<>> rates; // "bytes_per_second", and operations a second by type
  bool isDisturbed = false;
};

/// Of this processor, as runtime/roof measures it.
MachinePeaks measureCpu();

std::optional<MachinePeaks> storedPeaks(const std::string &machine, Diagnostics &diagnostics);
void storePeaks(const std::string &machine, const MachinePeaks &peaks, Diagnostics &diagnostics);
/// Raises each rate to that of another measurement, if that one is higher.
MachinePeaks higherPeaks(MachinePeaks peaks, const MachinePeaks &other);
/// The one that is kept; measured now, and kept, if there is none, if it was disturbed, or if `anew`. Null where measuring fails.
std::optional<MachinePeaks> peaksOfMachine(const std::string &machine, const std::function<std::optional<MachinePeaks>()> &measure, bool anew,
                                  Diagnostics &diagnostics);

} // namespace tilewright
